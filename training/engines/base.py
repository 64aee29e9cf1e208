"""What every engine is told and answers; both are JSON, as an engine may be another program."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Protocol

import msgspec

from arena.errors import ChunkError
from arena.experience.chunks import Chunk
from arena.experience.segments import read_segment
from arena.parameters import Value
from training.errors import TrainingError

_Positive = Annotated[int, msgspec.Meta(ge=1)]


class LearnOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Learn from segments, and write a sealed checkpoint.

    game: whose segments they are. passes: how often each step is learned from. target: the file.
    """

    game: str
    observation_shape: list[_Positive]
    n_actions: _Positive
    algorithm: str
    parameters: dict[str, Value]
    passes: _Positive
    seed: int
    segments: list[str]
    target: str


class LearnResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What came of an order. nodes: names of the machines' parts that have learned."""

    sha256: str
    n_steps: int
    loss: float
    nodes: list[str]


class Engine(Protocol):
    """A way to run a trainer over files."""

    @property
    def id(self) -> str:
        """The name of its file."""
        ...

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The ids of the trainers that it can run."""
        ...

    def learn(self, order: LearnOrder) -> LearnResult:
        """Return what was learned, the checkpoint being written. Raises TrainingError."""
        ...


def read_chunks(paths: Iterable[str], *, game: str) -> list[Chunk]:
    """Return the chunks of all segments. Raises TrainingError where one is not of this game."""
    chunks: list[Chunk] = []
    for path in paths:
        try:
            segment_chunks = [upload.chunk for upload in read_segment(Path(path))]
        except ChunkError as error:
            rule = "give files of uploads; of a dataset learns `evalsite runs start --dataset NAME`"
            raise TrainingError(f"{path} is not read: {error}; {rule}") from error
        except OSError as error:
            raise TrainingError(f"{path} is not read: {error}") from error
        if segment_chunks and segment_chunks[0].game != game:
            raise TrainingError(
                f"{path} is of {segment_chunks[0].game}: give segments of {game} only"
            )
        chunks += segment_chunks
    if not chunks:
        raise TrainingError(f"there is no step of {game} to learn from in {len([*paths])} segments")
    return chunks
