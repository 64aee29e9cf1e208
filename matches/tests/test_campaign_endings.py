"""How campaigns end, in words: with an answer or without, and what a sequential test says."""

from dataclasses import replace

import pytest

from arena.verdicts.paired_blocks import PairedResult, compare_blocks
from arena.verdicts.sprt import EloEstimate
from matches.campaigns import endings
from matches.models import Campaign
from matches.tests.factories import NOW

PARAMETERS = {"elo0": 0.0, "elo1": 100.0, "alpha": 0.05, "beta": 0.05, "model": "logistic"}
LOST, EVEN = [40, 10, 2, 0, 0], [2, 3, 4, 3, 2]


def ended(why: str, **values: object) -> Campaign:
    fields = {"question": "best", "probability": 0.83, "statement": "a is the best", **values}
    return Campaign(why=why, decided_at=NOW, **fields)


def blocks(counts: list[int]) -> PairedResult:
    result = compare_blocks(counts)
    assert result is not None
    return result


def test_an_answer_is_said_as_it_is() -> None:
    for why in ("decided", "within_margin"):
        assert endings.describe_answer(ended(why)) == "a is the best"
        assert endings.describe_shortfall(ended(why)) == ""


def test_one_that_runs_has_no_shortfall() -> None:
    assert endings.describe_shortfall(Campaign(question="best", probability=0.5)) == ""


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        ("out_of_budget: matches", "83 % was reached. What was played counts: ask again with a "
         "larger budget or a larger margin, and it goes on from there."),
        ("out_of_budget: pairing", "ask again with another pairing or a larger margin, and"),
        ("cancelled", "it was 83 % when it was stopped. What was played counts: ask again, and"),
    ],
)  # fmt: skip
def test_without_an_answer_it_says_what_was_not_reached_and_what_to_do(
    why: str, remedy: str
) -> None:
    text = endings.describe_shortfall(ended(why)).replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("Asked for was a probability of 95 %; ")
    assert remedy in text


@pytest.mark.parametrize(
    ("question", "reason"), [("beats", "results alone do not"), ("best", "on too few results")]
)
def test_what_is_as_probable_as_was_asked_for_says_what_else_a_verdict_takes(
    question: str, reason: str
) -> None:
    campaign = ended("out_of_budget: matches", question=question, probability=0.976, error=0.05)
    text = endings.describe_shortfall(campaign).replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("Asked for was a probability of 95 %, and 97.6 % was reached, but ")
    assert reason in text


def test_what_was_likeliest_is_no_verdict() -> None:
    text = endings.describe_answer(ended("out_of_budget: matches"))
    assert text == "Not decided. Most likely: a is the best"
    stopped = ended("cancelled", statement="cancelled", probability=None)
    assert endings.describe_answer(stopped) == "Not decided"
    assert "no result was judged" in endings.describe_shortfall(stopped)


def test_without_a_result_it_says_where_to_look() -> None:
    none = ended("no_results", probability=None, statement="no match has a result")
    assert endings.describe_answer(none) == "no match has a result"
    assert "its matches say why" in endings.describe_shortfall(none)


def test_a_gap_is_told_with_its_direction_and_interval() -> None:
    def describe(elo: float, low: float, high: float) -> str:
        return endings.describe_gap(replace(blocks(EVEN), elo=EloEstimate(elo, low, high)))

    assert describe(-47.2, -65.1, -29.3) == "47 Elo worse (29 to 65)"
    assert describe(12.0, -3.4, 27.0) == "12 Elo better (3 worse to 27 better)"
    assert describe(-22.0, -128.2, 80.6) == "22 Elo worse (128 worse to 81 better)"
    assert endings.describe_gap(None) == ""


def test_a_test_is_graded_with_the_gap() -> None:
    test = {"question": "sprt", "parameters": PARAMETERS, "statement": "a is not better than b"}
    failed = ended("decided", pairs=LOST, **test)
    assert endings.grade_test(failed, blocks(LOST)).startswith("FAIL: ")
    assert " Elo worse (" in endings.grade_test(failed, blocks(LOST))
    won = ended("decided", pairs=LOST[::-1], **test)
    assert endings.grade_test(won, blocks(LOST[::-1])).startswith("PASS: ")
    spent = ended("out_of_budget: matches", pairs=EVEN, **test)
    assert endings.grade_test(spent, blocks(EVEN)).startswith("UNDECIDED: ")
    assert "neither bound" in endings.describe_shortfall(spent)
    assert "bounds further apart" in endings.describe_shortfall(spent)
    running = Campaign(question="sprt", parameters=PARAMETERS, pairs=EVEN)
    assert endings.grade_test(running, blocks(EVEN)).startswith("Not decided yet; so far ")
    assert endings.grade_test(Campaign(question="sprt"), None) == "Not decided yet"
