"""Conservative Q-learning: better than who played, where the records are good and bad."""

from arena.parameters import Parameter
from arena.trainers.base import TrainerSpec

TRAINER = TrainerSpec(
    title="Conservative Q-learning",
    parameters=(
        Parameter("hidden", "128,128", "sizes of the hidden layers", is_sizes=True),
        Parameter("learning_rate", 1e-3, "of Adam", minimum=1e-7, maximum=1.0),
        Parameter("minibatch", 256, "steps of one change", minimum=2, maximum=65_536),
        Parameter("discount", 0.99, "of the next step's return", minimum=0.0, maximum=1.0),
        Parameter("conservatism", 1.0, "weight of the regulariser", minimum=0.0, maximum=1e3),
        Parameter("reward_scale", 0.05, "of each reward", minimum=1e-6, maximum=1e6),
    ),
    is_streamed=False,
    is_offline=True,
)
