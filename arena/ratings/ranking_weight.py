"""What each pair of a ranking weighs among agents of these strengths.

As `rankings` has it for equals, the information that pairs claim by the variance of their score,
but at the strengths that are fitted: who is far from the others makes pairs that are hardly in
doubt, and those that are depend less on each other (Pauli, Racugno and Ventura 2011). Of the pair
counts alone it is not known who sat at one table: tables are drawn by how often each two met.
"""

from math import sqrt

import numpy as np
from scipy.special import log_ndtr, ndtr

from arena.ratings.counts import Bools, Floats, Ints, PairCounts
from arena.ratings.rankings import find_order, pair_weight

# Of many sides fewer tables: what is computed grows with the square.
_MOST_TABLES, _FEWEST_TABLES, _NUMBERS = 1_000, 50, 40_000
# Of more sides, or agents, each pair weighs what it does among equals.
_MOST_SIDES, _MOST_AGENTS = 64, 2_000
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_SHARES = _WEIGHTS / _WEIGHTS.sum()


def weigh_at_strengths(z: Floats, n_met: Floats, n_sides: int, decided: float) -> float:
    """Return what a pair weighs among agents of strengths z [n], a match varying by N(0, 1).

    n_met: [n, n], how often each two met. decided: the share of pairs that are not tied. That of
    equals where no whole table can be drawn, and of too many agents.
    """
    if len(z) > _MOST_AGENTS or n_sides > _MOST_SIDES:
        return pair_weight(n_sides, decided)
    # By strength, so that it is the same however the agents are numbered.
    order = np.argsort(z, kind="stable")
    tables = order[_draw_tables(n_met[np.ix_(order, order)], n_sides)]
    if not len(tables):
        return pair_weight(n_sides, decided)
    lead = z[tables][:, :, None] - z[tables][:, None, :]
    two_groups, complete = _weigh_winners(lead), _weigh_orders(lead)
    return two_groups + find_order(n_sides, decided) * (complete - two_groups)


def count_meetings(counts: PairCounts, agents: Ints) -> Floats:
    """Return how often each two of these agents met, a sorted list: [n, n], symmetric."""
    is_known = np.isin(counts.first, agents) & np.isin(counts.second, agents)
    first, second = (np.searchsorted(agents, c[is_known]) for c in (counts.first, counts.second))
    n_met = np.zeros((len(agents), len(agents)))
    times = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    np.add.at(n_met, (first, second), times[is_known])
    return n_met + n_met.T


def _draw_tables(n_met: Floats, n_sides: int) -> Ints:
    """Return tables: int64 [m, n_sides]. Each agent by how often it met those that are there."""
    n_tables = min(_MOST_TABLES, max(_FEWEST_TABLES, _NUMBERS // n_sides**2))
    rng, tables = np.random.default_rng(0), np.empty((n_tables, 0), np.int64)
    weights, met_there = np.tile(n_met.sum(axis=1), (n_tables, 1)), np.zeros((n_tables, len(n_met)))
    for _ in range(n_sides):
        ends = weights.cumsum(axis=1)
        drawn = (ends <= rng.random((len(ends), 1)) * ends[:, -1:]).sum(axis=1)
        # Else nobody is left whom those at the table met.
        is_whole = drawn < len(n_met)
        tables = np.column_stack([tables, drawn])[is_whole]
        met_there = met_there[is_whole] + n_met[drawn[is_whole]]
        weights = met_there.copy()
        np.put_along_axis(weights, tables, 0.0, axis=1)
    return tables


def _weigh_orders(lead: Floats) -> float:
    """Return the information of all pairs by the variance of the scores; lead: [m, k, k]."""
    won, lost = _find_slope(lead), -_find_slope(-lead)
    # Given how an agent performs, its results against the others are independent.
    p_won = ndtr(sqrt(2) * lead[..., None] + _NODES)
    mean = _mask_own_pairs(won[..., None] * p_won + lost[..., None] * (1 - p_won))
    square = _mask_own_pairs(won[..., None] ** 2 * p_won + lost[..., None] ** 2 * (1 - p_won))
    variance = (mean.sum(axis=2) ** 2 + (square - mean**2).sum(axis=2)) @ _SHARES
    information = _mask_own_pairs(-won * lost)
    return float(information.sum() / variance.sum())


def _weigh_winners(lead: Floats) -> float:
    """Return the same where a pair is told by the one winner alone."""
    won, lost = _mask_own_pairs(_find_slope(lead)), _mask_own_pairs(-_find_slope(-lead))
    p_won = ndtr(sqrt(2) * lead[..., None] + _NODES)
    chance = np.prod(p_won, axis=2, where=_are_others(lead)[..., None]) @ _SHARES
    of_other = chance[:, None, :]
    score = won.sum(axis=2)
    mean = chance * score + (of_other * lost).sum(axis=2)
    square = chance * score**2 + (of_other * lost**2).sum(axis=2)
    curvature = chance[..., None] * won * (won + lead) + of_other * lost * (lost + lead)
    information = _mask_own_pairs(curvature)
    return float(information.sum() / (square - mean**2).sum())


def _find_slope(lead: Floats) -> Floats:
    """Return the slope of the log-likelihood of a win by the lead."""
    slope: Floats = np.exp(-(lead**2) / 2 - log_ndtr(lead)) / sqrt(2 * np.pi)
    return slope


def _are_others(lead: Floats) -> Bools:
    return ~np.eye(lead.shape[1], dtype=np.bool_)


def _mask_own_pairs(of_pairs: Floats) -> Floats:
    """Return values [m, k, k, ...] with 0 where an agent is paired with itself."""
    others = _are_others(of_pairs)
    others = others.reshape(1, *others.shape, *([1] * (of_pairs.ndim - 3)))
    return np.where(others, of_pairs, 0.0)
