"""Campaigns played forward in thought."""

from dataclasses import replace
from functools import partial
from math import log, sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from arena.parameters import read_parameters
from arena.ratings.base import BETA
from arena.ratings.counts import PairCounts
from arena.ratings.departures import expect_departures
from arena.ratings.pair_leads import PairLeads
from arena.ratings.settled import settle_ratings
from arena.verdicts import registry
from arena.verdicts.allocations import (
    choose_allocation,
    weigh_checked_order,
    weigh_edge,
    weigh_evenly,
    weigh_order,
)
from arena.verdicts.base import Question, Terms, VerdictError, find_expected_departures
from arena.verdicts.beliefs import Belief, mix_beliefs
from arena.verdicts.evidence import infer_belief
from arena.verdicts.forecast import (
    MAX_AGENTS,
    forecast_change,
    forecast_matches,
    prior_belief,
    round_robin_matches,
)
from arena.verdicts.futures import deciding_information, match_information
from arena.verdicts.lead_states import LeadStates
from arena.verdicts.seed_blocks import SeedBlocks
from arena.verdicts.tests.made import belief_of

BEST, TERMS = registry.get("best"), Terms(0.05, 1.0)
_UNIT = sqrt(2) * BETA


def believe_without_results(question: Question, n_agents: int) -> Belief:
    """Return what a campaign believes of a new field."""
    nobody = np.empty(0, np.int64)
    belief, _ = infer_belief(
        PairCounts.from_rows([]),
        SeedBlocks(nobody, nobody, np.empty((0, 2), np.int64), nobody),
        lambda counts, weight: settle_ratings(counts, n_agents, weight=weight),
        expected_departures=find_expected_departures(question, n_agents, is_checked=True),
    )
    return belief


@pytest.mark.parametrize(
    ("question", "taken"), [("best", (52, 158)), ("top_k", (158, 518)), ("rank_all", (600, 1_460))]
)
def test_a_new_field_of_ten_needs_about_what_campaigns_need(
    question: str, taken: tuple[int, int]
) -> None:
    """taken: in the median by simulated campaigns, in a wide field and in a close one."""
    asked = registry.get(question)
    terms = replace(TERMS, parameters=read_parameters(question, asked.parameters, {}))
    field = believe_without_results(asked, 10)
    forecast = forecast_matches(field, asked, terms, limit=8_000, seed=1)
    assert 0.9 * taken[0] < forecast.matches < taken[1]
    assert forecast.low < 0.9 * forecast.matches < 1.5 * forecast.matches < forecast.high
    assert forecast.decided > 0.6  # in some fields pairs depart so far that no answer holds
    assert forecast.round_robin > 1.2 * forecast.matches


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


def test_an_edge_below_the_agents_that_are_looked_at_is_foreseen() -> None:
    # All of the first 60 were named of course: it said that two matches of each are enough.
    n, k = MAX_AGENTS + 40, MAX_AGENTS + 10
    skills = np.where(np.arange(n) < k - 1, 40.0, 20.0)
    skills[k - 1 : k + 1] = 30.0, 29.6
    close = belief_of(skills, 0.5)
    terms = Terms(0.05, parameters={"k": k})
    forecast = forecast_matches(close, registry.get("top_k"), terms, limit=20_000, seed=1)
    assert forecast.matches > 100
    outlook = forecast_change(close, registry.get("top_k"), terms, seed=1)
    assert 0.6 < outlook.now < outlook.then < 1


def test_who_is_little_known_is_looked_at_however_far_from_the_edge() -> None:
    # Who is next to the edge by rating is as good as sure: nothing but newcomers is in doubt.
    n, k = MAX_AGENTS + 40, 45
    skills, doubts = np.linspace(45, -10, n), np.full(n, 0.3)
    skills[:k] += 3
    newcomers = slice(80, 90)
    skills[newcomers], doubts[newcomers] = 5.0, 25 / 3
    belief = replace(belief_of(skills, 1.0), covariance=np.diag(doubts**2), sd=doubts)
    terms = Terms(0.05, parameters={"k": k})
    outlook = forecast_change(belief, registry.get("top_k"), terms, seed=1)
    assert outlook.now < 0.9
    assert outlook.then > outlook.now + 0.05


def test_two_below_the_agents_that_are_looked_at_are_foreseen() -> None:
    n = MAX_AGENTS + 40
    skills = np.linspace(80, 0, n)
    skills[97:99] = 10.0, 9.0
    belief = belief_of(skills, 0.5)
    beats, terms = registry.get("beats"), Terms(0.05, parameters={"a": 98, "b": 97, "lead": 0.0})
    outlook = forecast_change(belief, beats, terms, seed=1)
    assert abs(outlook.then - beats.guess(belief, terms).probability) < 0.1
    # They meet each other, and few others.
    assert 20 < forecast_matches(belief, beats, terms, limit=100_000, seed=1).matches < 1_000
    assert round_robin_matches(belief, beats, terms, limit=100_000, seed=1) > 1_000


