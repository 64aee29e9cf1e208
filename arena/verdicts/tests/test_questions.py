"""What the questions say, and what they refuse."""

from dataclasses import replace
from itertools import product
from math import sqrt

import numpy as np
import pytest
from scipy.stats import norm

from arena.ratings.counts import count_results
from arena.ratings.pair_leads import PairLeads
from arena.ratings.settled import settle_ratings
from arena.verdicts import registry
from arena.verdicts.base import StopReason, Terms, VerdictError
from arena.verdicts.beliefs import LEAST_SPREAD, N_TOP, form_belief, mix_beliefs
from arena.verdicts.claims import Claim, claim_probability, is_sure
from arena.verdicts.tests.made import belief_of
from arena.verdicts.words import list_places

NAMES = ("Ann", "Bob", "Cid", "Dee")
CLEAR = belief_of([30.0, 20.0, 25.0, 15.0], 0.5)


def format_answer(name: str, **parameters: int | float) -> str:
    verdict = registry.get(name).judge(CLEAR, Terms(parameters=parameters))
    assert verdict is not None
    return verdict.format_statement(NAMES)


def test_the_verdict_names_the_agents() -> None:
    assert format_answer("best") == "Ann is the best"
    assert format_answer("top_k", k=2) == "Ann and Cid are the best 2"
    assert format_answer("top_k", k=3) == "Ann, Cid and Bob are the best 3"
    assert format_answer("rank_all") == "Ann > Cid > Bob > Dee"
    assert format_answer("rank_pairs") == "Ann > Cid > Bob > Dee, right in 100.0% of the pairs"
    assert format_answer("beats", a=0, b=3, lead=5.0) == "Ann beats Dee by more than 5"
    assert format_answer("beats", a=3, b=0) == "Dee does not beat Ann by more than 0"


def test_names_with_braces_are_said_as_they_are() -> None:
    verdict = registry.get("best").guess(CLEAR, Terms())
    assert verdict.format_statement(["{0}", "", "", ""]) == "{0} is the best"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("best", "Ann is the best, or worse than the best by no more than the margin"),
        ("rank_all", "Ann > Bob > Cid, up to the margin"),
        ("beats", "Ann beats Bob by 0, give or take the margin"),
    ],
)
def test_equal_agents_are_said_to_be_near(name: str, near: str) -> None:
    equal = belief_of([25.0, 25.0, 25.0], 0.1)
    verdict = registry.get(name).judge(equal, Terms(margin=1.0))
    assert verdict is not None
    assert verdict.why is StopReason.WITHIN_MARGIN
    assert verdict.format_statement(NAMES) == near


@pytest.mark.parametrize("name", ["best", "top_k", "rank_all", "rank_pairs", "beats"])
@pytest.mark.parametrize("gap", [0.0, 10.0])
def test_a_question_is_open_while_something_else_may_be_true(name: str, gap: float) -> None:
    clear, other = belief_of([30.0, 20.0], 0.1), belief_of([20.0, 20.0 + gap], 0.1)
    question, terms = registry.get(name), Terms(0.05, parameters={"k": 1})
    assert question.judge(clear, terms) is not None
    mixed = mix_beliefs(clear, other, 0.3)
    assert question.judge(mixed, terms) is None
    assert question.guess(mixed, terms).probability < 0.95


@pytest.mark.parametrize("name", ["best", "top_k", "rank_all", "rank_pairs", "beats"])
def test_the_likeliest_answer_is_that_of_all_that_may_be_true(name: str) -> None:
    # The likelier belief hardly tells the two apart, the other one is sure.
    mixed = mix_beliefs(belief_of([20.3, 20.0], 1.0), belief_of([20.0, 30.0], 0.1), 0.45)
    guess = registry.get(name).guess(mixed, Terms(0.05, parameters={"k": 1}))
    assert guess.probability > 0.5
    assert mixed.chances_of_best().argmax() == 1
    assert guess.subjects[0] == (0 if name == "beats" else 1)


def test_beats_is_open_near_its_lead() -> None:
    question = registry.get("beats")
    assert question.judge(belief_of([25.0, 25.0], 1.0), Terms(margin=0.5)) is None


@pytest.mark.parametrize("gap", [1.0, -1.0])
def test_beats_is_open_beyond_its_margin_until_it_is_sure(gap: float) -> None:
    question, terms = registry.get("beats"), Terms(margin=0.5)
    assert question.judge(belief_of([25.0 + gap, 25.0], 0.3), terms) is None
    verdict = question.judge(belief_of([25.0 + gap, 25.0], 0.2), terms)
    assert verdict is not None
    assert verdict.why is StopReason.DECIDED


