"""Ratings that hold whatever the spread of the field: less sure of few results, as sure of many."""

import numpy as np
import pytest

from arena.ratings import information_matrix
from arena.ratings.base import MU, SIGMA
from arena.ratings.counts import Floats, PairCounts, count_results
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from arena.ratings.tests.simulated import play_pairs, simulated

AVERAGED = FittedTerms(is_averaged=True)


def average(counts: PairCounts, n_agents: int) -> SettledRatings:
    return settle_ratings(counts, n_agents, terms=AVERAGED)


def covered(settled: SettledRatings, skill: Floats) -> float:
    error = (settled.mu - settled.mu.mean()) - (skill - skill.mean())
    return float(np.mean(np.abs(error) < 1.96 * settled.sd))


@pytest.mark.parametrize(("n_agents", "n_results"), [(10, 30), (60, 240)])
def test_intervals_of_few_results_hold_what_they_say(n_agents: int, n_results: int) -> None:
    wide, narrow = list[float](), list[float]()
    for seed in range(24):
        field = simulated(n_agents, n_results, seed=seed)
        counts = count_results(field.results)
        wide.append(covered(average(counts, n_agents), field.skill))
        narrow.append(covered(settle_ratings(counts, n_agents), field.skill))
    assert np.mean(wide) > 0.9
    assert np.mean(wide) > np.mean(narrow) + 0.03


def test_intervals_reach_who_always_wins() -> None:
    # Two groups so far apart that nobody of the lower one ever beats anybody of the upper one.
    mean, mode = list[float](), list[float]()
    for seed in range(24):
        rng = np.random.default_rng(seed)
        skill = MU + 2.5 * SIGMA * (np.arange(10) % 2) + rng.normal(0, 2, 10)
        counts = count_results(play_pairs(skill, 200, rng).results)
        mean.append(covered(average(counts, 10), skill))
        mode.append(covered(settle_ratings(counts, 10), skill))
    assert np.mean(mean) > 0.9 > np.mean(mode) + 0.05


def test_who_is_better_is_so_as_often_as_is_claimed() -> None:
    claimed, right, claimed_by_mode = list[Floats](), list[Floats](), list[Floats]()
    for seed in range(60):
        field = simulated(10, 30, seed=seed)
        settled = average(count_results(field.results), 10)
        i, j = np.triu_indices(10, 1)
        above = settled.superiorities()
        assert settled.superiority(2, 7) == above[2, 7] == pytest.approx(1 - above[7, 2])
        claimed.append(np.maximum(above[i, j], above[j, i]))
        right.append((field.skill[i] > field.skill[j]) == (above[i, j] > above[j, i]))
        plain = settle_ratings(count_results(field.results), 10).superiorities()
        claimed_by_mode.append(np.maximum(plain[i, j], plain[j, i]))
    assert np.mean(claimed) == pytest.approx(np.mean(right), abs=0.015)
    assert np.mean(claimed_by_mode) < np.mean(right) - 0.015


def test_the_covariance_is_of_the_whole_mixture() -> None:
    counts = count_results(simulated(10, 60, seed=1).results)
    plain, averaged = settle_ratings(counts, 10), average(counts, 10)
    joint = np.asarray(averaged.covariance)
    assert joint == pytest.approx(joint.T, abs=1e-9)
    assert (np.linalg.eigvalsh(joint) > 0).all()
    # How far the first is from the last is not known, which the mode with its curvature hides.
    first, last = int(plain.mu.argmax()), int(plain.mu.argmin())
    apart = joint[first, first] + joint[last, last] - 2 * joint[first, last]
    alone = np.asarray(plain.covariance)
    assert apart > 1.2 * (alone[first, first] + alone[last, last] - 2 * alone[first, last])


def test_much_evidence_leaves_it_as_it_is() -> None:
    counts = count_results(simulated(10, 20_000, seed=2).results)
    plain, averaged = settle_ratings(counts, 10), average(counts, 10)
    np.testing.assert_allclose(averaged.mu, plain.mu, atol=0.1)
    np.testing.assert_allclose(averaged.sd, plain.sd, rtol=0.02)


def test_large_fields_and_agents_without_results_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = count_results(simulated(30, 400, seed=3).results)
    for n_agents in (30, 31):
        plain, averaged = settle_ratings(counts, n_agents), average(counts, n_agents)
        assert (averaged.sd[30:] == plain.sd[30:]).all()
        assert (averaged.mu[30:] == MU).all()
        assert averaged.superiorities().shape == (n_agents, n_agents)
    monkeypatch.setattr(information_matrix, "DENSE_LIMIT", 10)
    assert np.array_equal(average(counts, 30).mu, settle_ratings(counts, 30).mu)
    monkeypatch.undo()
    assert average(count_results([]), 3).mu.tolist() == [MU] * 3
    two = count_results([(0, 1, 1)] * 5)
    linked = settle_ratings(two, 2, terms=AVERAGED, parents=[-1, 0])
    assert np.array_equal(linked.sd, settle_ratings(two, 2, parents=[-1, 0]).sd)


def test_the_order_of_results_changes_no_bit() -> None:
    results = simulated(12, 90, seed=4).results
    wanted = average(count_results(results), 12)
    found = average(count_results(np.random.default_rng(1).permutation(results)), 12)
    assert np.array_equal(found.mu, wanted.mu)
    assert np.array_equal(found.superiorities(), wanted.superiorities())
