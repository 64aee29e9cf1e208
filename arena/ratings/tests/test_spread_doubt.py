"""Intervals that hold whatever the spread of the field: wide of few results, unchanged of many."""

import numpy as np
import pytest

from arena.ratings import information_matrix
from arena.ratings.base import MU
from arena.ratings.counts import Floats, count_results
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from arena.ratings.tests.simulated import simulated

DOUBTED = FittedTerms(has_spread_doubt=True)


def covered(settled: SettledRatings, skill: Floats) -> float:
    error = (settled.mu - settled.mu.mean()) - (skill - skill.mean())
    return float(np.mean(np.abs(error) < 1.96 * settled.sd))


@pytest.mark.parametrize(("n_agents", "n_results"), [(10, 30), (60, 240)])
def test_intervals_of_few_results_hold_what_they_say(n_agents: int, n_results: int) -> None:
    wide, narrow = list[float](), list[float]()
    for seed in range(24):
        field = simulated(n_agents, n_results, seed=seed)
        counts = count_results(field.results)
        wide.append(covered(settle_ratings(counts, n_agents, terms=DOUBTED), field.skill))
        narrow.append(covered(settle_ratings(counts, n_agents), field.skill))
    assert np.mean(wide) > 0.9
    assert np.mean(wide) > np.mean(narrow) + 0.03


def test_it_is_the_sd_alone_that_widens_and_never_narrows_much() -> None:
    counts = count_results(simulated(10, 60, seed=1).results)
    plain, doubted = settle_ratings(counts, 10), settle_ratings(counts, 10, terms=DOUBTED)
    assert np.array_equal(plain.mu, doubted.mu)
    assert np.array_equal(np.asarray(plain.covariance), np.asarray(doubted.covariance))
    assert (doubted.sd > 0.99 * plain.sd).all()
    assert doubted.sd.mean() > 1.02 * plain.sd.mean()


def test_much_evidence_leaves_it_as_it_is() -> None:
    counts = count_results(simulated(10, 20_000, seed=2).results)
    plain, doubted = settle_ratings(counts, 10), settle_ratings(counts, 10, terms=DOUBTED)
    np.testing.assert_allclose(doubted.sd, plain.sd, rtol=0.02)


def test_large_fields_and_agents_without_results_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = count_results(simulated(30, 400, seed=3).results)
    for n_agents in (30, 31):
        plain = settle_ratings(counts, n_agents)
        doubted = settle_ratings(counts, n_agents, terms=DOUBTED)
        assert (doubted.sd[30:] == plain.sd[30:]).all()
    monkeypatch.setattr(information_matrix, "DENSE_LIMIT", 10)
    assert np.array_equal(
        settle_ratings(counts, 30, terms=DOUBTED).sd, settle_ratings(counts, 30).sd
    )
    monkeypatch.undo()
    assert settle_ratings(count_results([]), 3, terms=DOUBTED).mu.tolist() == [MU] * 3
    chain = FittedTerms(has_spread_doubt=True)
    two = count_results([(0, 1, 1)] * 5)
    linked = settle_ratings(two, 2, terms=chain, parents=[-1, 0])
    assert np.array_equal(linked.sd, settle_ratings(two, 2, parents=[-1, 0]).sd)


def test_the_order_of_results_changes_no_bit() -> None:
    results = simulated(12, 90, seed=4).results
    wanted = settle_ratings(count_results(results), 12, terms=DOUBTED).sd
    mixed = np.random.default_rng(1).permutation(results)
    assert np.array_equal(settle_ratings(count_results(mixed), 12, terms=DOUBTED).sd, wanted)
