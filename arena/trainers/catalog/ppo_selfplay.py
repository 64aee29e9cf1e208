"""PPO by self-play: each version plays itself, and what it did is what the next one learns from."""

from arena.trainers.base import TrainerSpec
from arena.trainers.ppo import PARAMETERS

TRAINER = TrainerSpec(
    title="PPO by self-play", parameters=PARAMETERS, is_streamed=False, plays_matches=True
)
