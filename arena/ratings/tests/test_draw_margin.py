"""The draw margin: fitted with the skills, so that draws of a drawish game say what they say."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from arena.ratings import draw_margin, information_matrix
from arena.ratings.base import BETA, MU, probability_of_margin, unit_draw_margin
from arena.ratings.counts import Floats, Ints
from arena.ratings.draw_margin import PRIOR_MATCHES, fit_margin
from arena.ratings.settled import FittedTerms, SettledRatings, count_results, settle_ratings
from arena.ratings.tests.simulated import count_teams

DRAWS = FittedTerms(draws=True)
CLOSE = 25 / 12


def play(skill: Floats, n_results: int, draw_probability: float, seed: int) -> Ints:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(skill), n_results)
    second = (first + rng.integers(1, len(skill), n_results)) % len(skill)
    lead = skill[first] - skill[second] + rng.normal(0, np.sqrt(2) * BETA, n_results)
    margin = unit_draw_margin(draw_probability) * np.sqrt(2) * BETA
    score = np.where(np.abs(lead) < margin, 0, np.sign(lead)).astype(np.int64)
    return np.stack([first, second, score], axis=1)


def covered(settled: SettledRatings, skill: Floats) -> float:
    about_mean = (settled.mu - settled.mu.mean()) - (skill - skill.mean())
    return float(np.mean(np.abs(about_mean) < 1.96 * settled.sd))


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.4, 0.8])
def test_it_is_found_from_results_whatever_was_thought(probability: float) -> None:
    fitted = [
        settle_ratings(
            count_results(
                play(np.random.default_rng(s).normal(MU, CLOSE, 10), 800, probability, s)
            ),
            10,
            terms=DRAWS,
        ).draw_probability
        for s in range(12)
    ]
    assert np.mean(fitted) == pytest.approx(probability, abs=0.015)
    assert np.std(fitted) < 0.04


def test_intervals_of_a_drawish_game_hold_what_they_say() -> None:
    right, wrong = list[float](), list[float]()
    for seed in range(30):
        skill = np.random.default_rng([seed, 1]).normal(MU, CLOSE, 10)
        counts = count_results(play(skill, 300, 0.8, seed))
        right.append(covered(settle_ratings(counts, 10, terms=DRAWS), skill))
        wrong.append(covered(settle_ratings(counts, 10), skill))
    assert np.mean(right) > 0.86
    assert np.mean(wrong) < 0.6


def test_it_is_the_mode_given_the_skills() -> None:
    rng = np.random.default_rng(4)
    lead, times, prior = rng.normal(0, 1.5, 40), rng.uniform(0.5, 9, 40), 0.3

    def loss(margin: float) -> float:
        decided = norm.logcdf(lead[:25] - margin)
        drawn = np.log(norm.cdf(margin - lead[25:]) - norm.cdf(-margin - lead[25:]))
        p = probability_of_margin(prior)
        before = p * np.log(2 * norm.cdf(margin) - 1) + (1 - p) * norm.logcdf(-margin)
        return -float(times[:25] @ decided + times[25:] @ drawn + PRIOR_MATCHES * before)

    best = minimize_scalar(loss, bounds=(1e-6, 4), method="bounded", options={"xatol": 1e-10})
    for start in (1e-6, 0.3, 4.0):
        fitted_margin = fit_margin(lead, 25, times, start=start, prior=prior)
        assert fitted_margin == pytest.approx(best.x, rel=1e-5)


def test_cut_short_it_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    lead, times = np.zeros(2), np.array([2.0, 8.0])
    whole = fit_margin(lead, 1, times, start=0.1, prior=0.3)
    monkeypatch.setattr(draw_margin, "_MAX_STEPS", 2)
    short = fit_margin(lead, 1, times, start=0.1, prior=0.3)
    assert 0.1 < short != whole


@pytest.mark.parametrize("gap", [0.0, 10.0, 100.0])
def test_draws_of_agents_far_apart_have_a_margin_too(gap: float) -> None:
    margin = fit_margin(np.full(3, gap), 0, np.full(3, 5.0), start=0.1, prior=0.1)
    assert 0.1 < margin <= 4


def test_without_draws_it_shrinks_and_without_results_it_stays() -> None:
    skill = np.random.default_rng(0).normal(MU, CLOSE, 6)
    results = play(skill, 600, 1e-9, 0)
    assert 0 < settle_ratings(count_results(results), 6, terms=DRAWS).draw_probability < 0.002
    assert settle_ratings(count_results([]), 6, terms=DRAWS).draw_probability == 0.1
    never = settle_ratings(count_results(results), 6, draw_probability=0.0, terms=DRAWS)
    assert never.draw_probability == 0


def test_the_order_of_results_and_the_start_change_nothing() -> None:
    results = play(np.random.default_rng(2).normal(MU, CLOSE, 12), 500, 0.6, 2)
    settled = settle_ratings(count_results(results), 12, terms=DRAWS)
    for seed in range(5):
        mixed = count_results(np.random.default_rng(seed).permutation(results))
        again = settle_ratings(mixed, 12, terms=DRAWS)
        assert np.array_equal(again.mu, settled.mu)
        assert again.draw_probability == settled.draw_probability
    warm = settle_ratings(count_results(results), 12, terms=DRAWS, start=settled.mu)
    assert warm.draw_probability == pytest.approx(settled.draw_probability, rel=1e-6)
    np.testing.assert_allclose(warm.mu, settled.mu, atol=1e-6)


def test_a_large_field_and_teams_are_fitted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    results = play(np.random.default_rng(3).normal(MU, CLOSE, 30), 2_000, 0.5, 3)
    dense = settle_ratings(count_results(results), 30, terms=DRAWS)
    monkeypatch.setattr(information_matrix, "DENSE_LIMIT", 10)
    sparse = settle_ratings(count_results(results), 30, terms=DRAWS)
    assert sparse.draw_probability == pytest.approx(dense.draw_probability, abs=0.01)
    assert dense.draw_probability == pytest.approx(0.5, abs=0.04)
    teams = count_teams(
        [((0, 1, 2, 3), (0, 0, 0, 0))] * 30 + [((0, 2, 1, 3), (0, 1, 0, 1))] * 10, (0, 1, 0, 1)
    )
    assert 0.7 < settle_ratings(teams, 4, terms=DRAWS).draw_probability < 0.95
