"""Returns of the episodes that end in the chunks learned from, also if they began before."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from math import isfinite
from typing import Final

import numpy as np

from arena.experience.chunks import Chunk
from training.base import Metrics

MOST_OPEN: Final = 4_096
"""Episodes that wait for their next chunk; of more, those that wait longest are given up."""
MOST: Final = 1e30
"""Either way, what a report may hold."""


class Episodes:
    """Episodes under way, each by what its next step must be, with its rewards so far.

    That is its number, the step and what is observed before it, so that episodes of several
    clients with the same number are kept apart. An episode of which a chunk was not learned from
    is never counted, as its return is not known.
    """

    def __init__(self, under_way: Mapping[str, float] | None = None) -> None:
        """Go on with those of `under_way`."""
        self.under_way = dict(under_way or {})

    def measure(self, chunks: Sequence[Chunk]) -> Metrics:
        """Take more chunks; return how many episodes ended in them, and the mean of their returns.

        `return_sd` is the standard deviation among them, where there are two or more.
        """
        returns = np.array(
            [total for chunk in chunks for total in self._take_chunk(chunk)], np.float64
        )
        if not len(returns):
            return {}
        metrics = {"n_episodes": float(len(returns)), "return": float(returns.mean())}
        if len(returns) > 1:
            metrics["return_sd"] = float(returns.std(ddof=1))
        return {
            name: value for name, value in metrics.items() if isfinite(value) and abs(value) <= MOST
        }

    def _take_chunk(self, chunk: Chunk) -> Iterator[float]:
        """Yield the returns of the episodes that end in a chunk."""
        is_end = chunk.terminated | chunk.truncated
        first = 0
        while first < len(chunk):
            ends = np.flatnonzero(is_end[first:])
            last = first + int(ends[0]) if len(ends) else len(chunk) - 1
            before = (
                0.0
                if chunk.steps[first] == 0
                else self.under_way.pop(_name_place(chunk, first), None)
            )
            if before is not None:
                total = before + float(chunk.rewards[first : last + 1].sum(dtype=np.float64))
                if is_end[last]:
                    yield total
                elif isfinite(total):
                    self._keep_total(_name_next(chunk, last), total)
            first = last + 1

    def _keep_total(self, name: str, total: float) -> None:
        self.under_way[name] = total
        while len(self.under_way) > MOST_OPEN:
            del self.under_way[next(iter(self.under_way))]


def _name_place(chunk: Chunk, row: int) -> str:
    """Return the name of the place in its episode at which a step begins."""
    place = f"{chunk.episodes[row]} {chunk.steps[row]} ".encode()
    return sha256(place + chunk.observations[row].tobytes()).hexdigest()[:32]


def _name_next(chunk: Chunk, row: int) -> str:
    """Return the name of the place at which the step after this one will begin."""
    place = f"{chunk.episodes[row]} {chunk.steps[row] + 1} ".encode()
    return sha256(place + chunk.next_observations[row].tobytes()).hexdigest()[:32]
