"""What every trainer offers, and what a learner is made from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn

from arena.experience.chunks import Chunk
from arena.parameters import Value
from training.records import Records

Metrics = Mapping[str, float]
"""What came of learning from some data, by name; `n_used` steps were learned from.

`return`: the mean return of the `n_episodes` episodes that ended in them, see episodes.py.
"""


@dataclass(frozen=True)
class Task:
    """What is learned: a game's observations, float32 [F], and its actions, 0..n_actions - 1."""

    game: str
    observation_shape: tuple[int, ...]
    n_actions: int


class TrainedNetwork(Protocol):
    """A network that is being trained, with all that its training goes on from."""

    place: str
    """Of the last chunk in its stream that it has learned from; part of its state."""
    n_steps: int
    """That it has learned from."""
    n_updates: int
    """How often its policy has changed, also in slices that were lost."""
    architecture: str
    architecture_parameters: Mapping[str, Value]
    """Of the architecture, as a seal has them."""

    @property
    def module(self) -> nn.Module:
        """The network; its architecture's forward is its own."""
        ...

    @property
    def version(self) -> int:
        """How often data has changed the policy: what the data of this policy is marked with."""
        ...

    def save(self) -> bytes:
        """Return the whole state: who loads it goes on to the same weights, bit for bit."""
        ...

    def load(self, state: bytes) -> None:
        """Take a state that `save` returned. Raises StateError."""
        ...


class Learner(TrainedNetwork, Protocol):
    """One that learns from a stream."""

    def learn(self, chunks: Sequence[Chunk]) -> Metrics:
        """Learn from one chunk or more."""
        ...


class OfflineLearner(Learner, Protocol):
    """One that also learns from records of any player."""

    def learn_records(self, records: Records) -> Metrics:
        """Pass once over these steps, in an order of its own."""
        ...


class MatchLearner(TrainedNetwork, Protocol):
    """One that learns from the matches of its newest version."""

    def learn_matches(self, pieces: Iterable[bytes], *, checkpoint: str) -> Metrics:
        """Learn from what the checkpoint, this version, has decided.

        pieces: files of trajectories. Raises TrainingError, TrajectoryError.
        """
        ...


class Source(Protocol):
    """Where a slice reads what it learns from: uploads as they come, or a dataset."""

    at_once: int
    """Entries that are learned from at once."""
    most: int
    """Entries that may wait for that."""
    publish_s: float
    """Between two versions that are published; 0: each one is."""
    n_unreadable: int

    def resume(self, place: str) -> None:
        """Begin behind what is in the state that ends at this place."""
        ...

    def read(self, most: int) -> Sequence[Any]:
        """Return the next entries, each with its place."""
        ...

    def teach(self, learner: Learner, entries: Sequence[Any]) -> Metrics:
        """Let a learner learn from entries."""
        ...

    def acknowledge(self, place: str) -> None:
        """Forget what is in a state that control has."""
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
