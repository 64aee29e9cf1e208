"""What every question must keep to; each check raises AssertionError where it does not."""

from collections.abc import Callable

import numpy as np

from arena.parameters import read_parameters
from arena.verdicts.base import Question, StopReason, Terms, VerdictError
from arena.verdicts.beliefs import Belief
from arena.verdicts.claims import MIN_MATCHES

N_AGENTS = 5
NAMES = tuple("abcde")
MARGIN = 1.0


def belief(gap: float, sd: float, n_matches: int = 100) -> Belief:
    """Return a belief in agents `gap` apart, the first one the best."""
    mu = 25.0 - gap * np.arange(N_AGENTS, dtype=np.float64)
    return Belief(
        mu,
        np.eye(N_AGENTS) * sd**2,
        np.full(N_AGENTS, sd),
        np.full(N_AGENTS, n_matches, dtype=np.int64),
    )


def terms(question: Question, error: float = 0.05, margin: float = 0.0) -> Terms:
    """Return terms with the default parameters."""
    return Terms(error, margin, read_parameters(question.id, question.parameters, {}))


def it_takes_its_defaults(question: Question) -> None:
    question.check(terms(question), N_AGENTS)


def it_refuses_a_field_without_a_choice(question: Question) -> None:
    for n_agents in (0, 1):
        try:
            question.check(terms(question), n_agents)
        except VerdictError:
            continue
        raise AssertionError(f"{question.id} was asked of {n_agents} agents")


def it_decides_what_is_clear(question: Question) -> None:
    verdict = question.judge(belief(5.0, 0.5), terms(question))
    assert verdict is not None
    assert verdict.why is StopReason.DECIDED
    assert verdict.probability >= 0.95
    assert verdict.subjects[0] == 0


def it_goes_on_while_it_is_open(question: Question) -> None:
    assert question.judge(belief(0.5, 2.0), terms(question)) is None


def it_waits_for_the_first_matches(question: Question) -> None:
    assert question.judge(belief(5.0, 0.5, MIN_MATCHES - 1), terms(question)) is None


def a_smaller_error_needs_more(question: Question) -> None:
    sds = np.geomspace(0.1, 4.0, 40)
    loose, strict = (
        sum(question.judge(belief(2.0, sd), terms(question, error)) is not None for sd in sds)
        for error in (0.1, 0.001)
    )
    assert strict < loose < len(sds)


def equal_agents_end_by_the_margin(question: Question) -> None:
    equal = belief(0.0, 0.05)
    assert question.judge(equal, terms(question)) is None
    verdict = question.judge(equal, terms(question, margin=MARGIN))
    assert verdict is not None
    assert verdict.why is StopReason.WITHIN_MARGIN
    assert verdict.probability >= 0.95


def a_margin_never_lasts_longer(question: Question) -> None:
    for sd in np.geomspace(0.1, 4.0, 20):
        if question.judge(belief(1.0, sd), terms(question)) is not None:
            assert question.judge(belief(1.0, sd), terms(question, margin=MARGIN)) is not None


def its_guess_is_said_with_names(question: Question) -> None:
    guess = question.guess(belief(0.5, 2.0), terms(question))
    assert guess.why is StopReason.OUT_OF_BUDGET
    assert 0 <= guess.probability <= 1
    statement = guess.format_statement(NAMES)
    assert all(NAMES[subject] in statement for subject in guess.subjects)
    assert "{" not in statement


def the_same_evidence_says_the_same(question: Question) -> None:
    twice = [question.guess(belief(1.0, 1.5), terms(question)) for _ in range(2)]
    assert twice[0] == twice[1]


CHECKS: tuple[Callable[[Question], None], ...] = (
    it_takes_its_defaults,
    it_refuses_a_field_without_a_choice,
    it_decides_what_is_clear,
    it_goes_on_while_it_is_open,
    it_waits_for_the_first_matches,
    a_smaller_error_needs_more,
    equal_agents_end_by_the_margin,
    a_margin_never_lasts_longer,
    its_guess_is_said_with_names,
    the_same_evidence_says_the_same,
)