def test_beats_ends_near_its_lead_where_who_is_ahead_is_sure_by_the_likelier_belief_only() -> None:
    question, terms = registry.get("beats"), Terms(0.05, margin=3.0)
    mixed = mix_beliefs(belief_of([21.0, 20.0], 0.15), belief_of([21.0, 20.0], 0.7), 0.4)
    assert question.judge(mixed, Terms(0.05)) is None
    verdict = question.judge(mixed, terms)
    assert verdict is not None
    assert verdict.why is StopReason.WITHIN_MARGIN
    far = mix_beliefs(belief_of([28.0, 20.0], 0.15), belief_of([20.0, 20.0], 0.7), 0.4)
    assert question.judge(far, terms) is None


def test_beats_asks_nothing_of_the_others() -> None:
    few = replace(CLEAR, n_matches=np.array([4, 4, 0, 0]))
    assert registry.get("beats").judge(few, Terms()) is not None
    assert registry.get("beats").judge(few, Terms(parameters={"a": 0, "b": 2})) is None


def test_a_small_field_is_judged_more_strictly() -> None:
    gap = 1.8 * np.sqrt(2)  # surely above in 96.4 %
    small = belief_of([25.0 + gap, 25.0], 1.0)
    large = belief_of([25.0 + gap, 25.0, *[-100.0] * 18], 1.0)
    question = registry.get("best")
    assert question.judge(small, Terms(0.05)) is None
    assert question.judge(small, Terms(0.08)) is not None
    assert question.judge(large, Terms(0.05)) is not None


@pytest.mark.no_cover
@pytest.mark.parametrize(("margin", "bound"), [(0.0, 0.0), (0.0, 1.5), (1.5, 1.5)])
def test_two_agents_a_bound_apart_are_misjudged_no_more_often_than_stated(
    margin: float, bound: float
) -> None:
    n, n_looks, per_look, sd, rng = 400, 120, 6, 7.4, np.random.default_rng(7)
    question, terms = registry.get("beats"), Terms(0.05, margin, {"lead": bound - margin})
    n_wrong = 0
    for results in rng.normal(bound, sd, (n, n_looks * per_look)).cumsum(axis=1):
        for n_played in range(per_look, n_looks * per_look, per_look):
            variance = 1 / (n_played / sd**2 + 1 / (2 * LEAST_SPREAD**2))
            gap = results[n_played - 1] / sd**2 * variance
            verdict = question.judge(belief_of([25.0 + gap, 25.0], sqrt(variance / 2)), terms)
            if verdict is not None:
                # The gap is the bound: neither more than that, nor less than the margin about it.
                is_denied = "not" in verdict.statement
                n_wrong += verdict.why is StopReason.WITHIN_MARGIN if margin else not is_denied
                break
    assert 0 < n_wrong <= 0.05 * n
    by_posterior = rng.normal(0, 1, (n, n_looks)).cumsum(axis=1) / np.sqrt(1 + np.arange(n_looks))
    assert (by_posterior > norm.ppf(0.95)).any(axis=1).mean() > 0.15, "how it was"


def test_forty_wins_without_a_loss_decide() -> None:
    counts = count_results([(0, 1, 1)] * 20 + [(1, 0, -1)] * 20)
    verdict = registry.get("beats").judge(
        form_belief(settle_ratings(counts, 2), counts), Terms(0.01)
    )
    assert verdict is not None
    assert verdict.why is StopReason.DECIDED


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0, 4), (4, 0)])
def test_beats_needs_two_agents_of_the_field(a: int, b: int) -> None:
    with pytest.raises(VerdictError, match=f"a and b must be two of 0..3, got {a} and {b}"):
        registry.get("beats").check(Terms(parameters={"a": a, "b": b}), 4)


@pytest.mark.parametrize("k", [0, 4, 5])
def test_the_top_is_a_part_of_the_field(k: int) -> None:
    with pytest.raises(VerdictError, match=f"k must be from 1 to below the 4 agents, got {k}"):
        registry.get("top_k").check(Terms(parameters={"k": k}), 4)


def test_an_order_of_a_large_field_cannot_be_asked() -> None:
    with pytest.raises(VerdictError, match=f"rank_all can be asked of {N_TOP} agents"):
        registry.get("rank_all").check(Terms(), N_TOP + 1)


def test_the_best_of_a_large_field_is_found_among_its_top() -> None:
    n = N_TOP + 60
    large = replace(belief_of(np.linspace(0, 260, n), 0.1), covariance=None)
    verdict = registry.get("best").judge(large, Terms())
    assert verdict is not None
    assert verdict.subjects == (n - 1,)


def test_who_may_be_the_best_by_either_belief_is_among_the_top_of_a_large_field() -> None:
    n = N_TOP + 1
    clear = belief_of(np.append(np.full(n - 1, 20.0), 10.0), 0.1)
    clear.mu[0] = 30.0
    other = belief_of(np.append(clear.mu[:-1], 40.0), 0.1)
    mixed = mix_beliefs(clear, other, 0.3)
    assert n - 1 in mixed.top
    assert registry.get("best").judge(mixed, Terms(0.05)) is None
    assert registry.get("best").guess(mixed, Terms(0.05)).probability == pytest.approx(0.7)


