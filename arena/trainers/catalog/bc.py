"""Behaviour cloning: what somebody did, humans included, is what the policy learns to do."""

from arena.parameters import Parameter
from arena.trainers.base import TrainerSpec

TRAINER = TrainerSpec(
    title="Behaviour cloning",
    parameters=(
        Parameter(
            "hidden", "128,128", "sizes of the hidden layers of policy and value", is_sizes=True
        ),
        Parameter("learning_rate", 1e-3, "of Adam", minimum=1e-7, maximum=1.0),
        Parameter("minibatch", 256, "steps of one change", minimum=2, maximum=65_536),
    ),
    is_streamed=True,
    is_offline=True,
)
