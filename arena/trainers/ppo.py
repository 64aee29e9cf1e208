"""Parameters of PPO on matches, which several trainers have."""

from typing import Final

from arena.parameters import Parameter
from arena.train_messages import MAX_FILES

AGAINST: Final = "against"
"""The parameter that names whom the run plays; without it, it plays itself."""
MATCHES: Final = "matches"
"""The parameter that says how many matches each version plays."""
NETWORK: Final = "network"
"""The parameter that spells the network that is trained."""

PARAMETERS: Final = (
    Parameter(MATCHES, 400, "played by each version", minimum=2, maximum=MAX_FILES),
    Parameter(NETWORK, "mlp;hidden=256,256", "architecture, then ;name=value for its parameters"),
    Parameter("learning_rate", 1e-3, "of Adam", minimum=1e-7, maximum=1.0),
    Parameter("epochs", 3, "passes over the matches of a version", minimum=1, maximum=100),
    Parameter("minibatch", 512, "decisions of one change", minimum=2, maximum=65_536),
    Parameter("clip", 0.2, "how far the ratio counts", minimum=0.01, maximum=1.0),
    Parameter("discount", 1.0, "of the return, by each decision", minimum=0.0, maximum=1.0),
    Parameter("decay", 0.9, "lambda of the advantages", minimum=0.0, maximum=1.0),
    Parameter("entropy", 0.02, "weight of the entropy", minimum=0.0, maximum=1.0),
    Parameter("value", 0.5, "weight of the error of the values", minimum=0.0, maximum=10.0),
    # Values are kept in -1..1.
    Parameter("reward_scale", 1.0, "of each return", minimum=1e-6, maximum=1e6),
)
