"""Verdicts on paired scores: sure at any time, order-free, and never about what was not played."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.verdicts.base import Terms, VerdictError
from arena.verdicts.paired_scores import find_interval, judge, weigh_evidence

DIFFERENCES = st.lists(st.floats(-1, 1), min_size=1, max_size=30)


def draw_scores(means: list[float], n_seeds: int, seed: int) -> Any:
    """Return scores of 0..1 around these means, float64 [n, T]."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.2, (len(means), n_seeds)) + rng.normal(0, 0.2, n_seeds)
    return np.clip(np.array(means)[:, None] + noise, 0, 1)


@settings(max_examples=30)
@given(DIFFERENCES, st.randoms())
def test_the_order_of_the_seeds_changes_nothing_at_the_end(values: list[float], rng: Any) -> None:
    shuffled = rng.sample(values, len(values))
    one, other = (
        weigh_evidence(np.array(each), bound=0.1, span=1.0)[-1] for each in (values, shuffled)
    )
    assert one == pytest.approx(other, abs=1e-9)


@settings(max_examples=30)
@given(DIFFERENCES)
def test_a_higher_bound_has_less_evidence_against_it(values: list[float]) -> None:
    weighed = [
        weigh_evidence(np.array(values), bound=bound, span=1.0)[-1] for bound in (-0.5, 0.0, 0.5)
    ]
    assert weighed == sorted(weighed, reverse=True)


def test_a_fair_gamble_wins_nothing_in_the_mean() -> None:
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 10)).reshape(10, -1).T
    wealth = np.exp(weigh_evidence(signs, bound=0.0, span=1.0)[:, -1])
    assert wealth.mean() == pytest.approx(1)


def test_peeking_after_every_seed_is_wrong_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(3)
    null = rng.choice([-0.1, 0.9], p=[0.9, 0.1], size=(2_000, 400))  # skewed, its mean is 0
    ever = weigh_evidence(null, bound=0.0, span=1.0).max(axis=1) >= log(1 / 0.05)
    assert ever.mean() < 0.05


def test_an_interval_covers_and_shrinks() -> None:
    rng = np.random.default_rng(4)
    values = np.clip(rng.normal(0.3, 0.2, 4_000), -1, 1)
    few, many = (find_interval(values[:n], span=1.0, error=0.05) for n in (100, 4_000))
    assert few[0] < many[0] < values.mean() < many[1] < few[1]
    assert many[1] - many[0] < 0.1
    assert find_interval(np.zeros(0), span=1.0, error=0.05) == pytest.approx((-1, 1))


def test_the_best_is_found_and_who_is_surely_worse_stops() -> None:
    scores = draw_scores([0.3, 0.7, 0.6, 0.1], 600, seed=5)
    scores[[0, 3], 60:] = np.nan
    judged = judge(scores, "best", Terms(error=0.05), span=1.0)
    assert judged.is_decided
    assert judged.subjects == (1,)
    early = judge(scores[:, :60], "best", Terms(error=0.05), span=1.0)
    assert early.playing == (1, 2)
    assert early.order[:2] == (1, 2)


@pytest.mark.parametrize(
    ("question", "subjects", "k"), [("top_k", (1, 2), 2), ("rank_all", (1, 2, 0, 3), 1)]
)
def test_other_questions_of_the_same_scores(question: str, subjects: Any, k: int) -> None:
    scores = draw_scores([0.4, 0.8, 0.6, 0.1], 900, seed=6)
    judged = judge(scores, question, Terms(error=0.05), span=1.0, k=k)
    assert judged.is_decided
    assert judged.subjects == subjects
    nothing = judge(scores[:, :0], question, Terms(error=0.05), span=1.0, k=k)
    assert nothing.playing == (0, 1, 2, 3)


def test_a_margin_decides_between_equals() -> None:
    scores = draw_scores([0.5, 0.5], 2_500, seed=7)
    assert judge(scores, "beats", Terms(error=0.05), span=1.0).playing == (0, 1)
    within = judge(scores, "beats", Terms(error=0.05, margin=0.05), span=1.0)
    assert within.is_decided


def test_more_is_needed_where_less_error_is_allowed() -> None:
    scores = draw_scores([0.5, 0.6], 400, seed=8)
    evidence = weigh_evidence(scores[1] - scores[0], bound=0.0, span=1.0).max()
    error = exp(-evidence)
    assert judge(scores, "beats", Terms(error=error * 1.01), span=1.0).is_decided
    assert not judge(scores, "beats", Terms(error=error * 0.99), span=1.0).is_decided


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: judge(np.zeros((1, 2)), "best", Terms(), span=1), "2 agents or more"),
        (lambda: judge(np.zeros((3, 2)), "beats", Terms(), span=1), "'beats' cannot be asked of 3"),
        (lambda: judge(np.zeros((3, 2)), "worst", Terms(), span=1), "'worst' cannot be asked"),
        (lambda: judge(np.zeros((3, 2)), "top_k", Terms(), span=1, k=3), "k must be from 1 to 2"),
        (lambda: judge(np.zeros((2, 2)), "best", Terms(margin=1), span=1), "below the range"),
        (lambda: weigh_evidence(np.zeros(2), bound=1, span=1), "bound must be between"),
        (lambda: weigh_evidence(np.full(2, 1.1), bound=0, span=1), "one is 1.1"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, words: str) -> None:
    with pytest.raises(VerdictError, match=words):
        call()
