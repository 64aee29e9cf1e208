"""How often each two line-ups of team mates won, drew and lost: what the settled rating reads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Self

import numpy as np

from arena.ratings.base import RatingError, SelfPlayError
from arena.ratings.counts import LIMIT, Ints
from arena.teams import group_by_team

# Team mates, sorted: their seats play no part.
TeamSide = tuple[int, ...]
# Won, drawn and lost by the first side.
N_KINDS = 3


@dataclass(frozen=True, eq=False)
class TeamCounts:
    """Counts of results by (first, second), two sides of as many agents.

    first, second: int64 [m, s], agents of each side. times: int64 [m, 3], how often the first side
    won, drew and lost. They are made canonical: mates sorted, the lower side first, rows sorted,
    one row a pair of sides, no empty rows. So the same set of results gives the same bytes whatever
    its order or grouping, and whoever sat where.
    """

    first: Ints
    second: Ints
    times: Ints

    def __post_init__(self) -> None:
        """Check and sort. Raises RatingError and SelfPlayError."""
        first, second, times = (np.asarray(c) for c in (self.first, self.second, self.times))
        _check_columns(first, second, times)
        for name, column in (("agents", first), ("agents", second), ("times", times)):
            wrong = (column < 0) | (column >= LIMIT)
            if wrong.any():
                raise RatingError(f"{name} must be 0..{LIMIT - 1}, got {column[wrong][0]}")
        columns = _merge_sides(np.sort(first, axis=1), np.sort(second, axis=1), times)
        for name, column in zip(("first", "second", "times"), columns, strict=True):
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    @classmethod
    def from_rows(
        cls, rows: Iterable[tuple[TeamSide, TeamSide, Sequence[int]]], size: int
    ) -> "TeamCounts":
        """Return the counts of rows (first, second, times) of sides of so many agents."""
        listed = list(rows)
        if any(len(side) != size for row in listed for side in row[:2]):
            raise RatingError(f"every side must have {size} agents")
        first, second, times = (np.array([row[i] for row in listed], np.int64) for i in range(3))
        shape = (-1, size)
        return cls(first.reshape(shape), second.reshape(shape), times.reshape(-1, N_KINDS))

    @property
    def size(self) -> int:
        """How many agents a side has, the same for all sides of a game."""
        return int(self.first.shape[1])

    @cached_property
    def members(self) -> Ints:
        """The agents of both sides of each row: int64 [m, 2s]."""
        return np.concatenate([self.first, self.second], axis=1)

    @cached_property
    def agents(self) -> Ints:
        """The agents that have results, sorted."""
        return np.unique(self.members)

    @cached_property
    def n_results(self) -> int:
        """The number of results; a match of t teams counts as t(t-1)/2 results."""
        return int(self.times.sum())

    @property
    def has_draws(self) -> bool:
        """Whether some result is a draw, which a draw probability of 0 rules out."""
        return bool(self.times[:, 1].any())

    def without_draws(self) -> Self:
        """Return the counts of decided results only."""
        return replace(self, times=self.times * np.array([1, 0, 1], np.int64))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 (hex) of the canonical columns: equal for equal sets of results only."""
        columns = (np.array([self.size]), self.first, self.second, self.times)
        return sha256(b"".join(column.astype("<i8").tobytes() for column in columns)).hexdigest()

    def reindex(self, agents: Ints) -> "TeamCounts":
        """Return the same counts by the agents' places in this sorted list, which has them all."""
        first, second = np.searchsorted(agents, self.first), np.searchsorted(agents, self.second)
        return TeamCounts(first, second, self.times)


def split_sides(
    lineup: Sequence[int], ranks: Sequence[int], teams: Sequence[int]
) -> list[tuple[TeamSide, TeamSide, int]]:
    """Return (first, second, kind) of every two teams of a match; kind 0 first won, 1 drew, 2 lost.

    Canonical as TeamCounts are. Raises RatingError where team mates have not one rank.
    """
    check_team_ranks(ranks, teams)
    ranked = sorted(
        (tuple(sorted(side)), shared[0])
        for side, shared in zip(
            group_by_team(teams, lineup), group_by_team(teams, ranks), strict=True
        )
    )
    return [
        (first, second, 1 + (rank > other) - (rank < other))
        for place, (first, rank) in enumerate(ranked)
        for second, other in ranked[place + 1 :]
    ]


def check_team_ranks(ranks: Sequence[int], teams: Sequence[int]) -> None:
    """Raise RatingError unless there is a rank for each seat, one for all seats of a team."""
    if len(ranks) != len(teams):
        raise RatingError(f"teams of {len(teams)} seats need a rank each, got {tuple(ranks)}")
    if any(len(set(shared)) > 1 for shared in group_by_team(teams, ranks)):
        raise RatingError(f"team mates must share a rank, got {tuple(ranks)} of {tuple(teams)}")


def _check_columns(first: Ints, second: Ints, times: Ints) -> None:
    is_sound = (
        first.ndim == second.ndim == times.ndim == 2  # noqa: PLR2004 - tables
        and first.shape == second.shape
        and times.shape == (len(first), N_KINDS)
        and all(column.dtype.kind in "iu" for column in (first, second, times))
    )
    if not is_sound:
        shapes = first.shape, second.shape, times.shape
        raise RatingError(f"team counts must be ints [m, s], [m, s] and [m, 3], got {shapes}")
    members = np.sort(np.concatenate([first, second], axis=1), axis=1)
    is_named_twice = members[:, 1:] == members[:, :-1]
    if is_named_twice.any():
        raise SelfPlayError(int(members[:, 1:][is_named_twice][0]))


def _merge_sides(first: Ints, second: Ints, times: Ints) -> tuple[Ints, Ints, Ints]:
    """Put the lower side first, sort the rows and sum the rows of equal sides."""
    # Sides share no agent, so their first members say which is lower.
    is_turned = (first[:, :1] > second[:, :1]) if first.size else np.zeros((len(first), 1), bool)
    sides = np.where(is_turned, np.hstack([second, first]), np.hstack([first, second]))
    times = np.where(is_turned, times[:, ::-1], times)
    is_some = times.any(axis=1)
    # np.unique also sorts the rows, which makes the counts canonical.
    unique, which = np.unique(sides[is_some], axis=0, return_inverse=True)
    totals = np.zeros((len(unique), N_KINDS), np.int64)
    np.add.at(totals, which.reshape(-1), times[is_some])
    size = first.shape[1]
    return unique[:, :size].astype(np.int64), unique[:, size:].astype(np.int64), totals
