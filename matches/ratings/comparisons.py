"""Which of two agents is better, and how their matches ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from arena.games import registry as games
from arena.ratings.base import BETA, SIGMA, Z95, unit_draw_margin
from arena.ratings.counts import PairCounts
from arena.ratings.gap_variance import gap_variance
from matches.models import Leaderboard, PairCount, Rating
from matches.ratings.evidence import read_results
from matches.ratings.fitting import fit_ratings, load_own_counts
from matches.store.bulk import among

# Of so many agents all results are fitted: 0.1 s. Of more, those of the two are looked at.
MOST_FITTED = 100
_NORMAL = NormalDist()


@dataclass(frozen=True)
class HeadToHead:
    """How the matches of two agents ended, for the first of them."""

    n_wins: int
    n_draws: int
    n_losses: int


@dataclass(frozen=True)
class ExpectedResult:
    """How the next match of two opponents probably ends, by their settled mu."""

    win: float
    draw: float
    loss: float


class _Lead(NamedTuple):
    """P(the first of two agents is better), and the ends of how far: 0 and 0 of one and itself."""

    p_above: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """The first against the second, by their settled ratings.

    p_above: P(the skill of the first is above that of the second), by the joint posterior of the
    two, whatever the spread: what they have in common, such as opponents, makes no doubt about
    their gap. gap_low, gap_high: the ends of the 95 % interval of how far the first is above.
    """

    first: Rating
    second: Rating
    p_above: float
    gap_low: float
    gap_high: float
    expected: ExpectedResult
    head_to_head: HeadToHead


def compare_agents(first: Rating, second: Rating) -> Comparison:
    """Return how two agents of one leaderboard stand to each other."""
    lead = _find_lead(first, second)
    return Comparison(
        first=first,
        second=second,
        p_above=lead.p_above,
        gap_low=lead.low,
        gap_high=lead.high,
        expected=predict_match(first.leaderboard, first.mu - second.mu),
        head_to_head=count_head_to_head(first, second),
    )


def predict_match(board: Leaderboard, gap: float) -> ExpectedResult:
    """Return how a match probably ends for an agent whose rating is higher by gap."""
    # In a game of teams the others of both sides count as equally strong, and add their chance.
    n_performances = 2 * games.get(board.game).spec.team_size
    lead = gap / (sqrt(n_performances) * BETA)
    margin = unit_draw_margin(board.current_draw_probability)
    win, loss = _NORMAL.cdf(lead - margin), _NORMAL.cdf(-lead - margin)
    # Rounding may leave the two a little above 1 where the margin is nothing.
    return ExpectedResult(win=win, draw=max(0.0, 1 - win - loss), loss=loss)


def p_above(first: Rating, second: Rating) -> float:
    """Return P(the first is better); one half for an agent and itself."""
    return _find_lead(first, second).p_above


def _find_lead(first: Rating, second: Rating) -> _Lead:
    if first.pk == second.pk:
        return _Lead(0.5, 0.0, 0.0)
    board, pair = first.leaderboard, (first.agent_id, second.agent_id)
    rated = Rating.objects.filter(leaderboard=board).order_by("agent_id")
    agents = list(rated.values_list("agent_id", flat=True)[: MOST_FITTED + 1])
    if len(agents) <= MOST_FITTED:
        return _fit_lead(board, agents, pair)
    if games.get(board.game).spec.teams:
        # The results of pairs are not what is fitted there: they count as independent.
        variance = first.sd**2 + second.sd**2
    else:
        variance = _estimate_variance(board, pair, _read_mark(board))
    lead, sd = first.mu - second.mu, sqrt(variance)
    return _Lead(_NORMAL.cdf(lead / sd), lead - Z95 * sd, lead + Z95 * sd)


def _fit_lead(board: Leaderboard, agents: Sequence[int], pair: tuple[int, int]) -> _Lead:
    settled = fit_ratings(board, agents, load_own_counts(board, agents))
    i, j = map(agents.index, pair)
    (low,), (high,) = settled.gap_ends(np.array([i]), np.array([j]))
    return _Lead(settled.superiority(i, j), float(low), float(high))


def _read_mark(board: Leaderboard) -> tuple[object, ...]:
    """Return what changes with the results, the ratings and the rules of a leaderboard."""
    # Since when it is there, too: of a restored database the rest may be as before.
    since = (board.created_at, board.fitted_at, board.rated_at)
    counts = (board.n_counted, board.n_settled, board.n_rerates_done, board.results_hash)
    return (*since, *counts, board.spread, board.current_draw_probability)


# Half of the time of a page of two agents of 10,000, which is looked at again and again.
@lru_cache(maxsize=4_096)
def _estimate_variance(
    board: Leaderboard, pair: tuple[int, int], _mark: tuple[object, ...]
) -> float:
    """Estimate the variance from the results of the two and the ratings of their opponents.

    A row for each opponent. Kept until something of the board changes: see _read_mark.
    """
    rows = list(read_results(pair, [board.pk]))
    others = sorted({agent for row in rows for agent in row[:2]} - set(pair))
    index = {agent: position for position, agent in enumerate((*pair, *others))}
    counts = PairCounts.from_rows((index[row[0]], index[row[1]], *row[2:]) for row in rows)
    rated = Rating.objects.filter(leaderboard=board, agent__in=among(list(index)))
    ratings = np.empty((len(index), 2))
    for agent, mu, sd in rated.values_list("agent_id", "mu", "sd"):
        ratings[index[agent]] = mu, sd
    return gap_variance(
        counts,
        ratings[:, 0],
        ratings[:, 1],
        spread=board.spread or SIGMA,
        draw_probability=board.current_draw_probability,
        n_sides=games.get(board.game).spec.n_sides,
    )


def count_head_to_head(first: Rating, second: Rating) -> HeadToHead:
    """Return how their matches ended, whoever sat first."""
    counts = PairCount.objects.filter(leaderboard=first.leaderboard_id)
    forth = counts.filter(first=first.agent_id, second=second.agent_id).first() or PairCount()
    back = counts.filter(first=second.agent_id, second=first.agent_id).first() or PairCount()
    return HeadToHead(
        n_wins=forth.n_first_wins + back.n_second_wins,
        n_draws=forth.n_draws + back.n_draws,
        n_losses=forth.n_second_wins + back.n_first_wins,
    )
