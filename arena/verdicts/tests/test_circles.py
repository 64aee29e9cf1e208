"""Agents that beat each other in a circle: which circle is in the way of which answer."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from arena.ratings import pair_leads
from arena.ratings.counts import Floats, count_results
from arena.ratings.departures import Departures
from arena.ratings.pair_leads import PairLeads, infer_pair_leads
from arena.ratings.pair_variance import NO_PAIR_VARIANCE
from arena.ratings.settled import settle_ratings
from arena.verdicts import evidence
from arena.verdicts import registry as questions
from arena.verdicts.base import StopReason, Terms
from arena.verdicts.beliefs import Belief
from arena.verdicts.circles import (
    MOST_AGENTS,
    MOST_IN_CIRCLE,
    doubt_beaten,
    doubt_circle,
    doubt_some_circle,
    find_blocking,
    group_by_circles,
)
from arena.verdicts.refusals import except_upsets, refuse_first
from arena.verdicts.tests.made import belief_of
from arena.verdicts.words import name_upsets

GROUPS = [np.array([3]), np.array([0, 1, 2]), np.array([4])]


@pytest.mark.parametrize(
    ("n_named", "is_blocked"), [(1, False), (2, True), (3, True), (4, False), (5, False)]
)
def test_an_answer_is_blocked_by_the_circle_at_which_it_ends(
    n_named: int, is_blocked: bool
) -> None:
    assert find_blocking(GROUPS, n_named) is (GROUPS[1] if is_blocked else None)


def make_circle(lead: float, sd: float, n: int = 5) -> Belief:
    """Return a belief in which each of the first three leads the next one, and nobody else."""
    own: Floats = np.zeros((n, n))
    for one, other in ((0, 1), (1, 2), (2, 0)):
        own[one, other], own[other, one] = lead, -lead
    belief = belief_of([30.0, 30.0, 30.0, *np.linspace(0, 5, n - 3)], 0.01)
    return replace(belief, leads=PairLeads(np.ones((n, n)), own, np.full((n, n), sd**2)))


def test_equal_agents_stand_in_their_order() -> None:
    # By the processor's own way to sort, the last were named first.
    n = 12
    leads = PairLeads(np.ones((n, n)), np.zeros((n, n)), np.ones((n, n)))
    equal = replace(belief_of([25.0] * (n - 1) + [26.0], 1.0), leads=leads)
    assert np.concatenate(group_by_circles(equal)).tolist() == [n - 1, *range(n - 1)]


def test_a_circle_is_as_doubtful_as_its_edges_together() -> None:
    sure = doubt_circle(make_circle(3.0, 1.0), np.array([0, 1, 2]), 0.0)
    assert sure == pytest.approx(3 * 0.00135, rel=0.02)
    assert doubt_circle(make_circle(3.0, 1.0), np.arange(MOST_IN_CIRCLE + 1), 0.0) == 1.0


def test_that_there_is_some_circle_is_as_doubtful_as_the_surest() -> None:
    circle = make_circle(3.0, 1.0, n=12)
    assert doubt_some_circle(circle, 0.0) == pytest.approx(3 * 0.00135, rel=0.02)
    assert doubt_some_circle(circle, 3.0) == 1.0
    assert doubt_some_circle(make_circle(30.0, 0.1), 0.0) == pytest.approx(0, abs=1e-5)
    assert doubt_some_circle(belief_of([30.0, 20.0, 10.0], 0.1), 0.0) == 1.0


def test_nobody_is_the_best_where_each_is_beaten_by_one_of_them_however_many_they_are() -> None:
    everybody = np.arange(12)
    # Those behind are beaten by the first three, and these by one another.
    doubt = doubt_beaten(make_circle(3.0, 1.0, n=12), everybody, 0.0)
    assert doubt == pytest.approx(3 * 0.00135, rel=0.02)
    assert doubt_beaten(belief_of([30.0, 20.0, 10.0], 0.1), np.arange(3), 0.0) == 1.0
    # Of a group, those outside of it tell nothing.
    assert doubt_beaten(make_circle(3.0, 1.0), np.array([0, 1]), 0.0) == 1.0


@pytest.mark.parametrize(
    ("mu", "question", "is_refused"),
    [
        ([30.0, 30.0, 30.0, 29.5, 0.0], "best", False),
        ([30.0, 30.0, 30.0, 28.0, 0.0], "best", True),
        ([30.0, 30.0, 30.0, 29.5, 29.5], "top_k", False),
        ([30.0, 30.0, 30.0, 28.0, 28.0], "top_k", True),
    ],
)
def test_who_is_within_the_margin_of_a_circle_may_be_named_instead(
    mu: list[float], question: str, is_refused: bool
) -> None:
    near = replace(make_circle(5.0, 0.05), mu=np.array(mu))
    parameters = {"k": 2} if question == "top_k" else {}
    verdict = questions.get(question).judge(near, Terms(0.05, 1.0, parameters))
    assert (verdict is not None and verdict.why is StopReason.NO_ORDER) is is_refused


def test_of_no_best_and_no_first_few_all_of_the_circle_are_named() -> None:
    statements = []
    for question, parameters in (("best", {}), ("top_k", {"k": 2})):
        terms = Terms(0.05, 1.0, parameters)
        verdict = questions.get(question).judge(make_circle(5.0, 0.05), terms)
        assert verdict is not None
        statements.append(verdict.format_statement(list("abc")))
    assert statements == [
        "there is no such order: each of a, b and c is beaten by another of them",
        "there is no such order: a, b and c beat each other in a circle",
    ]


def test_of_no_best_all_of_the_circle_must_have_played() -> None:
    fresh = replace(make_circle(5.0, 0.05), n_matches=np.array([100, 0, 100, 100, 100]))
    assert questions.get("best").judge(fresh, Terms(0.05, 1.0)) is None


def test_who_learnt_to_beat_the_best_alone_leaves_nobody_the_best() -> None:
    belief = belief_of(np.linspace(40, 0, 10), 0.01)
    own = np.zeros((10, 10))
    own[9, 0], own[0, 9] = 48.0, -48.0
    leads = PairLeads(np.ones((10, 10)), own, np.full((10, 10), 0.1))
    verdict = questions.get("best").judge(replace(belief, leads=leads), Terms(0.05, 1.0))
    assert verdict is not None
    assert verdict.why is StopReason.NO_ORDER
    assert verdict.subjects == tuple(range(10))


def test_who_beats_the_next_before_it_stands_before_it() -> None:
    circle = make_circle(3.0, 1.0)
    assert circle.leads is not None
    # By the ratings 0, 1 and 2 are equal, and so they stand as each beats the next.
    assert group_by_circles(circle)[0].tolist() == [0, 1, 2]
    turned = replace(circle, leads=replace(circle.leads, own=-circle.leads.own))
    assert group_by_circles(turned)[0].tolist() == [1, 0, 2]


def test_of_no_order_it_is_said_who_beats_whom_before_it() -> None:
    verdict = questions.get("rank_all").judge(make_circle(5.0, 1.0), Terms(0.05, 1.0))
    assert verdict is not None
    assert verdict.why is StopReason.NO_ORDER
    assert verdict.subjects == (0, 1, 2, 4, 3)
    assert verdict.upsets == ((2, 0),)
    assert verdict.steps == pytest.approx([1, 1, 1, 0.999], abs=0.001)
    statement = verdict.format_statement(list("abced"))
    expected = "there is no order of all: c beats a; all other pairs are as in a > b > c > d > e"
    assert statement == f"{expected} (up to the margin)"
    exact = questions.get("rank_all").judge(make_circle(5.0, 1.0), Terms(0.05))
    assert exact is not None
    assert exact.format_statement(list("abced")) == expected


def test_of_no_order_all_must_have_played_and_nobody_have_learnt_to_beat_just_one() -> None:
    circle, terms = make_circle(5.0, 1.0), Terms(0.05, 1.0)
    rank_all = questions.get("rank_all")
    fresh = replace(circle, n_matches=np.array([100, 100, 100, 100, 0]))
    assert rank_all.judge(fresh, terms) is None
    chance = np.full((5, 5), 0.02)
    departures = Departures(chance, np.zeros((5, 5)), np.full((5, 5), 25.0))
    doubted = replace(circle, departures=departures)
    assert rank_all.judge(doubted, terms) is not None
    assert rank_all.judge(replace(doubted, is_checked=True), terms) is None


def test_a_pair_within_the_margin_does_not_hold_up_that_there_is_no_order() -> None:
    mu = np.array([30.0, 30.0, 30.0, 5.0, 4.9])
    near = replace(make_circle(5.0, 0.1), mu=mu)
    verdict = questions.get("rank_all").judge(near, Terms(0.05, 1.0))
    assert verdict is not None
    assert questions.get("rank_all").judge(near, Terms(0.05)) is None


def test_a_ranking_is_judged_as_strictly_as_if_pairs_did_not_depart() -> None:
    gap = -norm.ppf(0.042) * np.sqrt(2)  # between the shares of 0.05 for five agents
    belief = belief_of([gap, 0.0, -100.0, -200.0, -300.0], 1.0)
    leads = PairLeads(np.ones((5, 5)), np.zeros((5, 5)), np.zeros((5, 5)))
    with_leads = replace(belief, leads=leads)
    assert questions.get("rank_all").judge(with_leads, Terms(0.05)) is None
    assert questions.get("best").judge(with_leads, Terms(0.05)) is not None


def test_circles_of_large_fields_are_not_looked_for() -> None:
    circle = make_circle(5.0, 1.0, n=MOST_AGENTS + 1)
    large = replace(circle, mu=np.array([30.0, 30.0, 30.0, *-30.0 * np.arange(MOST_AGENTS - 2)]))
    assert except_upsets(large.restrict_to(np.arange(MOST_AGENTS)), 1.0, 0.1, 0.0) is not None
    assert except_upsets(large, 1.0, 0.1, 0.0) is None


def test_of_many_such_pairs_some_are_named() -> None:
    upsets = [(n, 0) for n in range(1, 16)]
    statement = name_upsets(range(16), upsets)
    assert statement.count("beats") == 12
    assert (
        "{12} beats {0}, 3 more go the other way round; all other pairs are as in {0}" in statement
    )


def test_where_another_order_may_fit_it_is_not_said_that_there_is_none() -> None:
    # The last of three beats the first; both are as good as the one between, within the margin.
    circle = make_circle(5.0, 0.1)
    assert circle.leads is not None
    own = circle.leads.own.copy()
    own[0, 1] = own[1, 2] = 0.5
    own[1, 0] = own[2, 1] = -0.5
    near = replace(circle, leads=replace(circle.leads, own=own))
    verdict = questions.get("rank_all").judge(near, Terms(0.05, 1.0))
    assert verdict is None or verdict.why is not StopReason.NO_ORDER


def test_who_is_not_sure_of_the_rest_does_not_name_a_circle() -> None:
    circle = make_circle(5.0, 1.0)
    # The circle is as sure as before, but two others are as good as equal now.
    mu = np.array([30.0, 30.0, 30.0, 0.0, 0.1])
    unsure = replace(circle, mu=mu, covariance=np.diag([1e-4, 1e-4, 1e-4, 9.0, 9.0]))
    assert questions.get("rank_all").judge(unsure, Terms(0.05, 0.01)) is None


def test_evidence_of_a_pair_goes_by_its_own_lead() -> None:
    circle = make_circle(5.0, 1.0)
    assert circle.weight_of_evidence(0, 1) > 5
    assert circle.weight_of_evidence(0, 2) > 5
    alone = replace(circle, leads=None)
    assert alone.weight_of_evidence(0, 1) < 1
    pair = np.array([0]), np.array([3])
    assert alone.sample_leads(*pair).mean() == pytest.approx(30, abs=0.1)


def test_pairs_of_large_fields_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_results([(0, 1, 1), (1, 2, 1), (2, 0, 1)] * 40)
    settled = settle_ratings(counts, 3)
    assert evidence._estimate_pairs(counts, settled, 1.0).variance > 0
    monkeypatch.setattr(evidence, "MOST_FOLLOWED", 2)
    assert evidence._estimate_pairs(counts, settled, 1.0) is NO_PAIR_VARIANCE


def test_leads_that_are_still_on_their_way_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_results([(0, 1, 1)] * 30 + [(1, 2, 1), (2, 0, 1), (1, 0, 1)])
    settled = settle_ratings(counts, 3)
    gaps = settled.mu[:, None] - settled.mu
    leads = infer_pair_leads(counts, gaps, pair_variance=9.0, draw_probability=0.1)
    monkeypatch.setattr(pair_leads, "_N_STEPS", 3)
    near = infer_pair_leads(counts, gaps, pair_variance=9.0, draw_probability=0.1)
    np.testing.assert_allclose(near.own, leads.own, atol=0.2)


def test_draws_of_a_pair_hold_its_lead_near_nothing() -> None:
    gaps = np.array([[0.0, 6.0], [-6.0, 0.0]])
    leads, variances = list[float](), list[float]()
    for n_drawn in (0, 4, 400):
        counts = count_results([(0, 1, 0), (1, 0, 0)] * n_drawn)
        pair = infer_pair_leads(counts, gaps, pair_variance=9.0, draw_probability=0.3)
        leads.append(float(pair.share[0, 1] * 6.0 + pair.own[0, 1]))
        variances.append(float(pair.variance[0, 1]))
    assert leads[0] == pytest.approx(6.0)
    assert 0 < leads[2] < 1 < leads[1] < 5
    assert variances == sorted(variances, reverse=True)


def test_who_is_the_best_goes_by_leads_as_verdicts_do() -> None:
    circle = make_circle(5.0, 1.0)
    assert circle.chances_of_best().sum() < 0.01
    own = np.zeros((5, 5))
    for other in (1, 2):
        own[0, other], own[other, 0] = 3.0, -3.0
    leader = make_circle(0.0, 1.0)
    assert leader.leads is not None
    ahead = replace(leader, leads=replace(leader.leads, own=own))
    assert ahead.chances_of_best()[0] > 0.99
    assert replace(ahead, leads=None).chances_of_best()[0] < 0.5


def test_no_sample_is_drawn_of_an_order_with_a_pair_in_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A forecast of 62 agents took half a minute of samples.
    sure = make_circle(3.0, 0.3, n=12)
    close = replace(sure, mu=np.array([30.0, 30, 30, *np.linspace(0, 24, 8), 24.1]))
    monkeypatch.setattr(Belief, "sample_leads", lambda *_: pytest.fail("drawn"))
    assert doubt_some_circle(close, 0.0) < 0.05
    assert except_upsets(close, 0.0, 0.05, 0.0) is None


def test_a_circle_whose_edges_are_each_sure_enough_may_be_doubtful_altogether() -> None:
    doubt_of_edge = 0.03
    belief = make_circle(float(-norm.ppf(doubt_of_edge)), 1.0)
    assert doubt_some_circle(belief, 0.0) == pytest.approx(3 * doubt_of_edge, rel=0.05)
    for error, is_sure in ((0.05, False), (0.2, True)):
        assert (except_upsets(belief, 0.0, error, 0.0) is not None) is is_sure
        assert (refuse_first(belief, 2, 0.0, error) is not None) is is_sure


def test_a_sure_circle_is_not_enough_where_all_other_pairs_are_in_doubt_together() -> None:
    belief = make_circle(2.4, 1.0, n=7)
    assert doubt_some_circle(belief, 0.0) < 0.05
    assert except_upsets(belief, 0.0, 0.05, 0.0) is None
    assert except_upsets(belief, 0.0, 0.3, 0.0) is not None
