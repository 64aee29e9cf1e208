"""Samples of the posterior: by the covariance, and by the pairs alone."""

import numpy as np
import pytest

from arena.ratings.base import RatingError
from arena.ratings.counts import Floats
from arena.ratings.samples import Sampler, best_shares, superiority_shares
from arena.ratings.settled import count_results, settle_ratings
from arena.ratings.tests.simulated import simulated

COUNTS = count_results(simulated(12, 400, seed=4).results)
SETTLED = settle_ratings(COUNTS, 14)


def drawn(covariance: Floats | None, n_samples: int) -> Floats:
    sampler = Sampler.of_field(
        COUNTS, SETTLED.mu, covariance, SETTLED.spread, draw_probability=0.1, weight=1.0
    )
    return sampler.draw(np.random.default_rng(1), n_samples)


def test_both_ways_have_the_mean_and_the_covariance() -> None:
    assert SETTLED.covariance is not None
    for samples in (drawn(SETTLED.covariance, 20_000), drawn(None, 20_000)):
        assert samples.shape == (20_000, 14)
        assert samples.mean(axis=0) == pytest.approx(SETTLED.mu, abs=0.2)
        apart = samples - samples.mean(axis=1, keepdims=True)
        expected = SETTLED.covariance - SETTLED.covariance.mean(axis=0)
        expected = expected - expected.mean(axis=1, keepdims=True)
        assert np.cov(apart.T) == pytest.approx(expected, abs=0.06 * SETTLED.spread**2)


def test_shares_are_the_probabilities() -> None:
    samples = drawn(SETTLED.covariance, 20_000)
    shares = superiority_shares(samples)
    assert shares == pytest.approx(SETTLED.superiorities(), abs=0.02)
    assert shares + shares.T == pytest.approx(np.ones((14, 14)))
    best = best_shares(samples)
    assert best.sum() == pytest.approx(1)
    assert best.argmax() in np.argsort(-SETTLED.mu)[:3]


def test_before_any_result_the_prior_is_drawn() -> None:
    sampler = Sampler.of_field(count_results([]), np.full(3, 25.0), None, 8.0, draw_probability=0.1)
    samples = sampler.draw(np.random.default_rng(0), 4000)
    assert samples.std(axis=0) == pytest.approx(np.full(3, 8.0), rel=0.1)


def test_what_is_no_covariance_is_refused() -> None:
    with pytest.raises(RatingError, match="not positive definite"):
        Sampler.of_field(COUNTS, np.zeros(2), -np.eye(2), 8.0, draw_probability=0.1)


def test_samples_that_are_not_found_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.ratings.information_matrix._MAX_TURNS", 1)
    with pytest.raises(RatingError, match="12 agents was not found in 1 turns"):
        drawn(None, 1)
