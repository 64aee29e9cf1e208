"""Ask an agent for the decision of one match, and judge what comes of it.

Every call is shown on the beacon before it is made: the game's where a network is asked, as only
the game is called there, the agent's where it decides.
"""

from collections.abc import Callable, Sequence
from typing import Any

from arena.fault_injection import inject_into_action
from arena.policies.network_policy import Decisions, InferenceRequest, NetworkPolicy
from workers.current_call import Beacon, Phase
from workers.failures import Verdict, network_verdict, question_verdict, verdict
from workers.match_in_play import Live
from workers.order_setup import Agent, Setup
from workers.stepper import Insight, Playing


class AskingError(Exception):
    """A network could not be asked; its cause says why."""

    def __init__(self, cause: Exception) -> None:
        """Keep what was raised."""
        self.cause = cause
        super().__init__(str(cause))


class Deciding:
    """Takes matches on by one decision each."""

    def __init__(
        self, setup: Setup, beacon: Beacon, playing: Playing, sleep: Callable[[float], object]
    ) -> None:
        self._setup, self._show, self._playing = setup, beacon.show, playing
        self._sleep = sleep

    def advance(self, match: Live) -> Verdict | None:
        """Play one decision of one match; return how the match ended if its agent failed."""
        self._show(match.index, match.turn, Phase.POLICY)
        try:
            answer = self._decide_struck(match) if match.is_struck else self._decide(match)
        except Exception as error:  # judged: the agent's fault, the game's or the platform's
            judged = self.judge(match, error)
            self._playing.end(match, judged)
            return judged
        self._playing.play(match, *answer)
        return None

    def advance_each(self, matches: Sequence[Live], pulse: Callable[[], object]) -> None:
        """Play one decision of each; if the platform fails one, it fails those behind it too."""
        lost: Verdict | None = None
        for match in matches:
            if lost is not None:
                self._playing.end(match, lost)
            else:
                judged = self.advance(match)
                lost = judged if judged is not None and judged.is_platforms else None
            pulse()

    def judge(self, match: Live, error: Exception) -> Verdict:
        """Return how a match ends whose agent raised this."""
        if isinstance(error, AskingError):
            return question_verdict(error.cause)
        is_network = isinstance(self._agent(match).policy, NetworkPolicy)
        return network_verdict(error) if is_network else verdict(error)

    def _agent(self, match: Live) -> Agent:
        return self._setup.agents[match.agent]

    def _decide(self, match: Live) -> tuple[object, Insight | None]:
        policy = self._agent(match).policy
        if isinstance(policy, NetworkPolicy):
            return self._decide_network(policy, match)
        return _only(policy.act([match.row()])), None

    def _decide_network(self, policy: NetworkPolicy, match: Live) -> tuple[object, Insight | None]:
        self._show(match.index, match.turn, Phase.GAME)
        try:
            question = policy.ask([match.row()])
        except Exception as error:
            raise AskingError(error) from error
        self._show(match.index, match.turn, Phase.POLICY)
        decisions = policy.decide(question)
        insight = insight_of(question, decisions, 0) if self._playing.is_recorded else None
        return _only(decisions.actions), insight

    def _decide_struck(self, match: Live) -> tuple[object, Insight | None]:
        """Return the answer of a seat that a fault strikes, once."""
        fault, plan = match.fault, self._setup.faults
        if fault is None or plan is None:
            return self._decide(match)
        match.fault = None
        decided: list[tuple[object, Insight | None]] = []

        def act() -> object:
            decided.append(self._decide(match))
            return decided[0][0]

        answer = inject_into_action(fault, hang_s=plan.hang_s, sleep=self._sleep, act=act)
        return answer, decided[0][1] if decided else None


def insight_of(question: InferenceRequest, decisions: Decisions, place: int) -> Insight:
    """Return what was seen and said in one row of a block."""
    said = decisions.evaluation
    return Insight(
        question.observations[place],
        question.masks[place],
        said.logits[place],
        float(said.values[place]),
    )


def _only(answers: Any) -> object:
    """Return the one answer; what is not one answer is no action either: refused as what it is."""
    try:
        (answer,) = answers
    except (TypeError, ValueError):
        return answers
    return answer
