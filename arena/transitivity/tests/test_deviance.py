"""The deviance test: quiet where a ranking is true, loud for rock, paper and scissors."""

import numpy as np
import pytest

from arena.ratings.base import MU, RatingError
from arena.ratings.settled import count_results, settle_ratings
from arena.ratings.tests.simulated import simulated
from arena.transitivity.deviance import deviance_test
from arena.transitivity.tests.fields import played


def test_rock_paper_scissors_is_exposed_and_the_rating_says_nothing() -> None:
    counts = played("rps", 200)
    fit_test = deviance_test(counts, 3, seed=1)
    assert fit_test.df == 1
    assert fit_test.deviance > 300
    assert fit_test.p_value == pytest.approx(1 / 501)
    assert np.abs(settle_ratings(counts, 3).mu - MU).max() < 1


def test_a_true_ranking_is_seldom_refused() -> None:
    values = [
        deviance_test(
            count_results(simulated(6, 300, seed=s).results), 6, seed=s, n_replicates=99
        ).p_value
        for s in range(60)
    ]
    assert np.mean(np.array(values) <= 0.1) <= 0.2
    assert 0.35 < np.mean(values) < 0.8


def test_the_replicates_are_rated_again() -> None:
    fit_test = deviance_test(count_results(simulated(6, 6000, spread=2, seed=3).results), 6, seed=0)
    assert fit_test.df == 10
    assert fit_test.expected == pytest.approx(10, abs=2)


def test_few_results_prove_nothing() -> None:
    assert deviance_test(count_results([(0, 1, 1), (1, 2, 1), (2, 0, 1)]), 3, seed=0).p_value > 0.1


def test_many_draws_or_none_are_no_departure() -> None:
    results = simulated(6, 2000, seed=3).results
    rng = np.random.default_rng(0)
    drawn = results.copy()
    drawn[rng.random(2000) < 0.5, 2] = 0
    many = deviance_test(count_results(drawn), 6, seed=0, n_replicates=99)
    assert many.draw_probability > 0.4
    decided = results[results[:, 2] != 0]
    none = deviance_test(count_results(decided), 6, seed=0, n_replicates=99)
    assert none.draw_probability == 0
    assert none.p_value > 0.01


def test_nothing_but_draws() -> None:
    fit_test = deviance_test(count_results([(0, 1, 0), (1, 2, 0), (2, 0, 0)] * 9), 3, seed=0)
    assert fit_test.draw_probability == 0.95
    assert fit_test.p_value > 0.1


def test_hardly_any_draws() -> None:
    counts = count_results([(0, 1, 0)] + [(0, 1, 1), (1, 0, 1)] * 50_000)
    assert deviance_test(counts, 2, seed=0).draw_probability == 1e-4


@pytest.mark.parametrize("results", [[], [(0, 1, 1)], [(0, 1, 1), (2, 3, 0), (1, 2, 1)]])
def test_where_a_ranking_fits_any_results_there_is_nothing_to_test(
    results: list[tuple[int, int, int]],
) -> None:
    fit_test = deviance_test(count_results(results), 5, seed=0)
    assert (fit_test.deviance, fit_test.df, fit_test.p_value) == (0.0, 0, 1.0)


def test_the_same_seed_gives_the_same_value(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_results(simulated(6, 200, seed=3).results)
    whole = deviance_test(counts, 6, seed=3)
    assert deviance_test(counts, 6, seed=3) == whole
    monkeypatch.setattr("arena.transitivity.deviance._CHUNK", 1000)
    assert deviance_test(counts, 6, seed=3).p_value == pytest.approx(whole.p_value, abs=0.1)


def test_too_large_a_field_is_refused() -> None:
    with pytest.raises(RatingError, match="2000 agents at most, got 2001"):
        deviance_test(count_results([]), 2001, seed=0)
