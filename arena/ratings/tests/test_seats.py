"""The advantage of the first seat: a term of the fit, found and taken out."""

import numpy as np
import pytest

from arena.ratings import information_matrix
from arena.ratings.accuracy import strict_accuracy
from arena.ratings.base import BETA, DEFAULT, MU, RatingError
from arena.ratings.counts import Floats, Ints, PairCounts
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.posterior import NO_LINKS, Objective, find_mode
from arena.ratings.settled import (
    FittedTerms,
    SeatAdvantage,
    SettledRatings,
    count_results,
    settle_ratings,
)
from arena.ratings.tests.simulated import simulated

ADVANTAGE = BETA / 2


def unbalanced(n_agents: int, n_results: int, seed: int) -> tuple[Floats, Ints]:
    """Return skills and results in which some agents sit first far more often than others."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(MU, 25 / 3, n_agents)
    sits_first = rng.random(n_agents)
    pairs = [rng.choice(n_agents, 2, replace=False) for _ in range(n_results)]
    turned = [
        (j, i) if rng.random() * sits_first[j] > rng.random() * sits_first[i] else (i, j)
        for i, j in pairs
    ]
    first, second = np.array(turned).T
    noise = rng.normal(0, np.sqrt(2) * BETA, n_results)
    lead = skill[first] - skill[second] + ADVANTAGE + noise
    score = np.where(np.abs(lead) < DEFAULT.draw_margin, 0, np.sign(lead)).astype(np.int64)
    return skill, np.stack([first, second, score], axis=1)


def accuracy(skill: Floats, settled: SettledRatings) -> float:
    share = strict_accuracy(skill.tolist(), settled.mu.tolist())
    assert share is not None
    return share


def seat(settled: SettledRatings) -> SeatAdvantage:
    assert settled.seat is not None
    return settled.seat


def test_it_is_found_and_the_order_is_better_for_it() -> None:
    seat_terms, claimed, gained = list[float](), list[float](), list[float]()
    for seed in range(12):
        skill, results = unbalanced(20, 1500, seed)
        counts = count_results(results)
        without, with_term = (
            settle_ratings(counts, 20),
            settle_ratings(counts, 20, terms=FittedTerms(seat=True)),
        )
        seat_terms.append(seat(with_term).mu / BETA)
        claimed.append(seat(with_term).sd / BETA)
        gained.append(accuracy(skill, with_term) - accuracy(skill, without))
    assert np.mean(seat_terms) == pytest.approx(0.5, abs=0.05)
    assert np.std(seat_terms) == pytest.approx(np.mean(claimed), rel=0.6)
    assert np.mean(gained) > 0.005


def test_it_is_a_function_of_the_set_of_results() -> None:
    _, results = unbalanced(12, 800, 1)
    settled = settle_ratings(count_results(results), 12, terms=FittedTerms(seat=True))
    for seed in range(5):
        shuffled = np.random.default_rng(seed).permutation(results)
        parts = [count_results(part) for part in np.array_split(shuffled, seed + 1)]
        names = ("first", "second", "n_first_wins", "n_draws", "n_second_wins")
        whole = PairCounts(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))
        again = settle_ratings(whole, 12, terms=FittedTerms(seat=True))
        assert again.mu.tobytes() == settled.mu.tobytes()
        assert again.sd.tobytes() == settled.sd.tobytes()
        assert again.seat == settled.seat


def test_turned_seats_turn_its_sign() -> None:
    _, results = unbalanced(8, 400, 2)
    turned = results[:, [1, 0, 2]] * [1, 1, -1]
    here = settle_ratings(count_results(results), 8, terms=FittedTerms(seat=True))
    there = settle_ratings(count_results(turned), 8, terms=FittedTerms(seat=True))
    assert seat(there).mu == pytest.approx(-seat(here).mu, abs=1e-8)
    assert there.mu == pytest.approx(here.mu, abs=1e-8)


def test_without_the_term_there_is_none() -> None:
    assert settle_ratings(count_results(simulated(5, 50).results), 5).seat is None
    assert settle_ratings(count_results([]), 5, terms=FittedTerms(seat=True)).seat is None


def test_a_large_field_has_the_same_term(monkeypatch: pytest.MonkeyPatch) -> None:
    _, results = unbalanced(60, 3000, 3)
    counts = count_results(results)
    dense = settle_ratings(counts, 60, terms=FittedTerms(seat=True))
    monkeypatch.setattr(information_matrix, "DENSE_LIMIT", 50)
    sparse = settle_ratings(counts, 60, terms=FittedTerms(seat=True))
    assert seat(sparse).mu == pytest.approx(seat(dense).mu, abs=0.02)
    assert seat(sparse).sd == pytest.approx(seat(dense).sd, rel=1e-3)
    assert sparse.mu == pytest.approx(dense.mu, abs=0.05)


def test_the_doubt_is_that_of_the_whole_matrix() -> None:
    counts = count_results(unbalanced(5, 200, 4)[1])
    likelihood = PairLikelihood(counts, 5, margin=0.1257, weight=1.0, is_seated=True)
    mode = find_mode(Objective(likelihood), 1.5, np.zeros(6))
    z = np.append(mode.z, mode.seat or 0.0)
    h = 1e-4
    rows = [
        (likelihood.at(z - step).gradient - likelihood.at(z + step).gradient) / (2 * h)
        for step in np.eye(6) * h
    ]
    matrix = np.array(rows) + np.diag([1 / 1.5**2] * 5 + [1 / NO_LINKS.seat_spread**2])
    inverse = np.linalg.inv(matrix)
    assert mode.uncertainty.covariance == pytest.approx(inverse[:5, :5], rel=1e-5)
    assert mode.uncertainty.seat == pytest.approx(inverse[5, 5], rel=1e-5)


def test_a_likelihood_without_the_term_has_no_border() -> None:
    likelihood = PairLikelihood(count_results([(0, 1, 1)]), 2, margin=0.1, weight=1.0)
    with pytest.raises(RatingError, match="no term for the seat"):
        likelihood.seat_curvature(np.ones(1))
