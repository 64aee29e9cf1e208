"""What every trainer offers, and what a learner is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import nn

from arena.experience.chunks import Chunk
from arena.parameters import Value

Metrics = Mapping[str, float]
"""What came of learning from some chunks, by name; `n_used` steps were learned from.

`return`: the mean return of the `n_episodes` episodes that ended in them, see episodes.py.
"""


@dataclass(frozen=True)
class Task:
    """What is learned: a game's observations, float32 [F], and its actions, 0..n_actions - 1."""

    game: str
    observation_shape: tuple[int, ...]
    n_actions: int


class Learner(Protocol):
    """A policy that is being trained."""

    place: str
    """Of the last chunk in its stream that it has learned from; part of its state."""
    n_steps: int
    """That it has learned from."""
    architecture_parameters: Mapping[str, Value]
    """Of its network, as a seal has them."""

    @property
    def module(self) -> nn.Module:
        """The network; its architecture's forward is its own."""
        ...

    @property
    def version(self) -> int:
        """How often chunks have changed the policy: what the data of this policy is marked with."""
        ...

    def learn(self, chunks: Sequence[Chunk]) -> Metrics:
        """Learn from one chunk or more."""
        ...

    def save(self) -> bytes:
        """Return the whole state: who loads it goes on to the same weights, bit for bit."""
        ...

    def load(self, state: bytes) -> None:
        """Take a state that `save` returned. Raises StateError."""
        ...


class Trainer(Protocol):
    """A way to learn; `arena.trainers` has its title and its parameters under the same id."""

    @property
    def id(self) -> str:
        """The name of its file."""
        ...

    def begin(self, task: Task, parameters: Mapping[str, Value], *, seed: int) -> Learner:
        """Return a learner at its start. Raises ParameterError."""
        ...
