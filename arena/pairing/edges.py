"""The edge of the first k: who may be among them, and who of the others should yet meet them.

And of an order of all: who should yet meet whom it is thought to beat.
"""

import numpy as np
from scipy.special import ndtr

from arena.pairing.base import COUPLE, Lineup, Standing
from arena.pairing.matching import count_in_flight, count_met
from arena.ratings.counts import Bools, Floats
from arena.ratings.departures import estimate_departures
from arena.ratings.pair_leads import PairLeads, infer_pair_leads
from arena.ratings.pair_variance import (
    EXPECTED,
    PairVariance,
    believe_pair_variance,
    expect_in_order,
    find_spread,
)

# Of what may be true, to see which differences an edge turns on.
_N_SAMPLES = 512
_JITTER = 1e-9
# Who is among the first k so probably is checked, and against those whom it never met if it is
# surer still, where they stand behind by so many standard deviations.
_LIKELY, _STAYING, _BEHIND = 0.5, 0.7, 1.0
# What a pair that never met, and may depart altogether, is worth; what is less open is left, but
# for what is open at least so far next to the most open one.
_UNMET, _OPEN, _CLOSED = 0.02, 5e-3, 3e-3
_NEXT_TO_MOST = 0.25
# What may be left open of the pairs of an order altogether: as much as one block of each leaves
# open whether somebody learnt to beat just one other, unless a game is a surprise.
_LEFT = 0.02
# What the lead of a pair is worth still for each block of it in flight.
_IN_FLIGHT, _TIE_BREAK = 0.3, 1e-9


def sample_first(mu: Floats, joint: Floats, edge: int, rng: np.random.Generator) -> Bools:
    """Return whether each agent is among the first k, in samples of what may be true: [s, n]."""
    n = len(mu)
    root = np.linalg.cholesky(joint + _JITTER * np.eye(n))
    ranked = np.argsort(-(mu + rng.standard_normal((_N_SAMPLES, n)) @ root.T), axis=1)
    is_in = np.zeros((_N_SAMPLES, n), np.bool_)
    np.put_along_axis(is_in, ranked[:, :edge], values=True, axis=1)
    return is_in


def find_crossings(is_in: Bools) -> Floats:
    """Return P(one of the two is among the first k and the other is not): [n, n]."""
    counted = is_in.astype(np.float64)
    share_both = counted.T @ counted / len(is_in)
    share_each = np.diag(share_both)
    is_first = _mark_first(share_each, int(is_in[0].sum()))
    # Where no sample crosses the edge, those on its two sides are still worth something.
    least = np.where(is_first[:, None] != is_first, 0.5 / len(is_in), 0.0)
    return np.maximum(share_each[:, None] + share_each - 2 * share_both, least)


def _mark_first(shares: Floats, edge: int) -> Bools:
    """Return which agents have the highest shares, so many of them: bool [n]."""
    is_first = np.zeros(len(shares), np.bool_)
    is_first[np.argsort(-shares, kind="stable")[:edge]] = True
    return is_first