def test_pairs_of_possible_leaders_get_the_matches_of_a_contest() -> None:
    weights = weigh_edge(LeadStates.repeat(belief_of([30.0, 29.0, 15.0], 1.0), 1), 1)[0]
    assert weights[0, 1] > 100 * weights[0, 2]
    assert weights[0, 2] > weights[1, 2]


def test_pairs_across_an_edge_get_the_matches_of_a_top_k() -> None:
    skills = [40.0, 33.0, 30.0, 29.0, 26.0, 15.0]
    weights = weigh_edge(LeadStates.repeat(belief_of(skills, 1.0), 1), 3)[0]
    assert weights[2, 3] == pytest.approx(np.triu(weights, 1).max())
    assert weights[2, 3] > 10 * weights[2, 4] > 10 * weights[1, 4]
    assert weights[1, 3] > weights[0, 3]


def test_who_may_have_learnt_to_beat_just_the_leader_meets_it() -> None:
    belief = replace(
        belief_of([40.0, 20.0, 19.0], 1.0), departures=expect_departures(3), is_checked=True
    )
    for weigh in (partial(weigh_edge, edge=1), weigh_checked_order):
        weights = weigh(LeadStates.repeat(belief, 1))[0]
        plain = weigh(LeadStates.repeat(replace(belief, departures=None), 1))[0]
        assert weights[0, 1] > 0.01 > 100 * plain[0, 1]


def test_two_that_are_asked_about_get_the_matches_of_them() -> None:
    beats, about = registry.get("beats"), Terms(0.05, parameters={"a": 3, "b": 1})
    close = belief_of([25.0] * 5, 1.0)
    weights = np.triu(choose_allocation(close, beats, about)(LeadStates.repeat(close, 1))[0])
    assert weights[1, 3] > 0.9 * weights.sum()
    # Far apart they tell less of each other than those between them do.
    apart = belief_of([25.0, 5.0, 25.0, 45.0, 25.0], 1.0)
    weights = choose_allocation(apart, beats, about)(LeadStates.repeat(apart, 1))[0]
    assert weights[1, 2] > weights[1, 3]


def test_two_among_others_who_play_as_much_are_told_apart_later() -> None:
    """As in a watch, whose newcomer meets all; the campaigns took 80 matches in the median."""
    beats = registry.get("beats")
    field = believe_without_results(beats, 10)
    focused, spread = (
        forecast_matches(field, beats, TERMS, limit=4_000, seed=1, is_about_two=of_two).matches
        for of_two in (True, False)
    )
    assert 5 < focused < 20
    assert 40 < spread < 120
    ahead, late = (
        forecast_change(field, beats, TERMS, seed=1, n_matches=20, is_about_two=of_two)
        for of_two in (True, False)
    )
    assert ahead.verdict > 2 * late.verdict


def test_open_pairs_get_the_matches_of_an_order() -> None:
    states = LeadStates.repeat(belief_of([30.0, 29.0, 15.0], 1.0), 1)
    assert weigh_order(states)[0, 0, 1] > 100 * weigh_order(states)[0, 0, 2]
    assert (weigh_evenly(states) == 1.0).all()


def test_a_match_of_equal_agents_tells_most() -> None:
    information = match_information(np.array([0.0, 5.0, -5.0, 500.0]))
    assert information[0] > information[1] == pytest.approx(information[2])
    assert 0 <= information[3] < 1e-6


def test_a_match_tells_of_who_is_far_ahead_that_it_is_ahead() -> None:
    """Who wins n in turn: of equals one does by a chance of 1/2^n."""
    none, little, far = deciding_information(np.array([0.0, 1.0, -60.0]))
    assert none == pytest.approx(match_information(np.zeros(1))[0], rel=1e-4)
    assert little == pytest.approx(match_information(np.ones(1))[0], rel=0.02)
    n = 10
    assert -n * far * 60**2 / 2 == pytest.approx(log(0.5**n))
    assert far > 1_000 * match_information(np.array([60.0]))[0]


def test_of_a_lead_that_is_asked_a_match_says_how_far_it_is_from_it() -> None:
    """Of 20 when 15 is asked for: who wins 0.99965 of the games, instead of 0.9945."""
    won, asked = ndtr([20 / _UNIT, 15 / _UNIT])
    divergence = won * log(won / asked) + (1 - won) * log((1 - won) / (1 - asked))
    information = deciding_information(np.array([20.0, 15.0, 100.0, -100.0]), 15.0)
    assert information[0] * 5**2 / 2 == pytest.approx(divergence)
    assert information[1] == pytest.approx(match_information(np.array([15.0]))[0], rel=0.01)
    assert np.isfinite(information).all()
    assert (information > 0).all()


