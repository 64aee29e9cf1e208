"""Tests of questions answered by scores on common seeds."""

from math import nan

import numpy as np
import pytest

from arena.ratings.counts import Floats
from arena.verdicts import score_questions
from arena.verdicts.base import StopReason, Terms, VerdictError
from arena.verdicts.score_questions import (
    FIRST_SEEDS,
    PairEvidence,
    PlayedScores,
    check_pairs,
    choose_agents,
    choose_ahead,
    group_sizes,
    guess_beats,
    guess_order,
    judge_beats,
    judge_order,
    order_agents,
    weigh_pairs,
)

TERMS = Terms(error=0.05)
NAMES = ("a", "b", "c", "d")


def draw_scores(means: list[float], n_seeds: int = 300) -> Floats:
    rng = np.random.default_rng(3)
    return rng.normal(np.array(means)[:, None], 0.1, (len(means), n_seeds)).clip(0, 1)


def played(scores: Floats) -> PlayedScores:
    return PlayedScores(scores, (0, 1))


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("best", "b is the best"),
        ("top_k", "b, d are the best 2"),
        ("rank_all", "b > d > a > c"),
    ],
)
def test_each_question_ends_with_the_true_order(question: str, statement: str) -> None:
    scores = played(draw_scores([0.4, 0.8, 0.2, 0.6]))
    verdict = judge_order(scores, group_sizes(question, 4, k=2), TERMS)
    assert verdict is not None
    assert verdict.format_statement(NAMES) == statement
    assert verdict.why is StopReason.DECIDED
    assert verdict.probability >= 0.95


def test_equal_agents_end_by_the_margin_only() -> None:
    scores = played(draw_scores([0.5, 0.5], 500))
    sizes = group_sizes("best", 2)
    assert judge_order(scores, sizes, TERMS) is None
    near = judge_order(scores, sizes, Terms(margin=0.1))
    assert near is not None
    assert near.why is StopReason.WITHIN_MARGIN
    assert near.statement.endswith("up to the margin")


def test_a_guess_names_the_highest_mean_and_promises_little() -> None:
    verdict = guess_order(played(np.array([[0.4], [0.5], [nan]])), (1, 2), TERMS)
    assert verdict.subjects == (1,)
    assert verdict.why is StopReason.OUT_OF_BUDGET
    assert verdict.probability == 0


def test_beats_says_yes_no_near_or_nothing() -> None:
    scores = played(draw_scores([0.7, 0.5]))
    for lead, margin, words in (
        (0.1, 0.0, "{} beats {} by more than 0.1"),
        (0.3, 0.0, "{} does not beat {} by more than 0.3"),
        (0.2, 0.1, "{} beats {} by 0.2, give or take the margin"),
    ):
        verdict = judge_beats(scores, 0, 1, Terms(margin=margin, parameters={"lead": lead}))
        assert verdict is not None
        assert verdict.statement == words
    assert judge_beats(played(draw_scores([0.5, 0.5], 3)), 0, 1, TERMS) is None


def test_all_play_first_and_then_the_least_settled_pair() -> None:
    scores = draw_scores([0.1, 0.8, 0.75, 0.2])
    sizes = group_sizes("best", 4)
    scores[:, FIRST_SEEDS - 1 :] = nan
    assert choose_agents(played(scores), sizes, TERMS).tolist() == [0, 1, 2, 3]
    scores[:3, FIRST_SEEDS - 1] = [0.1, 0.8, 0.75]
    assert choose_agents(played(scores), sizes, TERMS).tolist() == [3]
    scores[3, FIRST_SEEDS - 1] = 0.2
    assert choose_agents(played(scores), sizes, TERMS).tolist() == [1, 2]
    scores[1, FIRST_SEEDS] = 0.8
    assert choose_agents(played(scores), sizes, TERMS).tolist() == [2]