def choose_checks(
    standing: Standing,
    estimate: PairVariance,
    variances: Floats,
    is_in: Bools,
    n_blocks: int,
    rng: np.random.Generator,
) -> list[Lineup]:
    """Return pairs of one of the first k and another who may beat it, the likeliest first.

    Who is named the best should have met whom the ratings say it beats, as leads of pairs depart
    from them, and somebody may have learnt to beat just that one. estimate: how far leads depart.
    variances: of the gaps. Of four blocks or more a quarter is left to the edge itself.
    """
    share, in_flight = is_in.mean(axis=0), count_in_flight(standing)
    leads = _infer_leads(standing, estimate, EXPECTED)
    worth = np.maximum(
        _find_lead_doubts(standing, leads, variances) * _IN_FLIGHT ** (in_flight / COUPLE),
        np.where(in_flight > 0, 0.0, _find_upset_doubts(standing, variances, share, least=_OPEN)),
    )
    # Ties go to anybody, and not to who was registered first.
    worth *= 1 + _TIE_BREAK * rng.random(worth.shape)
    edge = int(is_in[0].sum())
    is_named = _mark_first(share - _TIE_BREAK * rng.random(len(share)), edge)
    is_named &= share > _LIKELY
    crosses = is_named[:, None] & ~is_named
    closed = _CLOSED
    if is_named.sum() == edge:
        # Whoever goes on asks for more than is known: of what is left the most open ones meet.
        closed = min(_CLOSED, _NEXT_TO_MOST * worth[crosses].max(initial=0.0))
    return _list_pairs(worth, crosses & (worth > closed), n_blocks - n_blocks // 4)


def choose_order_checks(
    standing: Standing,
    estimate: PairVariance,
    variances: Floats,
    n_blocks: int,
    rng: np.random.Generator,
) -> list[Lineup]:
    """Return pairs of one agent and another behind it that may beat it, the likeliest first.

    An order is wrong by one pair that departs, however far apart the two are. A pair is worth the
    doubt about its lead, as far as that is of its own and not of the ratings, or that one may have
    learnt to beat just the other. Half of the blocks are left to the information about all.
    """
    leads = _infer_leads(standing, estimate, expect_in_order(len(variances)))
    of_its_own = leads.variance / (leads.share**2 * variances + leads.variance)
    in_flight = count_in_flight(standing)
    doubts = _find_lead_doubts(standing, leads, variances)
    doubts = np.minimum(doubts, doubts.T) * of_its_own
    n = len(variances)
    least = _LEFT / (n * (n - 1) / 2)
    upsets = _find_upset_doubts(standing, variances, np.ones(n), least=least)
    worth = np.maximum(
        doubts * _IN_FLIGHT ** (in_flight / COUPLE),
        np.where(in_flight > 0, 0.0, np.maximum(upsets, upsets.T)),
    )
    worth *= 1 + _TIE_BREAK * rng.random(worth.shape)
    is_open = np.triu(worth > least, 1)
    return _list_pairs(worth, is_open, (n_blocks + int(rng.integers(2))) // 2)


def _list_pairs(worth: Floats, is_open: Bools, n_pairs: int) -> list[Lineup]:
    """Return the open pairs that are worth the most."""
    rows, columns = np.nonzero(is_open)
    likeliest_first = np.argsort(-worth[rows, columns], kind="stable")
    return [(int(rows[i]), int(columns[i])) for i in likeliest_first[:n_pairs]]


def _infer_leads(standing: Standing, estimate: PairVariance, expected: float) -> PairLeads:
    """Return what is known of leads that were expected to depart so far beforehand."""
    apart, seat = find_spread(standing.mu, standing.sd, standing.spread), standing.seat_advantage
    return infer_pair_leads(
        standing.counts,
        standing.mu[:, None] - standing.mu,
        pair_variance=believe_pair_variance(estimate, apart, expected, seat=seat),
        draw_probability=standing.draw_probability,
        seat=seat,
    )


def _find_lead_doubts(standing: Standing, leads: PairLeads, variances: Floats) -> Floats:
    """Return P(the row's agent is not better than the column's): [n, n]."""
    mean = leads.share * (standing.mu[:, None] - standing.mu) + leads.own
    doubts: Floats = ndtr(-mean / np.sqrt(leads.share**2 * variances + leads.variance))
    return doubts


def _find_upset_doubts(
    standing: Standing, variances: Floats, share: Floats, *, least: float
) -> Floats:
    """Return how open it is whether the column's agent beats just the row's: [n, n].

    share: P(among the first k), [n]. least: what is less open counts for nothing.
    """
    gaps = standing.mu[:, None] - standing.mu
    apart = estimate_departures(
        standing.counts,
        gaps,
        variances,
        draw_probability=standing.draw_probability,
        seat=standing.seat_advantage,
    )
    is_better = ndtr(apart.mean / np.sqrt(apart.variance))
    doubts = apart.chance * is_better * (1 - is_better)
    is_new = (count_met(standing) == 0) & (share[:, None] > _STAYING)
    doubts = np.where(is_new, np.maximum(doubts, _UNMET), np.where(doubts < least, 0.0, doubts))
    is_behind = gaps > _BEHIND * np.sqrt(variances)
    return np.where(is_behind, doubts, 0.0)
