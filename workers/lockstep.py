"""All matches of a player advance together: one block per agent and step.

Where networks or game servers answer from afar, the matches form two groups: while one waits for
its answers the other is stepped. What an agent decides in this player it decides at once.

The time of a move is its share: the seconds for which its agent's call held up this player, divided
by the matches that it answered. So the times of a match are no longer than what it took, and small
where many matches share a call; what a network computes while others are stepped is not counted.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from arena.move_notes import note_time
from arena.policies.network_policy import InferenceRequest, NetworkPolicy
from workers.current_call import CallMemory, Phase
from workers.decider import Decider, QuestionError, note_block, note_last_values, record_of
from workers.match_in_play import MatchInPlay
from workers.order_setup import Setup
from workers.stepper import MatchStepper

# Observations that are sent at once: a request has a limit, and large ones make others wait.
BLOCK_BYTES = 4 << 20
# Fewer matches than twice these play in one group: halving small blocks costs more than waiting,
# and the networks have other players to serve meanwhile.
LEAST_GROUP = 64
_FLOAT_BYTES = 4


class PendingQuestion(NamedTuple):
    """Matches whose network has been asked; asking_s: how long that took."""

    agent: int
    policy: NetworkPolicy
    matches: list[MatchInPlay]
    question: InferenceRequest
    asking_s: float


class Lockstep:
    """Steps groups of matches in turn."""

    def __init__(
        self,
        setup: Setup,
        call_memory: CallMemory,
        stepper: MatchStepper,
        decider: Decider,
        flush_if_due: Callable[[], object],
    ) -> None:
        self._setup, self._call_memory, self._stepper = setup, call_memory, stepper
        self._decider, self._flush_if_due = decider, flush_if_due
        is_remote = bool(setup.lines) or any(agent.is_remote for agent in setup.agents)
        n_groups = 2 if is_remote else 1
        self._pending: list[list[PendingQuestion]] = [[] for _ in range(n_groups)]
        row_bytes = _FLOAT_BYTES * prod(setup.spec.observation_shape)
        self._max_rows = max(1, BLOCK_BYTES // max(1, row_bytes))
        self._group = 0

    def add_matches(self, matches: Sequence[MatchInPlay]) -> None:
        """Let matches that have begun play in the smaller group, once the first is large enough."""
        sizes = [0] * len(self._pending)
        for match in self._stepper.in_play:
            sizes[match.group] += 1
        # They are in play already, and counted there in a group that is not theirs yet.
        for match in matches:
            sizes[match.group] -= 1
        for match in matches:
            is_small = sum(sizes) < 2 * LEAST_GROUP
            match.group = 0 if is_small else min(range(len(sizes)), key=sizes.__getitem__)
            sizes[match.group] += 1

    def step_group(self) -> None:
        """Take what the next group was answered and play it, then ask again."""
        group = self._group
        self._group = (group + 1) % len(self._pending)
        pending, self._pending[group] = self._pending[group], []
        for question in pending:
            if not all(match.is_over for match in question.matches):
                self._play_answers(question)
        self._stepper.look_at_states(group)
        networks, others = self._group_by_agent(group)
        # The networks first: they answer while the others decide.
        for agent, policy, block in networks:
            self._ask_network(group, agent, policy, block)
        for agent, block in others:
            if self._setup.agents[agent].is_batched and len(block) > 1:
                self._decide_together(agent, block)
            else:
                self._decider.advance_each(block, self._flush_if_due)
        for line in self._setup.lines:
            # While the servers play the moves of this group the other one is stepped.
            line.flush()

    def _group_by_agent(
        self, group: int
    ) -> tuple[
        list[tuple[int, NetworkPolicy, list[MatchInPlay]]], list[tuple[int, list[MatchInPlay]]]
    ]:
        """Return the matches of a group by the agent that decides: of networks, and of others."""
        by_agent: dict[int, list[MatchInPlay]] = {}
        for match in self._stepper.in_play:
            if match.group == group and not match.is_over:
                by_agent.setdefault(match.seats[match.turn], []).append(match)
        networks, others = [], []
        for agent, block in by_agent.items():
            policy = self._setup.agents[agent].policy
            if isinstance(policy, NetworkPolicy):
                networks.append((agent, policy, block))
            else:
                others.append((agent, block))
        return networks, others

    def _ask_network(
        self, group: int, agent: int, policy: NetworkPolicy, block: list[MatchInPlay]
    ) -> None:
        together, struck = _split_struck(block)
        for start in range(0, len(together), self._max_rows):
            matches = together[start : start + self._max_rows]
            self._show_block(agent, matches, Phase.GAME)
            began = self._stepper.clock()
            try:
                question = policy.ask([match.decision_row() for match in matches])
            except Exception as error:  # judged: the game's fault, the agent's or the platform's
                self._decide_one_by_one(matches, QuestionError(error))
            else:
                asking_s = self._stepper.clock() - began
                pending = PendingQuestion(agent, policy, matches, question, asking_s)
                self._pending[group].append(pending)
        self._decider.advance_each(struck, self._flush_if_due)

    def _play_answers(self, pending: PendingQuestion) -> None:
        self._show_block(pending.agent, pending.matches, Phase.POLICY)
        began = self._stepper.clock()
        try:
            decisions = pending.policy.decide(pending.question)
            n_actions, n_rows = len(decisions.actions), len(pending.matches)
            if n_actions != n_rows:
                raise ValueError(f"{n_actions} actions for {n_rows} rows")
            value_notes = note_block(decisions, n_rows)
        except Exception as error:  # judged: the agent's fault or the platform's
            self._decide_one_by_one(pending.matches, error)
            return
        time_note = note_time((pending.asking_s + self._stepper.clock() - began) / n_rows)
        is_recorded = self._stepper.is_recorded
        for place, (match, action) in enumerate(
            zip(pending.matches, decisions.actions, strict=True)
        ):
            if not match.is_over:  # else it was given back meanwhile
                record = record_of(pending.question, decisions, place) if is_recorded else None
                note = time_note + value_notes[place]
                self._stepper.apply_answer(match, action, note, record)
                self._flush_if_due()

    def _decide_one_by_one(self, matches: Sequence[MatchInPlay], error: Exception) -> None:
        """Ask row by row, so that only the guilty one pays; where nobody is guilty, end all."""
        open_matches = [match for match in matches if not match.is_over]
        failure = self._decider.judge_error(matches[0], error)
        if len(matches) > 1 and not failure.is_platform_fault:
            self._decider.advance_each(open_matches, self._flush_if_due)
        else:
            for match in open_matches:
                self._stepper.end_match(match, failure)

    def _decide_together(self, agent: int, block: list[MatchInPlay]) -> None:
        """Have an agent that runs in this player decide for its matches at once."""
        matches, struck = _split_struck(block)
        answers: list[object] = []
        value_notes, time_note = list[int](), 0
        if matches:
            self._call_memory.show_block(agent, [match.index for match in matches])
            rows = [match.decision_row() for match in matches]
            policy, began = self._setup.agents[agent].policy, self._stepper.clock()
            try:
                answers = list(policy.act(rows))
                value_notes = note_last_values(policy, len(rows))
            except Exception:  # asked one by one, the guilty row raises again and is charged
                answers = []
            time_note = note_time((self._stepper.clock() - began) / len(rows))
        if len(answers) == len(matches):
            for match, answer, value_note in zip(matches, answers, value_notes, strict=True):
                self._stepper.apply_answer(match, answer, time_note + value_note)
                self._flush_if_due()
            self._decider.advance_each(struck, self._flush_if_due)
        else:
            self._decider.advance_each(block, self._flush_if_due)

    def _show_block(self, agent: int, matches: Sequence[MatchInPlay], phase: Phase) -> None:
        """Record whose call comes; that of a single match is proof against a seat or the game."""
        if len(matches) == 1:
            self._call_memory.show_call(matches[0].index, matches[0].turn, phase)
        else:
            self._call_memory.show_block(agent, [match.index for match in matches])


def _split_struck(block: list[MatchInPlay]) -> tuple[list[MatchInPlay], list[MatchInPlay]]:
    """Return the matches that can be asked together and those that a fault strikes now."""
    return (
        [match for match in block if not match.is_struck],
        [match for match in block if match.is_struck],
    )