def test_the_share_of_pairs_does_not_depend_on_how_it_is_added_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    belief, question = belief_of([30.0, 29.0, 28.5, 25.0], 1.0), registry.get("rank_pairs")
    at_once = question.guess(belief, Terms(margin=0.3))
    monkeypatch.setattr("arena.verdicts.catalog.rank_pairs.N_TOP", 3)
    by_row = question.guess(belief, Terms(margin=0.3))
    assert by_row.probability == pytest.approx(at_once.probability, abs=1e-12)


def test_names_are_listed_as_in_speech() -> None:
    assert [list_places(n) for n in (1, 2, 3)] == ["{}", "{} and {}", "{}, {} and {}"]


def test_a_claim_about_two_is_as_sure_as_the_formula_says() -> None:
    belief = belief_of([26.0, 25.0], 1.0)
    claim = Claim(np.array([0, 1]), (1, 1), 0.5)
    assert claim_probability(belief, claim) == pytest.approx(norm.cdf(1.5 / np.sqrt(2)), abs=0.01)


@pytest.mark.parametrize("has_leads", [False, True])
def test_a_verdict_is_as_sure_as_it_is_asked_to_be(*, has_leads: bool) -> None:
    """Whatever the samples say where the sum of the doubts has decided."""
    square = np.ones((2, 2))
    leads = PairLeads(square, 0 * square, 0.1 * square) if has_leads else None
    for best, gap in product((0, 1), np.linspace(1.5, 4, 20)):
        ratings = np.where(np.arange(2) == best, gap, 0.0)
        belief = replace(belief_of(ratings, 1.0), leads=leads)
        doubt = float(1 - belief.superiority(np.array([best]), np.array([1 - best]))[0])
        terms = Terms(error=2.001 * doubt)
        verdict = registry.get("best").judge(belief, terms)
        assert verdict is not None
        assert verdict.probability >= 1 - terms.safe_error(2, expects_departures=has_leads)


def test_a_claim_holds_for_groups_in_order_only() -> None:
    claim = Claim(np.array([2, 0, 1, 3]), (1, 2, 1), 0.0)
    skills = np.array([[5.0, 6.0, 9.0, 1.0], [5.0, 9.5, 9.0, 1.0], [5.0, 6.0, 9.0, 5.5]])
    assert claim.holds(skills).tolist() == [True, False, False]
    above, below = claim.pairs
    pairs = list(zip(above.tolist(), below.tolist(), strict=True))
    assert sorted(pairs) == [(0, 3), (1, 3), (2, 0), (2, 1), (2, 3)]


def test_samples_are_drawn_only_where_the_bounds_leave_it_open() -> None:
    claim = Claim(np.arange(4), (1, 3), 0.0)
    sure, open_, unsure = (belief_of([gap, 0.0, 0.0, 0.0], 1.0) for gap in (6.0, 2.75, 1.0))
    assert is_sure(sure, claim, 0.05)
    assert not is_sure(unsure, claim, 0.05)
    # Three doubts of 2.6 % add up to more than 5 %, but they come together: truly it is less.
    assert is_sure(open_, claim, 0.065)
    drawn = ["samples" in vars(belief) for belief in (sure, open_, unsure)]
    assert drawn == [False, True, False]


@pytest.mark.parametrize("error", [0.0, 0.5, -1.0, float("nan")])
def test_the_error_is_a_probability_below_one_half(error: float) -> None:
    with pytest.raises(VerdictError, match=r"error must be between 0 and 0\.5"):
        Terms(error)


@pytest.mark.parametrize("margin", [-1.0, float("inf"), float("nan")])
def test_the_margin_is_finite_and_not_negative(margin: float) -> None:
    with pytest.raises(VerdictError, match="margin must be finite and 0 or more"):
        Terms(0.05, margin)


@pytest.mark.parametrize("name", ["rank_all", "rank_pairs"])
def test_a_ranking_says_how_sure_each_step_is(name: str) -> None:
    close = belief_of([30.0, 20.0, 25.0, 24.0], 1.0)
    guess = registry.get(name).guess(close, Terms())
    assert guess.subjects == (0, 2, 3, 1)
    above, below = np.array([0, 2, 3]), np.array([2, 3, 1])
    assert guess.steps == pytest.approx(close.superiority(above, below))
    assert guess.steps[1] < min(guess.steps[0], guess.steps[2])


def test_a_question_that_ranks_nobody_has_no_steps() -> None:
    assert registry.get("top_k").guess(CLEAR, Terms(parameters={"k": 2})).steps == ()
