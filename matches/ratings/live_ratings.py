"""Live ratings beyond the closed prefix, without folding the whole tail at each count.

A paused tournament keeps the prefix where it is, while all that others play lies behind it. So this
process remembers those outcomes between two counts, and the ratings after all but the newest: what
comes is read and folded alone. Nothing here is the truth: forgotten, it is read from the database.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.ratings.base import Constants
from arena.ratings.live import fold_matches
from arena.teams import Teams
from matches.models import Leaderboard
from matches.models.match import read_numbers
from matches.ratings.counting import Result

# The ratings are kept after so many outcomes each, at the last of these places: what comes out of
# order lies close to the end.
N_A_MARK, N_MARKS = 512, 4
# Outcomes of all leaderboards; each takes some 300 bytes.
MOST_REMEMBERED = 200_000


class LiveRating(NamedTuple):
    """A live rating."""

    mu: float
    sigma: float


# By agent.
LiveRatings = dict[int, LiveRating]


class Rules(NamedTuple):
    """What a leaderboard is folded with."""

    constants: Constants
    teams: Teams


class Tail:
    """The outcomes beyond the prefix in planned order, and the ratings after some of them."""

    def __init__(self, results: Sequence[Result]) -> None:
        """Take outcomes in planned order."""
        self.results = list(results)
        self._marks: list[tuple[int, LiveRatings]] = []

    def agents(self) -> set[int]:
        """Return the agents whose ratings these outcomes change."""
        return {agent for result in self.results for agent in read_numbers(result.lineup)}

    def add(self, results: Sequence[Result]) -> None:
        """Take in more outcomes, in planned order among themselves."""
        if not results:
            return
        at = bisect_right(self.results, results[0].sequence, key=lambda result: result.sequence)
        self._marks = [mark for mark in self._marks if mark[0] <= at]
        behind = self.results[at:] + list(results)
        self.results[at:] = sorted(behind, key=lambda result: result.sequence)

    def pass_to(self, prefix: int, states: LiveRatings, rules: Rules) -> None:
        """Fold the outcomes up to the prefix into the states, and forget them."""
        n = bisect_right(self.results, prefix, key=lambda result: result.sequence)
        _fold_results(self.results[:n], states, rules)
        del self.results[:n]
        # The ratings after an outcome are the same, whatever part of them is the prefix by now.
        self._marks = [(at - n, after) for at, after in self._marks if at >= n]

    def shown(self, states: Mapping[int, LiveRating], rules: Rules) -> LiveRatings:
        """Return the ratings after all outcomes; states: those at the prefix."""
        begin, after = self._marks[-1] if self._marks else (0, {})
        now = {**states, **after}
        n_results = len(self.results)
        for start in range(begin, n_results, N_A_MARK):
            end = min(start + N_A_MARK, n_results)
            _fold_results(self.results[start:end], now, rules)
            if end == start + N_A_MARK and n_results - end < N_A_MARK * N_MARKS:
                self._marks = [*self._marks[1 - N_MARKS :], (end, dict(now))]
        return now


class _Key(NamedTuple):
    """What is the same while nobody else counted, struck or began anew."""

    prefix: int
    n_counted: int
    n_rerates_asked: int
    n_rerates_done: int
    season_first_sequence: int


_remembered: dict[int, tuple[_Key, Tail]] = {}


def recall_tail(board: Leaderboard) -> Tail | None:
    """Return what was remembered of a locked leaderboard, once; None where it is out of date."""
    key, tail = _remembered.pop(board.pk, (None, None))
    is_current = key == _make_key(board, board.prefix_sequence, board.n_counted)
    return tail if is_current else None


def remember_tail(board: Leaderboard, tail: Tail, prefix: int, *, n_new: int) -> None:
    """Keep what lies beyond the prefix for the next count. board: as it was before this one."""
    n_kept = sum(len(other.results) for _, other in list(_remembered.values()))
    if tail.results and n_kept + len(tail.results) <= MOST_REMEMBERED:
        _remembered[board.pk] = _make_key(board, prefix, board.n_counted + n_new), tail


def _make_key(board: Leaderboard, prefix: int, n_counted: int) -> _Key:
    n_asked, done = board.n_rerates_asked, board.n_rerates_done
    return _Key(prefix, n_counted, n_asked, done, board.season_first_sequence)


def _fold_results(results: Sequence[Result], states: LiveRatings, rules: Rules) -> None:
    """Fold outcomes into the states."""
    lineups = [read_numbers(result.lineup) for result in results]
    agents = list(dict.fromkeys(agent for lineup in lineups for agent in lineup))
    index = {agent: place for place, agent in enumerate(agents)}
    mus, sigmas = ([states[agent][part] for agent in agents] for part in range(2))
    played = (
        ([index[agent] for agent in lineup], read_numbers(result.ranks))
        for lineup, result in zip(lineups, results, strict=True)
    )
    fold_matches(mus, sigmas, played, rules.constants, rules.teams)
    for agent, mu, sigma in zip(agents, mus, sigmas, strict=True):
        states[agent] = LiveRating(mu, sigma)
