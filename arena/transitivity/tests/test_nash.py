"""Nash averaging: copies change nothing, the dominated have no weight, nobody beats the mixture."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.ratings.base import RatingError
from arena.ratings.counts import Floats
from arena.transitivity.nash import nash_average
from arena.transitivity.tests.fields import shares


@pytest.mark.parametrize("kinds", ["rps", "rrrrrps", "rrpps", "rrrrrpsd", "dddrps"])
def test_rock_paper_and_scissors_weigh_a_third_each_whatever_the_copies(kinds: str) -> None:
    average = nash_average(shares(kinds))
    for kind in "rps":
        own = average.weights[[place for place, k in enumerate(kinds) if k == kind]]
        assert own.sum() == pytest.approx(1 / 3, abs=1e-5)
        assert own == pytest.approx(np.full(len(own), own.mean()), abs=1e-5)
    dominated = [place for place, kind in enumerate(kinds) if kind == "d"]
    assert (average.weights[dominated] == 0).all()
    assert (average.skill[dominated] < -0.5).all()


@pytest.mark.parametrize(("kinds", "weights"), [("d", [1]), ("rr", [0.5, 0.5]), ("dr", [0, 1])])
def test_fields_without_a_cycle(kinds: str, weights: list[float]) -> None:
    assert nash_average(shares(kinds)).weights == pytest.approx(np.array(weights), abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_nobody_beats_the_mixture(n: int, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=(n, n))
    average = nash_average(1 / (1 + np.exp(noise.T - noise)))
    assert average.weights.sum() == pytest.approx(1)
    assert average.weights.min() >= 0
    assert average.skill.max() < 1e-5
    assert np.abs(average.skill[average.weights > 1e-3]).max() < 1e-4


@settings(deadline=None, max_examples=15)
@given(st.integers(2, 6), st.integers(0, 10**6), st.integers(1, 3))
def test_copies_share_the_weight_of_one(n: int, seed: int, n_copies: int) -> None:
    noise = np.random.default_rng(seed).normal(size=(n, n))
    table = 1 / (1 + np.exp(noise.T - noise))
    places = [*range(n), *[0] * n_copies]
    one, several = nash_average(table), nash_average(table[np.ix_(places, places)])
    assert several.weights[[0, *range(n, n + n_copies)]].sum() == pytest.approx(
        one.weights[0], abs=1e-4
    )
    assert several.weights[1:n] == pytest.approx(one.weights[1:], abs=1e-4)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.zeros((0, 0)), "square matrix"),
        (np.zeros((2, 3)), "square matrix"),
        (np.array([[0.5, 0.7], [0.7, 0.5]]), "add up to 1"),
    ],
)
def test_what_are_no_shares_is_refused(table: Floats, words: str) -> None:
    with pytest.raises(RatingError, match=words):
        nash_average(table)


def test_a_program_without_an_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(status=4, x=None, message="numbers")

    monkeypatch.setattr("arena.transitivity.nash.linprog", fail)
    with pytest.raises(RatingError, match="numbers"):
        nash_average(shares("rps"))
