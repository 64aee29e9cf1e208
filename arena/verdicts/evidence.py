"""What is believed by results that need not be as the rating model has them.

Five things that a ranking by one number with independent games leaves out are measured on the
results themselves, and each makes the belief as much less sure: games of a block that repeat each
other, leads of pairs that depart from the ratings, strength that drifts, and draws (which the fit
itself sees to), each shrunk to what chance would show; and single pairs of which the ratings may
tell nothing. Where none of it shows, the belief is that of the plain fit but for these, and for
departures of pairs that a question takes for granted until more is known.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from arena.ratings.counts import Floats, PairCounts
from arena.ratings.departures import MOST_AGENTS, Departures, estimate_departures
from arena.ratings.pair_leads import infer_pair_leads
from arena.ratings.pair_variance import (
    NO_PAIR_VARIANCE,
    LikelyVariances,
    PairVariance,
    estimate_pair_variance,
    find_spread,
    weigh_pair_variances,
)
from arena.ratings.settled import SettledRatings
from arena.verdicts.beliefs import Belief, form_belief, mix_beliefs
from arena.verdicts.dispersion import measure_dispersion
from arena.verdicts.drift import MOST_FOLLOWED, Drift, estimate_drift
from arena.verdicts.futures import match_information
from arena.verdicts.lead_filter import LeadFilter
from arena.verdicts.seed_blocks import SeedBlocks
from arena.verdicts.sprt import BLOCKS
from arena.verdicts.walking_belief import believe_walk
from arena.verdicts.walks import STEPS, follow_walks

# Fits counts, each pair of which has a weight: one number, or float64 [n, n].
Settle = Callable[[PairCounts, float | Floats], SettledRatings]
# Of two agents the pair is all that there is.
_FEWEST = 3


@dataclass(frozen=True, eq=False)
class ModelChecks:
    """How far the results depart from a ranking by one number, with independent games."""

    dispersion: float
    n_blocks: int
    pairs: PairVariance
    drift: Drift


def infer_belief(
    counts: PairCounts,
    blocks: SeedBlocks,
    settle: Settle,
    *,
    expected_departures: float = 0.0,
    may_change: bool = False,
) -> tuple[Belief, ModelChecks]:
    """Return what is believed of the agents, and how well the model fits.

    counts: all results, those of the blocks, which are the newest ones, included.
    expected_departures: how far pairs are thought to depart from the ratings before they show it,
    as a part of their spread. may_change: whether nobody knows that an agent stays what it is.
    """
    settled = settle(counts, 1.0)
    dispersion = _measure_dispersion(blocks, settled)
    # What is only expected of pairs would hide a walk of which little has been seen.
    pairs = _estimate_pairs(counts, settled, dispersion)
    drift = estimate_drift(
        blocks,
        settled,
        dispersion=dispersion,
        pair_variance=pairs.variance,
        may_change=may_change,
    )
    if dispersion != 1:
        settled = settle(counts, 1 / dispersion)
        pairs = _estimate_pairs(counts, settled, dispersion)
    checks = ModelChecks(dispersion, len(blocks.first), pairs, drift)
    belief = _believe_steady(counts, settle, settled, checks, expected_departures)
    return _mix_with_walk(belief, blocks, settled, checks, expected_departures), checks


def _believe_steady(
    counts: PairCounts,
    settle: Settle,
    settled: SettledRatings,
    checks: ModelChecks,
    expected_departures: float,
) -> Belief:
    """Return what is believed of agents that stay what they are."""
    dispersion, leads = checks.dispersion, None
    variances = _weigh_pair_variances(checks.pairs, settled, expected_departures)
    if variance := variances.mean if variances else checks.pairs.variance:
        discount = _discount_pairs(counts, settled, variance / dispersion)
        settled = settle(counts, discount / dispersion)
        leads = infer_pair_leads(
            counts,
            settled.mu[:, None] - settled.mu,
            pair_variance=variance,
            draw_probability=settled.draw_probability,
            seat=_find_seat(settled),
            dispersion=dispersion,
        )
    belief = form_belief(settled, counts, leads=leads)
    departures = _find_departures(belief, counts, settled, dispersion)
    return replace(
        belief,
        pair_variances=variances,
        departures=departures,
        is_checked=expected_departures > 0,
    )


def _mix_with_walk(
    steady: Belief,
    blocks: SeedBlocks,
    settled: SettledRatings,
    checks: ModelChecks,
    expected_departures: float,
) -> Belief:
    """Return what is believed with what is if strength walks beside it, where that counts."""
    drift = checks.drift
    if drift.speeds is None:
        return steady
    # What pairs show may be the walk's doing.
    variances = _weigh_pair_variances(NO_PAIR_VARIANCE, settled, expected_departures)
    variance = variances.mean if variances else 0.0
    lead_filter = LeadFilter(settled, checks.dispersion)
    walked = follow_walks(blocks, lead_filter, STEPS[1:], drift.n_parts, variance)
    walking = believe_walk(walked, drift.speeds[1:], variance, steady)
    return mix_beliefs(steady, walking, drift.chance)


def _find_departures(
    belief: Belief, counts: PairCounts, settled: SettledRatings, dispersion: float
) -> Departures | None:
    """Return the pairs of which ratings may tell nothing; None of two agents or very many."""
    n = belief.n_agents
    if not _FEWEST <= n <= MOST_AGENTS or belief.covariance is None:
        return None
    row, column = np.indices((n, n)).reshape(2, -1)
    return estimate_departures(
        counts,
        belief.expected_leads(row, column).reshape(n, n),
        belief.variances(row, column).reshape(n, n),
        draw_probability=settled.draw_probability,
        seat=_find_seat(settled),
        dispersion=dispersion,
    )


def _weigh_pair_variances(
    pairs: PairVariance, settled: SettledRatings, expected_departures: float
) -> LikelyVariances | None:
    """Return what the variance of the leads of pairs may be; None where it is not in doubt."""
    if not expected_departures or not _FEWEST <= len(settled.mu) <= MOST_AGENTS:
        return None
    apart = find_spread(settled.mu, settled.sd, settled.spread)
    likely = weigh_pair_variances(pairs, apart, expected_departures, seat=_find_seat(settled))
    return likely if likely.mean >= pairs.variance else None


def _estimate_pairs(counts: PairCounts, settled: SettledRatings, dispersion: float) -> PairVariance:
    if settled.covariance is None or len(settled.mu) > MOST_FOLLOWED:
        return NO_PAIR_VARIANCE
    return estimate_pair_variance(
        counts,
        settled.mu,
        settled.covariance,
        draw_probability=settled.draw_probability,
        spread=settled.spread,
        seat=_find_seat(settled),
        dispersion=dispersion,
    )


def _find_seat(settled: SettledRatings) -> float:
    return settled.seat.mu if settled.seat else 0.0


def _measure_dispersion(blocks: SeedBlocks, settled: SettledRatings) -> float:
    first, second = blocks.first, blocks.second
    points = blocks.scores.sum(axis=1) * np.where(first < second, 1, -1) + 2
    n = len(settled.mu)
    met, which = np.unique(
        np.minimum(first, second) * n + np.maximum(first, second), return_inverse=True
    )
    outcomes = np.zeros((len(met), BLOCKS), np.int64)
    np.add.at(outcomes, (which, points), 1)
    return measure_dispersion(
        settled.mu,
        *np.divmod(met, n),
        outcomes,
        draw_probability=settled.draw_probability,
        seat=_find_seat(settled),
    )


def _discount_pairs(counts: PairCounts, settled: SettledRatings, variance: float) -> Floats:
    """Return what a result of each pair says about ratings, of what it says about its lead.

    variance: of the leads of pairs, by what a result weighs.
    """
    n = len(settled.mu)
    met = np.zeros((n, n))
    n_results = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    np.add.at(met, (counts.first, counts.second), n_results)
    gap, seat = settled.mu[:, None] - settled.mu, _find_seat(settled)
    per_result = (match_information(gap + seat) + match_information(gap - seat)) / 2
    information = (met + met.T) * per_result
    discount: Floats = 1 / (1 + information * variance)
    return discount
