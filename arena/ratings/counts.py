"""How often each pair of agents won, drew and lost: all that the settled rating reads."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Self

import numpy as np
from numpy.typing import NDArray

from arena.ratings.base import RatingError, ScoreError, SelfPlayError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of results by (first, second), the agents in the order of their seats.

    Five int64 columns of one length, read-only. They are made canonical: sorted, one row a pair,
    no empty rows. So the same set of results gives the same bytes whatever its order or grouping.
    """

    first: Ints
    second: Ints
    n_first_wins: Ints
    n_draws: Ints
    n_second_wins: Ints

    def __post_init__(self) -> None:
        """Check and sort. Raises RatingError and SelfPlayError."""
        names = [column.name for column in fields(self)]
        columns = []
        for name in names:
            column = np.asarray(getattr(self, name))
            # An empty list is a column of floats to numpy.
            if column.size and (column.ndim != 1 or column.dtype.kind not in "iu"):
                actual = f"{column.dtype} {column.shape}"
                raise RatingError(f"{name} must be a column of ints, got {actual}")
            columns.append(column.astype(np.int64).ravel())
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            raise RatingError(f"the columns of pair counts must be of one length, got {lengths}")
        table = np.stack(columns)
        for name, column in zip(names, table, strict=True):
            _check_range(name, column)
        _check_distinct(table[0], table[1])
        table = _merge_rows(table[:, table[2:].any(axis=0)])
        table.setflags(write=False)
        for name, column in zip(names, table, strict=True):
            object.__setattr__(self, name, column)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[int, int, int, int, int]]) -> "PairCounts":
        """Return the counts of rows (first, second, n_first_wins, n_draws, n_second_wins)."""
        return cls(*_read_rows(rows, 5).T)

    def reindex(self, agents: Ints) -> "PairCounts":
        """Return the same counts by the agents' places in this sorted list, which has them all."""
        if np.array_equal(agents, np.arange(len(agents))):
            return self
        first, second = np.searchsorted(agents, self.first), np.searchsorted(agents, self.second)
        return PairCounts(first, second, self.n_first_wins, self.n_draws, self.n_second_wins)

    @cached_property
    def agents(self) -> Ints:
        """The agents that have results, sorted."""
        return np.union1d(self.first, self.second)

    @property
    def has_draws(self) -> bool:
        """Whether some result is a draw, which a draw probability of 0 rules out."""
        return bool(self.n_draws.any())

    def without_draws(self) -> Self:
        """Return the counts of decided results only."""
        return replace(self, n_draws=np.zeros_like(self.n_draws))

    @cached_property
    def n_results(self) -> int:
        """The number of results; a match of k seats counts as k(k-1)/2 results."""
        return int(self.n_first_wins.sum() + self.n_draws.sum() + self.n_second_wins.sum())

    @cached_property
    def digest(self) -> str:
        """The SHA-256 (hex) of the canonical columns: equal for equal sets of results only."""
        # Little-endian whatever the machine, as hashes of several machines are compared.
        columns = (getattr(self, column.name) for column in fields(self))
        return sha256(b"".join(column.astype("<i8").tobytes() for column in columns)).hexdigest()


def count_results(results: Iterable[tuple[int, int, int]] | Ints) -> PairCounts:
    """Return the counts of results (first, second, score); score 1 first wins, 0 draw, -1.

    results: an iterable of triples or int [m, 3]. Raises RatingError, ScoreError, SelfPlayError.
    """
    # Columns, as results come by the million.
    first, second, score = _read_rows(results, 3).T
    for name, agents in (("first", first), ("second", second)):
        _check_range(name, agents)
    _check_distinct(first, second)
    wrong = (score < -1) | (score > 1)
    if wrong.any():
        raise ScoreError(int(score[wrong.argmax()]))
    span = 1 + int(max(first.max(initial=0), second.max(initial=0)))
    # One int64 names pair and score, so that sorting once counts all: LIMIT keeps it from overflow.
    keys, totals = np.unique((first * span + second) * 3 + (1 - score), return_counts=True)
    # Kinds 0, 1 and 2: the first won, they drew, the second won.
    pairs, kinds = np.divmod(keys, 3)
    return PairCounts(*np.divmod(pairs, span), *(totals * (kinds == kind) for kind in range(3)))


def sum_by_key(keys: Ints, values: Floats, n_keys: int) -> Floats:
    """Return the sum of the values of each key; in their order, so that it is the same again."""
    return np.bincount(keys, weights=values, minlength=n_keys).astype(np.float64, copy=False)


# Indices and counts stay below this, so that the key of a pair and every sum fit into int64.
LIMIT = 2**30


def _read_rows(rows: Iterable[tuple[int, ...]] | Ints, width: int) -> Ints:
    """Return int64 [m, width]. Raises RatingError."""
    # numpy would turn floats and bools into ints without a word: refused below by their kind.
    listed = rows if isinstance(rows, np.ndarray) else list(rows)
    if len(listed) == 0:
        return np.empty((0, width), np.int64)
    try:
        table = np.asarray(listed)
    except ValueError:
        raise RatingError(f"every row must have {width} ints, and they differ in length") from None
    if table.shape[1:] != (width,) or table.dtype.kind not in "iu":
        raise RatingError(f"every row must have {width} ints, got {listed[0]!r}")
    return table.astype(np.int64, copy=False)


def _check_range(name: str, column: Ints) -> None:
    wrong = (column < 0) | (column >= LIMIT)
    if wrong.any():
        raise RatingError(f"{name} must be 0..{LIMIT - 1}, got {column[wrong.argmax()]}")


def _check_distinct(first: Ints, second: Ints) -> None:
    met_itself = first == second
    if met_itself.any():
        raise SelfPlayError(int(first[met_itself.argmax()]))


def _merge_rows(table: Ints) -> Ints:
    """Sort the columns by (first, second) and sum the rows of each pair."""
    if table.shape[1] == 0:
        return table
    table = table[:, np.lexsort((table[1], table[0]))]
    is_new = np.ones(table.shape[1], bool)
    is_new[1:] = (table[:2, 1:] != table[:2, :-1]).any(axis=0)
    starts = np.flatnonzero(is_new)
    return np.vstack([table[:2, starts], np.add.reduceat(table[2:], starts, axis=1)])
