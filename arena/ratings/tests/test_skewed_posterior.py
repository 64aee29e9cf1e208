"""Moments of posteriors that are not normal, against numerical integrals and samples."""

import numpy as np
import pytest
from scipy.stats import norm

from arena.ratings.base import unit_draw_margin
from arena.ratings.counts import PairCounts, count_results
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.lineage import parent_prior
from arena.ratings.posterior import Objective, find_mode
from arena.ratings.skewed_posterior import propagate
from arena.ratings.tests.simulated import simulated

MARGIN = unit_draw_margin(0.1)


def objective_of(counts: PairCounts, n: int, *, is_seated: bool = False) -> Objective:
    return Objective(PairLikelihood(counts, n, margin=MARGIN, weight=1.0, is_seated=is_seated))


def test_two_agents_one_of_which_always_wins() -> None:
    objective = objective_of(count_results([(0, 1, 1)] * 12), 2)
    mode = find_mode(objective, 2.0, np.zeros(2))
    mean, joint = propagate(objective, mode)
    # The gap has the prior N(0, 2 * 2^2) and twelve wins: integrated on a fine grid.
    gap = np.linspace(-20, 40, 600_001)
    density = norm.pdf(gap, 0, 2 * np.sqrt(2)) * norm.cdf(gap - MARGIN) ** 12
    density /= density.sum()
    expected = float(density @ gap)
    variance = float(density @ (gap - expected) ** 2)
    assert mean[0] - mean[1] == pytest.approx(expected, rel=0.01)
    assert joint[0, 0] + joint[1, 1] - 2 * joint[0, 1] == pytest.approx(variance, rel=0.03)
    # The mode and its curvature say less, and more surely.
    assert expected > mode.z[0] - mode.z[1] + 0.3
    narrow = np.asarray(mode.uncertainty.covariance)
    assert variance > 1.2 * (narrow[0, 0] + narrow[1, 1] - 2 * narrow[0, 1])


@pytest.mark.no_cover
def test_it_agrees_with_samples_of_the_posterior() -> None:
    counts = count_results(simulated(5, 25, seed=3).results)
    objective = objective_of(counts, 5)
    mode = find_mode(objective, 1.5, np.zeros(5))
    mean, joint = propagate(objective, mode)
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_normal(mean, 1.3 * joint, 40_000)
    value = np.array([objective.at(z, 1.5).value for z in drawn])
    apart = drawn - mean
    proposed = np.einsum("si,ij,sj->s", apart, np.linalg.inv(1.3 * joint), apart) / 2
    weights = np.exp(value + proposed - (value + proposed).max())
    weights /= weights.sum()
    exact = weights @ drawn
    assert mean == pytest.approx(exact, abs=0.03)
    spread = np.sqrt(weights @ (drawn - exact) ** 2)
    assert np.sqrt(np.diag(joint)) == pytest.approx(spread, rel=0.03)


def test_much_evidence_is_normal() -> None:
    counts = count_results(simulated(6, 6_000, spread=3.0, seed=4).results)
    for is_seated in (False, True):
        objective = objective_of(counts, 6, is_seated=is_seated)
        mode = find_mode(objective, 1.0, np.zeros(6 + is_seated))
        mean, joint = propagate(objective, mode)
        assert mean == pytest.approx(mode.z, abs=0.02)
        assert joint == pytest.approx(np.asarray(mode.uncertainty.covariance), rel=0.05, abs=1e-4)


def test_children_are_held_by_their_parents() -> None:
    counts = count_results([(0, 1, 1)] * 6)
    likelihood = PairLikelihood(counts, 3, margin=MARGIN, weight=1.0)
    linked = Objective(likelihood, parent_prior(np.array([-1, -1, 0]), np.arange(3)))
    mode = find_mode(linked, 1.5, np.zeros(3))
    mean, joint = propagate(linked, mode)
    assert mean[2] == pytest.approx(mean[0], abs=1e-6)
    assert joint[2, 2] > joint[0, 0]
