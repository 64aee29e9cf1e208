"""Pairs that depart from the ratings: by Bayes' rule, from what the two did against each other."""

from math import sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from arena.ratings.base import BETA, SIGMA, unit_draw_margin
from arena.ratings.counts import PairCounts
from arena.ratings.departures import Departures, estimate_departures

N, GAP, SD = 4, 14.0, 3.0
BEFORE = 0.15 / 6
UNIT = sqrt(2) * BETA


def estimate(*rows: tuple[int, int, int, int, int], seat: float = 0.0) -> Departures:
    """Return the departures of agents each of whom is far better than the next."""
    gaps = GAP * (np.arange(N) - np.arange(N)[:, None]).astype(np.float64)
    variances = np.full((N, N), SD**2)
    counts = PairCounts.from_rows(rows)
    return estimate_departures(counts, gaps, variances, draw_probability=0.1, seat=seat)


def test_a_pair_that_never_met_is_as_it_was_thought_to_be() -> None:
    apart = estimate()
    assert apart.chance[0, 3] == pytest.approx(BEFORE)
    assert apart.mean[0, 3] == pytest.approx(0, abs=1e-9)
    # The grid ends at 8 standard deviations of a performance difference.
    assert apart.variance[0, 3] == pytest.approx(2 * SIGMA**2, rel=0.01)


def test_who_loses_to_an_agent_far_below_departs_and_who_wins_does_not() -> None:
    lost, won = estimate((0, 3, 0, 0, 1), (3, 0, 1, 0, 0)), estimate((0, 3, 1, 0, 0))
    assert lost.chance[0, 3] > 0.5
    assert lost.mean[3, 0] > 5
    assert won.chance[0, 3] < BEFORE
    assert lost.chance[0, 1] == pytest.approx(BEFORE)


@pytest.mark.parametrize("seat", [0.0, 2.0])
def test_it_is_what_integrals_say(seat: float) -> None:
    rows = (0, 1, 1, 1, 2), (1, 0, 0, 2, 1)
    margin = unit_draw_margin(0.1)

    def explain(lead: float) -> float:
        gaps, product = ((seat + lead) / UNIT, (seat - lead) / UNIT), 1.0
        for gap, (_, _, won, drew, lost) in zip(gaps, rows, strict=True):
            win, loss = ndtr(gap - margin), ndtr(-gap - margin)
            product *= win**won * loss**lost * (1 - win - loss) ** drew
        return product

    by_ratings, _ = quad(lambda x: norm(GAP, SD).pdf(x) * explain(x), GAP - 8 * SD, GAP + 8 * SD)
    alone = norm(0, sqrt(2) * SIGMA).pdf
    by_itself, _ = quad(lambda x: alone(x) * explain(x), -45, 45)
    mean, _ = quad(lambda x: x * alone(x) * explain(x) / by_itself, -45, 45)
    odds = BEFORE / (1 - BEFORE) * by_itself / by_ratings
    apart = estimate(*rows, seat=seat)
    assert apart.chance[0, 1] == pytest.approx(odds / (1 + odds), rel=0.01)
    assert apart.mean[0, 1] == pytest.approx(mean, rel=0.01)
    assert apart.mean[1, 0] == -apart.mean[0, 1]


def test_a_few_agents_can_be_looked_at_alone() -> None:
    apart = estimate((0, 3, 0, 0, 1)).restrict_to(np.array([3, 0]))
    assert apart.mean[0, 1] > 0
    assert apart.chance.shape == (2, 2)
