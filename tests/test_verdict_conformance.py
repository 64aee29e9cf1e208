"""Every question passes every check; a broken one fails the check of its mistake."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import pytest

from arena.parameters import Parameter
from arena.verdicts import registry
from arena.verdicts.base import (
    Question,
    StopReason,
    Terms,
    Verdict,
    VerdictError,
    find_expected_departures,
)
from arena.verdicts.beliefs import Belief
from tests import verdict_checks as checks
from tests.catalogs import assert_named, each, each_check

RIGHT = registry.get("best")


@each_check(checks.CHECKS)
@each(registry.names())
def test_the_question_keeps_to(name: str, check: Callable[[Question], None]) -> None:
    check(registry.get(name))


@each(registry.names())
def test_the_id_is_the_name_of_the_file(name: str) -> None:
    assert_named(registry.get(name), name)


class Broken:
    """The question for the best with something done to it."""

    id = title = "broken"
    parameters: Sequence[Parameter] = ()

    def check(self, terms: Terms, n_agents: int) -> None:
        RIGHT.check(terms, n_agents)

    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        return RIGHT.judge(belief, terms)

    def guess(self, belief: Belief, terms: Terms) -> Verdict:
        return RIGHT.guess(belief, terms)


class TakesNothing(Broken):
    def check(self, terms: Terms, n_agents: int) -> None:
        raise VerdictError("no")


class TakesAnything(Broken):
    def check(self, terms: Terms, n_agents: int) -> None: ...


class NeverEnds(Broken):
    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        return None


class EndsAtOnce(Broken):
    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        return replace(self.guess(belief, terms), why=StopReason.DECIDED)


class NeverWaits(Broken):
    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        return RIGHT.judge(replace(belief, n_matches=belief.n_matches + 100), terms)


class IgnoresTheError(Broken):
    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        return RIGHT.judge(belief, replace(terms, error=0.05))


class IgnoresTheMargin(Broken):
    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        return RIGHT.judge(belief, replace(terms, margin=0.0))


class FearsTheMargin(Broken):
    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        return None if terms.margin else RIGHT.judge(belief, terms)


class HidesTheNames(Broken):
    def guess(self, belief: Belief, terms: Terms) -> Verdict:
        return replace(RIGHT.guess(belief, terms), statement="somebody is the best")


class Wavers(Broken):
    def __init__(self) -> None:
        self._looks = count()

    def guess(self, belief: Belief, terms: Terms) -> Verdict:
        return replace(RIGHT.guess(belief, terms), probability=0.001 * next(self._looks))


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (TakesNothing, checks.it_takes_its_defaults),
        (TakesAnything, checks.it_refuses_a_field_without_a_choice),
        (NeverEnds, checks.it_decides_what_is_clear),
        (EndsAtOnce, checks.it_goes_on_while_it_is_open),
        (NeverWaits, checks.it_waits_for_the_first_matches),
        (IgnoresTheError, checks.a_smaller_error_needs_more),
        (IgnoresTheMargin, checks.equal_agents_end_by_the_margin),
        (FearsTheMargin, checks.a_margin_never_lasts_longer),
        (HidesTheNames, checks.its_guess_is_said_with_names),
        (Wavers, checks.the_same_evidence_says_the_same),
    ],
)
def test_a_broken_question_fails(
    broken: Callable[[], Question], check: Callable[[Question], None]
) -> None:
    check(Broken())
    with pytest.raises((AssertionError, VerdictError)):
        check(broken())


def test_every_check_has_its_broken_question() -> None:
    assert len(checks.CHECKS) == len(set(checks.CHECKS)) == 10


def test_pairs_are_thought_to_depart_where_an_order_is_named() -> None:
    checked, unchecked = (list_expected(is_checked=is_checked) for is_checked in (True, False))
    assert checked["best"] == checked["top_k"] > checked["rank_all"] > 0
    # A ranking would wait for ever for pairs that nobody sends to meet.
    assert checked == {**unchecked, "rank_all": checked["rank_all"]}
    assert list(unchecked) == ["best", "top_k"]
    # A plug-in need not say.
    assert find_expected_departures(Broken(), 10, is_checked=True) == 0


def list_expected(*, is_checked: bool) -> dict[str, float]:
    """Return how far each question expects pairs to depart, where it does."""
    expected = {
        name: find_expected_departures(registry.get(name), 10, is_checked=is_checked)
        for name in sorted(registry.names())
    }
    return {name: part for name, part in expected.items() if part}
