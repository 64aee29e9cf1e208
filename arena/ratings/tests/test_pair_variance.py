"""How far pairs depart from a ranking: what is thought of it gives way to what is found."""

import numpy as np
import pytest

from arena.ratings.base import SIGMA
from arena.ratings.counts import count_results
from arena.ratings.pair_variance import (
    EXPECTED,
    NO_PAIR_VARIANCE,
    PairVariance,
    believe_pair_variance,
    estimate_pair_variance,
    expect_in_order,
    find_spread,
)
from arena.ratings.settled import settle_ratings
from arena.ratings.tests.simulated import simulated


def believe(estimate: PairVariance, spread: float, *, seat: float = 0.0) -> float:
    return believe_pair_variance(estimate, spread, EXPECTED, seat=seat)


def test_of_an_order_the_less_is_thought_beforehand_the_more_agents_there_are() -> None:
    expected = [expect_in_order(n_agents) for n_agents in (3, 5, 10, 20)]
    assert expected == pytest.approx([0.25, 0.25, 0.1, 0.025])


def test_what_is_thought_of_pairs_gives_way_to_what_is_found() -> None:
    thought = believe(NO_PAIR_VARIANCE, SIGMA)
    assert thought == pytest.approx((0.45 * 0.8 * SIGMA) ** 2)
    # Checkpoints of one run are alike: of those a quarter as far apart, far less is thought.
    assert believe(NO_PAIR_VARIANCE, SIGMA / 4) < thought / 100
    # Where the first seat nearly always wins, who sits there tells little of agents or pairs.
    assert believe(NO_PAIR_VARIANCE, SIGMA, seat=20.0) < thought / 20
    assert believe(NO_PAIR_VARIANCE, SIGMA, seat=-20.0) < thought / 20
    assert believe(NO_PAIR_VARIANCE, SIGMA, seat=1.0) > 0.95 * thought
    few, many = (PairVariance(0.0, 0.0, 0.0, n, noise=1.0) for n in (1.0, 100.0))
    assert thought / 2 < believe(few, SIGMA) < thought
    assert believe(many, SIGMA) < thought / 20
    unsure = PairVariance(0.0, 0.5, 40.0, 10.0, noise=100.0)
    assert thought < believe(unsure, SIGMA) < 1.2 * thought
    sure = PairVariance(30.0, 9.0, 33.0, 40.0, noise=1.0)
    assert believe(sure, SIGMA) >= 30.0


def test_of_a_ranking_little_is_believed_once_much_is_known() -> None:
    believed = []
    for n_results in (60, 6_000):
        field = simulated(10, n_results, seed=3)
        counts = count_results(field.results)
        settled = settle_ratings(counts, 10)
        estimate = estimate_pair_variance(
            counts,
            settled.mu,
            np.asarray(settled.covariance),
            draw_probability=settled.draw_probability,
            spread=settled.spread,
        )
        believed.append(believe(estimate, settled.spread))
    assert believed[1] < believed[0] / 4


def test_checkpoints_that_hang_on_each_other_are_as_close_as_they_are() -> None:
    counts = count_results([(i, i + 1, score) for i in range(3) for score in (1, -1)] * 10)
    settled = settle_ratings(counts, 4, parents=[-1, 0, 1, 2])
    # The spread is that of agents without a parent, of which there is one.
    assert settled.spread == pytest.approx(SIGMA)
    assert find_spread(settled.mu, settled.sd, settled.spread) < SIGMA / 3
    free = settle_ratings(count_results(simulated(10, 300, seed=1).results), 10)
    assert find_spread(free.mu, free.sd, free.spread) == pytest.approx(free.spread, rel=0.1)
