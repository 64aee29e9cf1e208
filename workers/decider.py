"""Ask an agent for the decision of one match, and judge its answer or error.

Every call is shown in the call memory before it is made: the game's where a network is asked, as
only the game is called there, the agent's where it decides.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arena.fault_injection import inject_into_action
from arena.messages import Ending
from arena.move_notes import note_time, note_value, note_values
from arena.policies.base import Policy, read_last_values
from arena.policies.line_policy import LinePolicy
from arena.policies.network_policy import Decisions, InferenceRequest, NetworkPolicy
from workers.current_call import CallMemory, Phase
from workers.failures import (
    Failure,
    failure_of_line,
    failure_of_network,
    failure_of_policy,
    failure_of_question,
)
from workers.match_in_play import MatchInPlay
from workers.order_setup import Setup
from workers.stepper import MatchStepper, StepRecord

Decision = tuple[object, int, StepRecord | None]
"""What an agent answered, the value that it said as a note has it, and what the recorder keeps."""


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
        clock = self._stepper.clock
        began = clock()
        try:
            decision = self._decide_struck(match) if match.is_struck else self._decide(match)
        except Exception as error:  # judged: the agent's fault, the game's or the platform's
            failure = self.judge_error(match, error)
            self._stepper.end_match(match, failure)
            return failure
        answer, value_note, record = decision
        self._stepper.apply_answer(match, answer, note_time(clock() - began) + value_note, record)
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
        failure = self._judge_agent(match, error)
        # What the code of an agent raises may be what the game has raised in it.
        is_charged = failure.ending is Ending.FORFEIT
        return (self._stepper.find_game_fault(match) if is_charged else None) or failure

    def _judge_agent(self, match: MatchInPlay, error: Exception) -> Failure:
        if isinstance(error, QuestionError):
            return failure_of_question(error.cause)
        match self._setup.agents[match.agent].policy:
            case NetworkPolicy():
                return failure_of_network(error)
            case LinePolicy():
                return failure_of_line(error)
        return failure_of_policy(error)

    def _decide(self, match: MatchInPlay) -> Decision:
        policy = self._setup.agents[match.agent].policy
        if not isinstance(policy, NetworkPolicy):
            answer = _read_single_answer(policy.act([match.decision_row()]))
            values = read_last_values(policy, 1)
            return answer, note_value(values[0]) if values else 0, None
        self._show_call(match.index, match.turn, Phase.GAME)
        try:
            question = policy.ask([match.decision_row()])
        except Exception as error:
            raise QuestionError(error) from error
        self._show_call(match.index, match.turn, Phase.POLICY)
        decisions = policy.decide(question)
        record = record_of(question, decisions, 0) if self._stepper.is_recorded else None
        return _read_single_answer(decisions.actions), note_block(decisions, 1)[0], record

    def _decide_struck(self, match: MatchInPlay) -> Decision:
        """Return the answer of a seat that a fault strikes, once."""
        fault, plan = match.fault, self._setup.faults
        if fault is None or plan is None:
            return self._decide(match)
        match.fault = None
        decided: list[Decision] = []

        # Only some faults ask the agent at all, so what it decided comes out by this list.
        def act() -> object:
            decided.append(self._decide(match))
            return decided[0][0]

        answer = inject_into_action(fault, hang_s=plan.hang_s, sleep=self._sleep, act=act)
        return (answer, *decided[0][1:]) if decided else (answer, 0, None)


def record_of(question: InferenceRequest, decisions: Decisions, place: int) -> StepRecord:
    """Return what was seen and said in one row of a block."""
    evaluation = decisions.evaluation
    return StepRecord(
        question.observations[place],
        question.masks[place],
        evaluation.logits[place],
        float(evaluation.values[place]),
    )


def note_block(decisions: Decisions, n_rows: int) -> list[int]:
    """Return what a network said of each row of a block, as notes have it; 0 for nothing."""
    values = np.asarray(decisions.evaluation.values, dtype=np.float32)
    return note_values(values) if values.shape == (n_rows,) else [0] * n_rows


def note_last_values(policy: Policy, n_rows: int) -> list[int]:
    """Return what a policy said of each row that it decided last, as notes have it."""
    values = read_last_values(policy, n_rows)
    return [note_value(value) for value in values] if values else [0] * n_rows


def _read_single_answer(answers: Any) -> object:
    """Return the one answer; what is not one answer is no action either: refused as what it is."""
    try:
        (answer,) = answers
    except (TypeError, ValueError):
        return answers
    return answer