def test_scores_behind_a_gap_change_nothing() -> None:
    scores = draw_scores([0.7, 0.5], 20)
    scores[0, 10] = nan
    changed = scores.copy()
    changed[0, 11:] = 0
    for one in (played(scores), played(changed)):
        assert one.n_seeds.tolist() == [10, 20]
        assert order_agents(one).tolist() == [0, 1]
    pair = np.array([0]), np.array([1])
    assert played(scores).evidence(*pair, 0.0) == played(changed).evidence(*pair, 0.0)


def test_it_refuses_questions_that_it_does_not_know() -> None:
    with pytest.raises(VerdictError, match="choose best"):
        group_sizes("worst", 3)
    with pytest.raises(VerdictError, match=r"1\.\.2"):
        group_sizes("top_k", 3, k=3)
    with pytest.raises(VerdictError, match="2 agents"):
        group_sizes("best", 1)


def weigh(*evidence: float, n_common: int) -> PairEvidence:
    """Return what is known of pairs of the agent 0 with each other one."""
    others = np.arange(1, len(evidence) + 1)
    return PairEvidence(
        np.zeros_like(others), others, np.array(evidence), np.full_like(others, n_common)
    )


def test_who_plays_ahead_is_who_is_behind_until_the_pair_is_level() -> None:
    n_seeds = np.array([FIRST_SEEDS, FIRST_SEEDS - 1, FIRST_SEEDS + 2, FIRST_SEEDS])
    pairs = weigh(9.0, 2.0, 9.0, n_common=FIRST_SEEDS)
    assert choose_ahead(pairs, n_seeds, 6) == [1, 0, 0, 0, 2, 0]


def test_episodes_ahead_are_of_every_pair_that_will_be_the_least_settled() -> None:
    n_seeds = np.full(4, 10)
    # The first pair gains 0.1 a seed, so after ten more seeds it is where the second one is.
    chosen = choose_ahead(weigh(1.0, 2.0, 9.0, n_common=10), n_seeds, 60)
    n_chosen = np.bincount(chosen, minlength=4)
    assert chosen[:2] == [0, 1]
    assert n_chosen[3] == 0
    assert n_chosen[0] == n_chosen[1] == pytest.approx(25, abs=1)
    assert n_chosen[2] == pytest.approx(8, abs=1)


def test_pairs_without_evidence_share_what_is_played_ahead() -> None:
    n_chosen = np.bincount(choose_ahead(weigh(-0.5, -0.4, n_common=10), np.full(3, 10), 40))
    assert n_chosen.min() >= 10


def test_what_a_wide_margin_settles_at_once_is_played_no_more() -> None:
    scores, terms = played(draw_scores([0.5, 0.5], 5)), Terms(margin=2.0)
    pairs = weigh_pairs(scores, (1, 1), terms)
    assert pairs.evidence.max() < np.inf
    assert choose_ahead(pairs, np.array([5, 7]), 2) == [0, 0]


def test_a_guess_about_two_goes_by_their_means() -> None:
    scores = played(draw_scores([0.7, 0.5]))
    for lead, words in ((0.1, "{} beats {} by more than 0.1"), (0.3, "{} does not beat {}")):
        verdict = guess_beats(scores, 0, 1, Terms(parameters={"lead": lead}))
        assert verdict.statement.startswith(words)
        assert verdict.why is StopReason.OUT_OF_BUDGET
        assert 0.9 < verdict.probability < 1
    assert guess_beats(played(np.full((2, 0), nan)), 0, 1, TERMS).probability == 0


def test_many_pairs_are_weighed_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, pairs = played(draw_scores([0.7, 0.5, 0.4])), (np.array([0, 0, 1]), np.array([1, 2, 2]))
    at_once = scores.evidence(*pairs, 0.0)
    monkeypatch.setattr(score_questions, "_MOST_AT_ONCE", 1)
    assert scores.evidence(*pairs, 0.0).tolist() == at_once.tolist()
    assert scores.evidence(np.empty(0, np.int64), np.empty(0, np.int64), 0.0).tolist() == []


def test_a_claim_of_too_many_pairs_is_refused() -> None:
    check_pairs(group_sizes("best", 1_000))
    with pytest.raises(VerdictError, match="compares 1,225 pairs"):
        check_pairs(group_sizes("rank_all", 50))
