"""APPO: PPO's clipped objective on data some versions old, its values corrected by V-trace."""

from arena.parameters import Parameter
from arena.trainers.base import TrainerSpec

TRAINER = TrainerSpec(
    title="APPO (PPO with V-trace)",
    parameters=(
        Parameter(
            "hidden", "128,128", "sizes of the hidden layers of policy and value", is_sizes=True
        ),
        Parameter("learning_rate", 1e-3, "of Adam", minimum=1e-7, maximum=1.0),
        Parameter("epochs", 4, "passes over what is learned from at once", minimum=1, maximum=100),
        Parameter("minibatch", 256, "steps of one change", minimum=2, maximum=65_536),
        Parameter("clip", 0.2, "how far the ratio counts", minimum=0.01, maximum=1.0),
        Parameter("discount", 0.99, "of the next step's return", minimum=0.0, maximum=1.0),
        Parameter("decay", 0.95, "lambda of the traces", minimum=0.0, maximum=1.0),
        Parameter("entropy", 0.005, "weight of the entropy", minimum=0.0, maximum=1.0),
        Parameter("value", 0.5, "weight of the error of the values", minimum=0.0, maximum=10.0),
        # Returns of hundreds would let the error of the values drown the policy.
        Parameter("reward_scale", 0.05, "of each reward", minimum=1e-6, maximum=1e6),
        Parameter("max_lag", 4, "versions after which data is stale", minimum=0, maximum=1_000),
    ),
    is_streamed=True,
)
