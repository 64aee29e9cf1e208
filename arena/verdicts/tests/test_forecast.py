"""Campaigns played forward in thought."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.pair_leads import PairLeads
from arena.verdicts import registry
from arena.verdicts.base import Terms, VerdictError
from arena.verdicts.forecast import (
    MAX_AGENTS,
    BeliefState,
    forecast_change,
    forecast_matches,
    match_information,
    prior_belief,
    round_robin_matches,
    weigh_best,
    weigh_evenly,
    weigh_order,
)
from arena.verdicts.tests.made import belief_of

BEST, TERMS = registry.get("best"), Terms(0.05, 1.0)


def test_a_new_field_of_ten_needs_about_what_campaigns_need() -> None:
    forecast = forecast_matches(prior_belief(10), BEST, TERMS, limit=4_000, seed=1)
    assert 30 < forecast.matches < 150  # simulated campaigns: 52 in the median
    assert forecast.low <= forecast.matches <= forecast.high
    assert forecast.decided == 1.0
    assert forecast.round_robin > 1.5 * forecast.matches


def test_a_clear_field_needs_little_more() -> None:
    clear = belief_of([35.0, 25.0, 24.0], 0.5)
    forecast = forecast_matches(clear, BEST, TERMS, limit=4_000, seed=1)
    assert forecast.matches < 100


def test_where_much_is_known_few_more_matches_are_told_apart_from_many() -> None:
    # A first look after a quarter of what is known had all cases end there: 396 (396 to 396).
    belief = replace(belief_of([26.8, 25.9, 20, 20], 0.4), n_matches=np.full(4, 1_584))
    terms = Terms(0.05)
    forecast = forecast_matches(belief, BEST, terms, limit=100_000, seed=1)
    within_100 = forecast_change(belief, BEST, terms, seed=1, n_matches=100).verdict
    assert 0.3 < within_100 < 0.9
    assert forecast.low < 100
    assert forecast.low < forecast.matches < forecast.high


def test_in_hindsight_a_round_robin_starts_from_nothing() -> None:
    clear = replace(prior_belief(6), mu=np.array([40.0, 20, 20, 20, 20, 20]), sd=np.full(6, 0.5))
    clear = replace(clear, covariance=np.diag(clear.sd**2), n_matches=np.full(6, 500))
    n_matches = round_robin_matches(clear, BEST, TERMS, limit=4_000, seed=1)
    assert BEST.judge(clear, TERMS) is not None
    assert 12 <= n_matches < 400  # two matches of each agent are the least


def test_a_smaller_error_takes_longer() -> None:
    belief = belief_of([26.0, 25.0, 24.0], 1.5)
    loose, strict = (
        forecast_matches(belief, BEST, Terms(error, 1.0), limit=4_000, seed=1).matches
        for error in (0.1, 0.001)
    )
    assert loose < strict


def test_the_limit_ends_what_is_not_decided() -> None:
    equal = belief_of([25.0, 25.0], 1.0)
    forecast = forecast_matches(equal, BEST, Terms(0.01), limit=20, seed=1)
    assert forecast.matches == 20
    assert forecast.decided < 1.0


def test_the_same_seed_foresees_the_same() -> None:
    belief = belief_of([26.0, 25.0, 24.0], 1.5)
    one, two = (forecast_matches(belief, BEST, TERMS, limit=400, seed=7) for _ in range(2))
    assert one == two


def test_more_matches_make_it_surer() -> None:
    belief = belief_of([26.0, 25.0, 24.5], 1.5)
    some, many = (forecast_change(belief, BEST, TERMS, seed=1, n_matches=n) for n in (20, 2_000))
    assert some.now == many.now < some.then < many.then
    assert 0 <= some.verdict <= many.verdict <= 1


def test_questions_about_the_order_are_foreseen_too() -> None:
    forecast = forecast_matches(
        prior_belief(6), registry.get("rank_pairs"), TERMS, limit=4_000, seed=1
    )
    assert 10 < forecast.matches < forecast.round_robin


def test_an_order_that_is_as_good_as_sure_is_foreseen() -> None:
    sure = belief_of([40.0, 10.0, -20.0], 0.05)
    with np.errstate(invalid="raise"):
        forecast = forecast_matches(sure, registry.get("rank_all"), TERMS, limit=400, seed=1)
    assert forecast.decided == 1.0


def test_of_a_large_field_the_top_is_looked_at() -> None:
    n = MAX_AGENTS + 20
    large = replace(belief_of(np.linspace(0, 80, n), 0.5), covariance=None)
    forecast = forecast_matches(large, BEST, TERMS, limit=2_000, seed=1)
    assert forecast.matches < 2_000


def test_pairs_of_possible_leaders_get_the_matches_of_a_contest() -> None:
    belief = belief_of([30.0, 29.0, 15.0], 1.0)
    weights = weigh_best(BeliefState(belief.mu[None], np.eye(3)[None]))[0]
    assert weights[0, 1] > 100 * weights[0, 2]
    assert weights[0, 2] > weights[1, 2]


def test_open_pairs_get_the_matches_of_an_order() -> None:
    state = BeliefState(np.array([[30.0, 29.0, 15.0]]), np.eye(3)[None])
    assert weigh_order(state)[0, 0, 1] > 100 * weigh_order(state)[0, 0, 2]
    assert (weigh_evenly(state) == 1.0).all()


def test_a_match_of_equal_agents_tells_most() -> None:
    information = match_information(np.array([0.0, 5.0, -5.0, 500.0]))
    assert information[0] > information[1] == pytest.approx(information[2])
    assert 0 <= information[3] < 1e-6


@pytest.mark.parametrize("n", [0, -5])
def test_nothing_is_foreseen_without_matches(n: int) -> None:
    with pytest.raises(VerdictError, match=f"limit must be 1 or more, got {n}"):
        forecast_matches(prior_belief(3), BEST, TERMS, limit=n, seed=1)
    with pytest.raises(VerdictError, match=f"limit must be 1 or more, got {n}"):
        round_robin_matches(prior_belief(3), BEST, TERMS, limit=n, seed=1)
    with pytest.raises(VerdictError, match=f"n_matches must be 1 or more, got {n}"):
        forecast_change(prior_belief(3), BEST, TERMS, seed=1, n_matches=n)


def test_what_is_now_and_what_will_be_are_told_by_the_same_belief() -> None:
    belief = belief_of([30.0, 27.0, 24.0, 20.0], 1.0)
    n = belief.n_agents
    departing = PairLeads(np.full((n, n), 0.5), np.zeros((n, n)), np.full((n, n), 9.0))
    doubted = replace(belief, leads=departing)
    outlook = forecast_change(doubted, BEST, TERMS, seed=1, n_matches=1)
    assert outlook == forecast_change(belief, BEST, TERMS, seed=1, n_matches=1)
    assert abs(outlook.then - outlook.now) < 0.05
