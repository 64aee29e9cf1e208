"""Whole episodes of uploads, found by what their steps say and not by where they lie.

A client sends an episode in as many chunks as it takes, other chunks come between, and two clients
of one user may number their episodes alike. So pieces are joined where the observation after the
last step of one is, to the last bit, that before the first step of the other.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

Key = tuple[int, int, int, bytes]


class Piece(NamedTuple):
    """Consecutive steps of one episode in one chunk, rows `start` to `end` of a segment.

    before, after: the observations before its first and after its last step, as bytes.
    """

    segment: int
    start: int
    end: int
    user: int
    episode: int
    first_step: int
    policy_version: int
    is_end: bool
    total: float
    before: bytes
    after: bytes

    @property
    def own_key(self) -> Key:
        """What must be behind it where an episode goes on with this piece."""
        return (self.user, self.episode, self.first_step, self.before)

    @property
    def next_key(self) -> Key:
        """The key of the piece that goes on behind this one."""
        n_steps = self.end - self.start
        return (self.user, self.episode, self.first_step + n_steps, self.after)


Episode = Sequence[Piece]


def cut_pieces(segment: int, rows: pa.Table) -> Iterator[Piece]:
    """Yield the pieces of a segment in the order of its rows."""
    users, episodes = (rows.column(name).to_numpy() for name in ("user", "episode"))
    steps, versions = (rows.column(name).to_numpy() for name in ("step", "policy_version"))
    chunks = rows.column("chunk").combine_chunks().dictionary_encode().indices.to_numpy()
    rewards = rows.column("reward").to_numpy().astype(np.float64)
    ends = rows.column("terminated").to_numpy() | rows.column("truncated").to_numpy()
    before, after = (_read_bytes(rows, name) for name in ("observation", "next_observation"))
    is_first = np.diff(chunks, prepend=-1) != 0
    for values in (users, episodes):
        is_first[1:] |= values[1:] != values[:-1]
    starts = np.flatnonzero(is_first)
    totals = np.add.reduceat(rewards, starts) if len(starts) else rewards
    bounds = np.append(starts, len(steps)).tolist()
    for index, start in enumerate(bounds[:-1]):
        end = bounds[index + 1]
        yield Piece(
            segment,
            start,
            end,
            int(users[start]),
            int(episodes[start]),
            int(steps[start]),
            int(versions[start]),
            bool(ends[end - 1]),
            float(totals[index]),
            before[start].tobytes(),
            after[end - 1].tobytes(),
        )


def join_episodes(pieces: Iterable[Piece]) -> Iterator[Episode]:
    """Yield the whole episodes, by the place of their first step."""
    whole = list(pieces)
    followers: dict[Key, deque[Piece]] = defaultdict(deque)
    for piece in whole:
        if piece.first_step > 0:
            followers[piece.own_key].append(piece)
    for piece in whole:
        if piece.first_step == 0:
            chain = [piece]
            while not chain[-1].is_end and (next_ones := followers.get(chain[-1].next_key)):
                chain.append(next_ones.popleft())
            if chain[-1].is_end:
                yield chain


def count_steps(episode: Episode) -> int:
    """Return how many steps it has."""
    return sum(piece.end - piece.start for piece in episode)


def _read_bytes(rows: pa.Table, name: str) -> Any:
    column: Any = rows.column(name).combine_chunks()
    return column.flatten().to_numpy().reshape(rows.num_rows, -1)
