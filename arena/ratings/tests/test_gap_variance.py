"""How sure the gap between two agents is, by those that met one of the two."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from arena.ratings.base import BETA, MU, SIGMA, RatingError
from arena.ratings.counts import Ints, PairCounts
from arena.ratings.gap_variance import gap_variance
from arena.ratings.settled import SettledRatings, settle_ratings


def field_of(n_agents: int, n_matches: int, seed: int) -> PairCounts:
    rng = np.random.default_rng(seed)
    skill = rng.normal(MU, 6, n_agents)
    first = rng.integers(0, n_agents, n_matches)
    second = (first + rng.integers(1, n_agents, n_matches)) % n_agents
    wins = rng.random(n_matches) < ndtr((skill[first] - skill[second]) / (np.sqrt(2) * BETA))
    return PairCounts(first, second, wins.astype(np.int64), 0 * first, 1 - wins.astype(np.int64))


def near(counts: PairCounts, settled: SettledRatings, pair: tuple[int, int]) -> float:
    """Return the variance by the results of the pair alone."""
    of = np.isin(counts.first, pair) | np.isin(counts.second, pair)
    met = np.union1d(counts.first[of], counts.second[of])
    agents = np.concatenate([pair, np.setdiff1d(met, pair)])
    place = np.zeros(len(settled.mu), np.int64)
    place[agents] = np.arange(len(agents))
    times = (counts.n_first_wins[of], counts.n_draws[of], counts.n_second_wins[of])
    return gap_variance(
        PairCounts(place[counts.first[of]], place[counts.second[of]], *times),
        settled.mu[agents],
        settled.sd[agents],
        spread=settled.spread,
        draw_probability=0.1,
    )


def exact(settled: SettledRatings, first: int, second: int) -> float:
    joint = settled.covariance
    assert joint is not None
    return float(joint[first, first] + joint[second, second] - 2 * joint[first, second])


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([6, 20]))
def test_in_a_large_field_it_is_what_the_whole_fit_says(seed: int, n_each: int) -> None:
    n = 200
    counts = field_of(n, n * n_each // 2, seed)
    settled = settle_ratings(counts, n)
    rng = np.random.default_rng(seed)
    met: Ints = rng.integers(0, len(counts.first), 10)
    pairs = [(int(counts.first[at]), int(counts.second[at])) for at in met]
    pairs += [(int(i), int(j)) for i, j in rng.permutation(n)[:20].reshape(-1, 2)]
    ratios = [np.sqrt(near(counts, settled, pair) / exact(settled, *pair)) for pair in pairs]
    assert ratios == pytest.approx(np.ones(len(ratios)), abs=0.03)


def test_agents_that_met_are_surer_of_their_gap_than_alone() -> None:
    counts = field_of(200, 600, 1)
    settled = settle_ratings(counts, 200)
    pair = int(counts.first[0]), int(counts.second[0])
    alone = settled.sd[pair[0]] ** 2 + settled.sd[pair[1]] ** 2
    assert near(counts, settled, pair) < 0.95 * alone


def test_who_is_named_first_does_not_matter() -> None:
    counts = field_of(50, 400, 2)
    settled = settle_ratings(counts, 50)
    assert near(counts, settled, (3, 7)) == pytest.approx(near(counts, settled, (7, 3)))


def test_without_results_it_is_the_prior() -> None:
    none, doubt = PairCounts.from_rows([]), np.full(2, SIGMA)
    variance = gap_variance(none, np.full(2, MU), doubt, spread=SIGMA, draw_probability=0.1)
    assert variance == pytest.approx(2 * SIGMA**2)


def test_it_refuses_results_of_others() -> None:
    others = PairCounts.from_rows([(0, 1, 1, 0, 0), (2, 3, 1, 0, 0)])
    with pytest.raises(RatingError, match="agents 0 and 1 and those they met"):
        gap_variance(others, np.full(4, MU), np.ones(4), spread=SIGMA, draw_probability=0.1)
