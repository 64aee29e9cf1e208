"""PPO by self-play: each version plays itself, and what it did is what the next one learns from."""

from collections.abc import Mapping

from arena.parameters import Value, read_parameters
from arena.trainers.catalog.ppo_selfplay import TRAINER as SPEC
from training.base import Task
from training.ppo import Ppo, begin_ppo


class PpoSelfPlayTrainer:
    """For games of two seats in which one wins what the other loses."""

    id = "ppo_selfplay"

    def begin(self, task: Task, parameters: Mapping[str, Value], *, seed: int) -> Ppo:
        """Return a learner at its start. Raises ParameterError."""
        values = read_parameters(self.id, SPEC.parameters, parameters)
        return begin_ppo(task, values, algorithm=self.id, seed=seed)


TRAINER = PpoSelfPlayTrainer()