@pytest.mark.parametrize("lead", [15.0, -15.0])
def test_a_lead_that_is_asked_takes_more_matches_than_who_is_ahead(lead: float) -> None:
    terms = Terms(0.05, 0.0, {"a": 0, "b": 1, "lead": lead})
    field, beats = belief_of([25 + lead * 4 / 3, 25.0], 5.0, 20), registry.get("beats")
    forecast = forecast_matches(field, beats, terms, limit=100_000, seed=1)
    assert 50 < forecast.matches < 500
    assert round_robin_matches(field, beats, terms, limit=100_000, seed=1) > 50


@pytest.mark.parametrize("n", [0, -5])
def test_nothing_is_foreseen_without_matches(n: int) -> None:
    with pytest.raises(VerdictError, match=f"limit must be 1 or more, got {n}"):
        forecast_matches(prior_belief(3), BEST, TERMS, limit=n, seed=1)
    with pytest.raises(VerdictError, match=f"limit must be 1 or more, got {n}"):
        round_robin_matches(prior_belief(3), BEST, TERMS, limit=n, seed=1)
    with pytest.raises(VerdictError, match=f"n_matches must be 1 or more, got {n}"):
        forecast_change(prior_belief(3), BEST, TERMS, seed=1, n_matches=n)


def _depart(belief: Belief, variance: float) -> Belief:
    """Return the belief if leads of pairs depart from it so far, and none has met."""
    own = np.zeros((belief.n_agents, belief.n_agents))
    return replace(belief, leads=PairLeads(own + 1, own, own + variance), is_checked=True)


def test_leads_of_their_own_take_more_matches() -> None:
    plain = belief_of([30.0, 27.0, 24.0, 20.0], 1.0)
    departing = _depart(plain, 36.0)
    without, with_leads = (
        forecast_matches(belief, BEST, TERMS, limit=40_000, seed=1) for belief in (plain, departing)
    )
    assert without.matches < with_leads.matches
    assert with_leads.decided < without.decided == 1  # nobody may beat all others
    outlook = forecast_change(departing, BEST, TERMS, seed=1)
    assert outlook.now == BEST.guess(departing, TERMS).probability


def test_in_hindsight_leads_were_not_known_either() -> None:
    plain = belief_of([30.0, 20.0, 20.0, 20.0], 0.5)
    departing = _depart(plain, 36.0)
    assert departing.leads is not None
    departing = replace(departing, leads=replace(departing.leads, variance=36 * np.eye(4) + 0.01))
    departing = replace(departing, departures=expect_departures(4))
    needed = [
        round_robin_matches(belief, BEST, TERMS, limit=4_000, seed=1)
        for belief in (plain, departing)
    ]
    assert needed[0] < needed[1] < 4_000


def test_in_hindsight_nobody_knew_how_far_pairs_depart_either() -> None:
    field = believe_without_results(BEST, 4)
    assert field.pair_variances is not None
    is_ranking = np.arange(len(field.pair_variances.values)) == 0
    sure = field.pair_variances._replace(now=is_ranking.astype(np.float64))
    ranking = _depart(belief_of([45.0, 20.0, 20.0, 20.0], 0.5), sure.mean)
    needed = [
        round_robin_matches(
            replace(ranking, pair_variances=variances), BEST, TERMS, limit=4_000, seed=1
        )
        for variances in (sure._replace(before=sure.now), sure)
    ]
    assert needed[0] < needed[1] < 4_000


def test_a_walk_that_is_not_foretold_stays_in_doubt() -> None:
    steady, walked = belief_of([30.0, 27.0, 24.0], 1.0), belief_of([30.0, 29.5, 24.0], 2.0)
    mixed = mix_beliefs(steady, walked, 0.2)
    outlook = forecast_change(mixed, BEST, TERMS, seed=1)
    alone = forecast_change(steady, BEST, TERMS, seed=1)
    assert outlook.now == BEST.guess(mixed, TERMS).probability < alone.now
    assert outlook.then - outlook.now == pytest.approx(alone.then - alone.now)
    # Where the likelier belief is the less sure one, it is no surer than sure.
    doubtful = mix_beliefs(walked, belief_of([90.0, 27.0, 24.0], 0.1), 0.4)
    assert forecast_change(doubtful, BEST, TERMS, seed=1, n_matches=100_000).then == 1.0
