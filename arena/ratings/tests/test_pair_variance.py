"""How far pairs depart from a ranking: what is thought of it gives way to what is found."""

import numpy as np
import pytest

from arena.ratings.base import SIGMA
from arena.ratings.counts import Ints, PairCounts, count_results
from arena.ratings.pair_variance import (
    EXPECTED,
    NO_PAIR_VARIANCE,
    PairVariance,
    believe_pair_variance,
    estimate_pair_variance,
    expect_in_order,
    find_spread,
)
from arena.ratings.settled import SettledRatings, settle_ratings
from arena.ratings.tests.simulated import simulated


def believe(estimate: PairVariance, spread: float, *, seat: float = 0.0) -> float:
    return believe_pair_variance(estimate, spread, EXPECTED, seat=seat)


def test_of_an_order_the_less_is_thought_beforehand_the_more_agents_there_are() -> None:
    expected = [expect_in_order(n_agents) for n_agents in (3, 5, 10, 20)]
    assert expected == pytest.approx([0.12, 0.064, 0.016, 0.008])


def test_what_is_thought_of_pairs_gives_way_to_what_is_found() -> None:
    thought = believe(NO_PAIR_VARIANCE, SIGMA)
    assert thought == pytest.approx((0.45 * 0.8 * SIGMA) ** 2, rel=0.05)
    # Checkpoints of one run are alike: of those a quarter as far apart, far less is thought.
    assert believe(NO_PAIR_VARIANCE, SIGMA / 4) < thought / 100
    # Where the first seat nearly always wins, who sits there tells little of agents or pairs.
    assert believe(NO_PAIR_VARIANCE, SIGMA, seat=20.0) < thought / 20
    assert believe(NO_PAIR_VARIANCE, SIGMA, seat=-20.0) < thought / 20
    assert believe(NO_PAIR_VARIANCE, SIGMA, seat=1.0) > 0.95 * thought
    assert believe(PairVariance(30.0, 9.0), SIGMA) == 30.0


def test_of_a_ranking_little_is_believed_once_much_is_known() -> None:
    believed = [believe_results(simulated(10, n, seed=3).results) for n in (60, 6_000)]
    assert believed[1] < believed[0] / 20


def test_pairs_that_depart_are_believed_to() -> None:
    """Leads of pairs are as different from those of ratings as half of the spread."""
    rng, n = np.random.default_rng(2), 10
    lead = np.triu(rng.normal(0, SIGMA / 2, (n, n)), 1)
    skills = rng.normal(0, SIGMA, n)
    first, second = np.repeat(np.triu_indices(n, 1), 40, axis=1)
    performed = skills[first] - skills[second] + lead[first, second] + rng.normal(0, 6, len(first))
    score = np.sign(performed).astype(int)
    results = list(zip(first.tolist(), second.tolist(), score.tolist(), strict=True))
    assert believe_results(results) == pytest.approx((SIGMA / 2) ** 2, rel=0.5)


def test_checkpoints_that_came_far_step_by_step_are_a_ranking() -> None:
    n, rng = 30, np.random.default_rng(1)
    first, second = rng.integers(0, n, 6_000), rng.integers(0, n, 6_000)
    first, second = first[first != second], second[first != second]
    score = np.sign(4.0 * (first - second) + rng.normal(0, 6, len(first))).astype(np.int64)
    counts = count_results(np.stack([first, second, score], axis=1))
    settled = settle_ratings(counts, n, parents=[-1, *range(n - 1)])
    assert believe(estimate_of(counts, settled), settled.spread) < 2


def believe_results(results: Ints | list[tuple[int, int, int]]) -> float:
    """Return what is believed by the likelihood alone."""
    counts = count_results(results)
    settled = settle_ratings(counts, 10)
    return believe(estimate_of(counts, settled)._replace(variance=0.0), settled.spread)


def estimate_of(counts: PairCounts, settled: SettledRatings) -> PairVariance:
    return estimate_pair_variance(
        counts,
        settled.mu,
        np.asarray(settled.covariance),
        draw_probability=settled.draw_probability,
        spread=settled.spread,
    )


def test_checkpoints_that_hang_on_each_other_are_as_close_as_they_are() -> None:
    counts = count_results([(i, i + 1, score) for i in range(3) for score in (1, -1)] * 10)
    settled = settle_ratings(counts, 4, parents=[-1, 0, 1, 2])
    # The spread is that of agents without a parent, of which there is one.
    assert settled.spread == pytest.approx(SIGMA)
    assert find_spread(settled.mu, settled.sd, settled.spread) < SIGMA / 3
    free = settle_ratings(count_results(simulated(10, 300, seed=1).results), 10)
    assert find_spread(free.mu, free.sd, free.spread) == pytest.approx(free.spread, rel=0.1)
