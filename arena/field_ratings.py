"""Ratings of results from anywhere, without any server: `arena.rate`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import combinations
from math import inf
from typing import Any, NamedTuple

import numpy as np

from arena.local_play import PlayedMatch
from arena.ratings.base import DRAW_PROBABILITY, RatingError
from arena.ratings.counts import Floats, Ints, count_results
from arena.ratings.samples import Sampler, best_shares
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings

N_SAMPLES = 20_000
SCORES = {1.0: 1, 0.5: 0, 0.0: -1}


class Row(NamedTuple):
    """One result of two: the points of the first, 1 for a win, 0.5 for a draw, 0 for a loss."""

    first: str
    second: str
    score: float


class _Played(NamedTuple):
    """Results of two, how many opponents each has in a match, of how many sides, and their weight.

    n_sides, weight: as settle_ratings takes them.
    """

    table: list[Row]
    n_opponents: int
    n_sides: int
    weight: float


@dataclass(frozen=True, eq=False)
class FieldRatings:
    """The settled ratings of a field, best first, with 95 % intervals.

    names: [n]. mu, sd, low, high: float64 [n], of TrueSkill's scale, on which 25/6 units win about
    76 %. n_matches: int64 [n].
    """

    names: tuple[str, ...]
    mu: Floats
    sd: Floats
    low: Floats
    high: Floats
    n_matches: Ints
    _settled: SettledRatings
    _samples: Floats
    # Of each name, its place in the fit.
    _places: Ints

    def p_above(self, name: str, other: str) -> float:
        """Return P(one agent is better than another one). Raises RatingError for no such name."""
        place, against = (int(self._places[self._find_place(agent)]) for agent in (name, other))
        return self._settled.superiority(place, against)

    @cached_property
    def p_best(self) -> Floats:
        """P(best) of each agent, float64 [n], from samples of the joint posterior."""
        shares: Floats = best_shares(self._samples)[self._places]
        return shares

    def to_pandas(self) -> Any:
        """Return a DataFrame, best first, a row per agent. Raises ImportError without pandas."""
        # Loaded here: only who asks for a DataFrame needs it.
        pandas = import_module("pandas")
        columns = ("mu", "sd", "low", "high", "n_matches", "p_best")
        table = {name: getattr(self, name) for name in columns}
        return pandas.DataFrame(table, index=pandas.Index(self.names, name="agent"))

    def _find_place(self, name: str) -> int:
        if name not in self.names:
            raise RatingError(f"there is no agent {name!r}: choose one of {', '.join(self.names)}")
        return self.names.index(name)


def rate(
    rows: Iterable[Any],
    *,
    draw_probability: float = DRAW_PROBABILITY,
    has_seat_term: bool = False,
    score_margin: float = 0.0,
    seed: int = 0,
) -> FieldRatings:
    """Return the ratings that explain a set of results best; their order plays no part.

    rows: (first, second, score) with the points of the first, 1, 0.5 or 0; matches that
    `arena.play` returned; or a DataFrame with these three columns. draw_probability: of a match
    between equals, as it is thought of before; it is fitted. has_seat_term: whether the first is
    to be given an advantage that is fitted.
    score_margin: scores on one game seed that differ by no more are a draw, in games of one seat.
    seed: of the samples behind p_best. The model is TrueSkill's with one fit to all results (see
    arena.ratings.settled). Raises RatingError, naming the row.
    """
    table, n_opponents, n_sides, weight = _read_rows(rows, score_margin)
    names = sorted({name for row in table for name in row[:2]})
    place = {name: index for index, name in enumerate(names)}
    results = np.array(
        [(place[row.first], place[row.second], SCORES[row.score]) for row in table], np.int64
    ).reshape(-1, 3)
    counts = count_results(results)
    settled = settle_ratings(
        counts,
        len(names),
        n_sides=n_sides,
        draw_probability=draw_probability,
        weight=weight,
        terms=FittedTerms(seat=has_seat_term, draws=True, is_shown=True),
    )
    sampler = Sampler.of_field(
        counts,
        settled.mu,
        settled.covariance,
        settled.spread,
        draw_probability=settled.draw_probability,
        n_sides=n_sides,
        weight=weight,
    )
    samples = sampler.draw(np.random.default_rng(seed), N_SAMPLES)
    # Best first; of equals the one whose name comes first.
    order = np.argsort(-settled.mu, kind="stable")
    n_met = np.bincount(results[:, :2].ravel(), minlength=len(names))[order] // n_opponents
    return FieldRatings(
        tuple(names[index] for index in order),
        settled.mu[order],
        settled.sd[order],
        settled.low[order],
        settled.high[order],
        n_met,
        settled,
        samples,
        order,
    )


def _read_rows(rows: Iterable[Any], score_margin: float) -> _Played:
    """Return what was played, of matches of any number of seats or of rows of two."""
    tuples = rows.itertuples(index=False) if hasattr(rows, "itertuples") else rows
    table: list[Row] = []
    sizes = set()
    episodes: dict[int, dict[str, PlayedMatch]] = defaultdict(dict)
    for number, row in enumerate(tuples, 1):
        if isinstance(row, PlayedMatch):
            table += _split_match(row)
            sizes.add(len(row.lineup))
            if len(row.lineup) == 1:
                episodes[row.game_seed][row.lineup[0]] = row
        else:
            table.append(_read_row(number, row))
            sizes.add(2)
    if len(sizes) > 1:
        raise RatingError(f"matches must all have as many seats, got {sorted(sizes)}")
    if episodes:
        return _compare_episodes(episodes, score_margin)
    n_seats = max(sizes, default=2)
    return _Played(table, n_seats - 1, n_seats, 1.0)


def _compare_episodes(
    episodes: Mapping[int, Mapping[str, PlayedMatch]], score_margin: float
) -> _Played:
    """Return each two agents' results on each game seed.

    The k agents of a seed weigh as much as k - 1 comparisons: that many are independent.
    """
    (n_agents, *others) = {len(block) for block in episodes.values()}
    if others or n_agents == 1:
        counts = sorted({n_agents, *others})
        raise RatingError(
            f"every game seed must be played by the same number of agents, 2 or more, got {counts}"
        )
    table = [
        Row(name, other, _compare_scores(block[name], block[other], score_margin))
        for block in episodes.values()
        for name, other in combinations(sorted(block), 2)
    ]
    return _Played(table, n_agents - 1, 1, 2 / n_agents)


def _compare_scores(episode: PlayedMatch, other: PlayedMatch, margin: float) -> float:
    # Who failed has no score, which is less than any.
    first, second = (
        float(match.returns[0]) if match.returns else -inf for match in (episode, other)
    )
    if first == second or abs(first - second) <= margin:
        return 0.5
    return float(first > second)


def _split_match(match: PlayedMatch) -> list[Row]:
    """Return a match as results of each two of its agents."""
    seats = combinations(range(len(match.lineup)), 2)
    return [
        Row(match.lineup[i], match.lineup[j], _score(match.ranks[i], match.ranks[j]))
        for i, j in seats
    ]


def _score(rank: int, other: int) -> float:
    return 0.5 if rank == other else float(rank < other)


def _read_row(number: int, row: Sequence[Any]) -> Row:
    try:
        first, second, score = row
    except (TypeError, ValueError):
        raise RatingError(f"row {number}: must be (first, second, score), is {row!r:.80}") from None
    if score not in SCORES or isinstance(score, bool):
        raise RatingError(f"row {number}: score must be 1, 0.5 or 0, is {score!r:.40}")
    if first == second:
        raise RatingError(f"row {number}: {first!r:.60} meets itself, which says nothing")
    return Row(str(first), str(second), float(score))
