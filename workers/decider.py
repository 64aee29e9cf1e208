"""Ask an agent for the decision of one match, and judge what comes of it.

Every call is shown in the call memory before it is made: the game's where a network is asked, as
only the game is called there, the agent's where it decides.
"""

from collections.abc import Callable, Sequence
from typing import Any

from arena.fault_injection import inject_into_action
from arena.policies.network_policy import Decisions, InferenceRequest, NetworkPolicy
from workers.current_call import CallMemory, Phase
from workers.failures import (
    Failure,
    failure_of_network,
    failure_of_policy,
    failure_of_question,
)
from workers.match_in_play import MatchInPlay
from workers.order_setup import Setup
from workers.stepper import MatchStepper, StepRecord


class QuestionError(Exception):
    """A network could not be asked; its cause says why."""

    def __init__(self, cause: Exception) -> None:
        """Keep what was raised."""
        self.cause = cause
        super().__init__(str(cause))


class Decider:
    """Takes matches on by one decision each."""

    def __init__(
        self,
        setup: Setup,
        call_memory: CallMemory,
        stepper: MatchStepper,
        sleep: Callable[[float], object],
    ) -> None:
        self._setup, self._show_call, self._stepper = setup, call_memory.show_call, stepper
        self._sleep = sleep

    def advance_match(self, match: MatchInPlay) -> Failure | None:
        """Play one decision of one match; return how the match ended if its agent failed."""
        self._show_call(match.index, match.turn, Phase.POLICY)
        try:
            answer = self._decide_struck(match) if match.is_struck else self._decide(match)
        except Exception as error:  # judged: the agent's fault, the game's or the platform's
            failure = self.judge_error(match, error)
            self._stepper.end_match(match, failure)
            return failure
        self._stepper.apply_answer(match, *answer)
        return None

    def advance_each(
        self, matches: Sequence[MatchInPlay], flush_if_due: Callable[[], object]
    ) -> None:
        """Play one decision of each; if the platform fails one, it fails those behind it too."""
        platform_failure: Failure | None = None
        for match in matches:
            if platform_failure is not None:
                # Each would wait as long for the same answer, and find it as lost.
                self._stepper.end_match(match, platform_failure)
            else:
                failure = self.advance_match(match)
                if failure is not None and failure.is_platform_fault:
                    platform_failure = failure
            flush_if_due()

    def judge_error(self, match: MatchInPlay, error: Exception) -> Failure:
        """Return how a match ends whose agent raised this."""
        if isinstance(error, QuestionError):
            return failure_of_question(error.cause)
        is_network = isinstance(self._setup.agents[match.agent].policy, NetworkPolicy)
        return failure_of_network(error) if is_network else failure_of_policy(error)

    def _decide(self, match: MatchInPlay) -> tuple[object, StepRecord | None]:
        policy = self._setup.agents[match.agent].policy
        if not isinstance(policy, NetworkPolicy):
            return _only_one(policy.act([match.decision_row()])), None
        self._show_call(match.index, match.turn, Phase.GAME)
        try:
            question = policy.ask([match.decision_row()])
        except Exception as error:
            raise QuestionError(error) from error
        self._show_call(match.index, match.turn, Phase.POLICY)
        decisions = policy.decide(question)
        record = record_of(question, decisions, 0) if self._stepper.is_recorded else None
        return _only_one(decisions.actions), record

    def _decide_struck(self, match: MatchInPlay) -> tuple[object, StepRecord | None]:
        """Return the answer of a seat that a fault strikes, once."""
        fault, plan = match.fault, self._setup.faults
        if fault is None or plan is None:
            return self._decide(match)
        match.fault = None
        decided: list[tuple[object, StepRecord | None]] = []

        # Only some faults ask the agent at all, so what it decided comes out by this list.
        def act() -> object:
            decided.append(self._decide(match))
            return decided[0][0]

        answer = inject_into_action(fault, hang_s=plan.hang_s, sleep=self._sleep, act=act)
        return answer, decided[0][1] if decided else None


def record_of(question: InferenceRequest, decisions: Decisions, place: int) -> StepRecord:
    """Return what was seen and said in one row of a block."""
    evaluation = decisions.evaluation
    return StepRecord(
        question.observations[place],
        question.masks[place],
        evaluation.logits[place],
        float(evaluation.values[place]),
    )


def _only_one(answers: Any) -> object:
    """Return the one answer; what is not one answer is no action either: refused as what it is."""
    try:
        (answer,) = answers
    except (TypeError, ValueError):
        return answers
    return answer
