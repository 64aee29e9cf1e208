"""Steps of one policy, gathered into chunks and written as MessagePack."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from evalsite_client.experience.weights import Floats

FORM_VERSION: Final = 1
MEDIA_TYPE: Final = "application/msgpack"
FEWEST_STEPS: Final = 128
MOST_STEPS: Final = 256
FEWEST_CUT_STEPS: Final = 16
"""What the server takes of an episode that goes on."""
# Of each array of a chunk, in the order of the members of a step: how it is written.
COLUMNS: Final[Mapping[str, str]] = {
    "episodes": "<i8",
    "steps": "<i4",
    "observations": "<f4",
    "next_observations": "<f4",
    "actions": "<i4",
    "rewards": "<f4",
    "terminated": "?",
    "truncated": "?",
    "log_probs": "<f4",
}


class Step(NamedTuple):
    """One action; observations float32 [F], the next one is its true successor.

    log_prob: of the action, under the policy that chose it.
    """

    episode: int
    step: int
    observation: Floats
    next_observation: Floats
    action: int
    reward: float
    is_terminated: bool
    is_truncated: bool
    log_prob: float

    @property
    def is_last(self) -> bool:
        """Say whether it ends its episode."""
        return self.is_terminated or self.is_truncated


@dataclass(frozen=True)
class Chunk:
    """What is sent at once, as often as it takes: its id tells the server that it is the same."""

    chunk_id: str
    n_steps: int
    content: bytes


class Recorder:
    """Gathers steps into chunks of 128 to 256, which end with an episode where they can."""

    def __init__(self, game: str, *, draw_id: Callable[[], str]) -> None:
        """draw_id: a new UUID in hex; never from a seed, or two clients would share ids."""
        self._game, self._draw_id = game, draw_id
        self._steps: list[Step] = []
        self._version = 0

    def add_step(self, step: Step, *, version: int) -> Chunk | None:
        """Keep a step that this version chose; return the chunk that it completes.

        The version may change where an episode ends, once `close` was called.
        """
        self._version = version
        self._steps.append(step)
        n_steps = len(self._steps)
        is_complete = n_steps == MOST_STEPS or (n_steps >= FEWEST_STEPS and step.is_last)
        return self.close() if is_complete else None

    def close(self) -> Chunk | None:
        """Return what is left as a chunk, as far as the server takes it."""
        steps, self._steps = self._steps, []
        if len(steps) < FEWEST_CUT_STEPS:
            while steps and not steps[-1].is_last:
                steps.pop()
        return self._write_chunk(steps) if steps else None

    def _write_chunk(self, steps: Sequence[Step]) -> Chunk:
        chunk_id = self._draw_id()
        arrays = {
            name: np.array(column, dtype).tobytes()
            for (name, dtype), column in zip(COLUMNS.items(), zip(*steps, strict=True), strict=True)
        }
        header: dict[str, int | str | bytes] = {
            "v": FORM_VERSION,
            "game": self._game,
            "chunk_id": chunk_id,
            "policy_version": self._version,
        }
        return Chunk(chunk_id, len(steps), pack_map(header | arrays))


def pack_map(members: Mapping[str, int | str | bytes]) -> bytes:
    """Return a map of texts, whole numbers and bytes in MessagePack, in the shortest form.

    Source: https://github.com/msgpack/msgpack/blob/master/spec.md
    """
    packed = [_pack_length(len(members), 0x80, 16, (0xDE, 2), (0xDF, 4))]
    for name, value in members.items():
        packed += [_pack_value(name), _pack_value(value)]
    return b"".join(packed)


def _pack_value(value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _pack_whole(value)
    if isinstance(value, bytes):
        return _pack_length(len(value), 0, 0, (0xC4, 1), (0xC5, 2), (0xC6, 4)) + value
    text = value.encode()
    return _pack_length(len(text), 0xA0, 32, (0xD9, 1), (0xDA, 2), (0xDB, 4)) + text


def _pack_length(length: int, short: int, n_short: int, *longer: tuple[int, int]) -> bytes:
    """Return mark and length: below n_short in one byte, else in the first size that holds it."""
    if length < n_short:
        return bytes([short + length])
    mark, size = next((mark, size) for mark, size in longer if length < 1 << (8 * size))
    return bytes([mark]) + length.to_bytes(size, "big")


def _pack_whole(value: int) -> bytes:
    """Return a number of -2**63 to 2**64 - 1."""
    if -32 <= value < 128:  # noqa: PLR2004 - the bounds of one byte
        return (value & 0xFF).to_bytes(1, "big")
    first_mark, is_signed = (0xCC, False) if value > 0 else (0xD0, True)
    for power in range(4):
        size = 1 << power
        if -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
            return bytes([first_mark + power]) + value.to_bytes(size, "big", signed=is_signed)
    raise OverflowError(f"{value} is no number of MessagePack")
