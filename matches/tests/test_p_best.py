"""How probably each agent is the best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.settled import FittedTerms, count_results, settle_ratings
from arena.verdicts.beliefs import form_belief
from matches.ratings import p_best

ratings = st.lists(
    st.tuples(st.floats(-100, 100), st.floats(0.05, 20)),
    min_size=1,
    max_size=12,
)


def test_equals_share_it() -> None:
    assert p_best.compute_p_best([25.0] * 4, [2.0] * 4) == pytest.approx([0.25] * 4, abs=1e-6)


def test_of_two_it_is_what_a_comparison_says() -> None:
    assert p_best.compute_p_best([26.0, 25.0], [1.0, 1.0])[0] == pytest.approx(0.7602, abs=1e-3)


def test_one_alone_is_the_best_and_none_is_none() -> None:
    assert p_best.compute_p_best([3.0], [0.5]).tolist() == [1.0]
    assert p_best.compute_p_best([], []).tolist() == []


def test_who_is_far_below_has_no_chance() -> None:
    assert p_best.compute_p_best([40.0, 10.0], [0.5, 0.5]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_many_draws_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mu, sd = rng.normal(25, 5, 200), np.exp(rng.uniform(np.log(0.1), np.log(8.3), 200))
    draws = rng.normal(mu, sd, (20_000, 200)).argmax(axis=1)
    drawn = np.bincount(draws, minlength=200) / 20_000
    assert p_best.compute_p_best(mu, sd) == pytest.approx(drawn, abs=0.012)


def test_a_sure_one_among_doubtful_ones_is_integrated_too() -> None:
    mu, sd = np.full(200, 25.0), np.full(200, 8.0)
    mu[0], sd[0] = 48.0, 0.05
    worse = float(np.prod(np.full(199, 0.99797)))  # P(25 + 8 z < 48)
    assert p_best.compute_p_best(mu, sd)[0] == pytest.approx(worse, abs=0.01)


def test_a_campaign_is_surer_of_two_that_met_often() -> None:
    wins = [(0, 2, 1), (1, 2, 1), (2, 0, -1), (2, 1, -1)]
    met_often = [(0, 1, 1), (1, 0, -1)] * 70 + [(0, 1, -1), (1, 0, 1)] * 50
    counts = count_results(np.array(wins + met_often, np.int64))
    settled = settle_ratings(counts, 3, terms=FittedTerms(seat=True))
    # Where the two lie in the field is as doubtful as before, which of them is better is not.
    on_the_page = p_best.compute_p_best(settled.mu, settled.sd)[0]
    assert form_belief(settled, counts).chances_of_best()[0] > on_the_page + 0.1


@given(ratings)
def test_they_add_up_to_one_and_who_is_stronger_is_not_less_probable(
    rated: list[tuple[float, float]],
) -> None:
    mu, sd = zip(*rated, strict=True)
    chances = p_best.compute_p_best(mu, [1.0] * len(sd))
    assert float(chances.sum()) == pytest.approx(1)
    order = np.argsort(mu, kind="stable")
    assert (np.diff(chances[order]) >= -1e-6).all()
    assert float(p_best.compute_p_best(mu, sd).sum()) == pytest.approx(1)
