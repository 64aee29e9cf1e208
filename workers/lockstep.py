"""All matches in hand advance together: one block per agent and step.

Where networks answer from afar, the matches form two groups: while one waits for its answers the
other is stepped. What an agent decides in this player it decides at once.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from arena.policies.network_policy import Decisions, InferenceRequest, NetworkPolicy
from workers.current_call import Beacon, Phase
from workers.decider import AskingError, Deciding, insight_of
from workers.match_in_play import Live
from workers.order_setup import Setup
from workers.stepper import Playing

BLOCK_BYTES = 4 << 20
"""Observations that are sent at once: a request has a limit, and large ones make others wait."""
LEAST_GROUP = 64
"""Fewer matches than twice these play in one group: halving small blocks costs more than waiting,
and the networks have other players to serve meanwhile."""
_FLOAT_BYTES = 4


class Asked(NamedTuple):
    """Matches whose network has been asked."""

    agent: int
    policy: NetworkPolicy
    matches: list[Live]
    question: InferenceRequest


class Lockstep:
    """Steps groups of matches in turn."""

    def __init__(
        self,
        setup: Setup,
        beacon: Beacon,
        playing: Playing,
        deciding: Deciding,
        pulse: Callable[[], object],
    ) -> None:
        self._setup, self._beacon, self._playing = setup, beacon, playing
        self._deciding, self._pulse = deciding, pulse
        n_groups = 2 if any(agent.is_remote for agent in setup.agents) else 1
        self._asked: list[list[Asked]] = [[] for _ in range(n_groups)]
        row_bytes = _FLOAT_BYTES * prod(setup.spec.observation_shape)
        self._max_rows = max(1, BLOCK_BYTES // max(1, row_bytes))
        self._group = 0

    def join(self, matches: Sequence[Live]) -> None:
        """Let matches that have begun play in the smaller group, once the first is large enough."""
        sizes = [0] * len(self._asked)
        for match in self._playing.live:
            sizes[match.group] += 1
        for match in matches:
            sizes[match.group] -= 1
        for match in matches:
            is_small = sum(sizes) < 2 * LEAST_GROUP
            match.group = 0 if is_small else min(range(len(sizes)), key=sizes.__getitem__)
            sizes[match.group] += 1

    def step(self) -> None:
        """Take what the next group was told and play it, then ask again."""
        group = self._group
        self._group = (group + 1) % len(self._asked)
        asked, self._asked[group] = self._asked[group], []
        for question in asked:
            if not all(match.is_over for match in question.matches):
                self._settle(question)
        self._ask_all(group)

    # Asking

    def _ask_all(self, group: int) -> None:
        """Ask the networks first: they answer while the others decide."""
        networks, others = self._blocks(group)
        for agent, policy, block in networks:
            self._ask(group, agent, policy, block)
        for agent, block in others:
            if self._setup.agents[agent].is_batched and len(block) > 1:
                self._decide_together(agent, block)
            else:
                self._deciding.advance_each(block, self._pulse)

    def _blocks(
        self, group: int
    ) -> tuple[list[tuple[int, NetworkPolicy, list[Live]]], list[tuple[int, list[Live]]]]:
        by_agent: dict[int, list[Live]] = {}
        for match in self._playing.live:
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

    def _ask(self, group: int, agent: int, policy: NetworkPolicy, block: list[Live]) -> None:
        together, struck = _apart(block)
        for start in range(0, len(together), self._max_rows):
            matches = together[start : start + self._max_rows]
            self._show(agent, matches, Phase.GAME)
            try:
                question = policy.ask([match.row() for match in matches])
            except Exception as error:  # judged: the game's fault, the agent's or the platform's
                self._fall_back(matches, AskingError(error))
            else:
                self._asked[group].append(Asked(agent, policy, matches, question))
        self._deciding.advance_each(struck, self._pulse)

    # Settling

    def _settle(self, asked: Asked) -> None:
        self._show(asked.agent, asked.matches, Phase.POLICY)
        try:
            decisions = asked.policy.decide(asked.question)
            if len(decisions.actions) != len(asked.matches):
                raise ValueError(f"{len(decisions.actions)} actions for {len(asked.matches)} rows")
        except Exception as error:  # judged: the agent's fault or the platform's
            self._fall_back(asked.matches, error)
        else:
            self._play(asked, decisions)

    def _play(self, asked: Asked, decisions: Decisions) -> None:
        is_recorded, play = self._playing.is_recorded, self._playing.play
        for place, (match, action) in enumerate(zip(asked.matches, decisions.actions, strict=True)):
            if not match.is_over:  # else it was given back meanwhile
                insight = insight_of(asked.question, decisions, place) if is_recorded else None
                play(match, action, insight)
                self._pulse()

    def _fall_back(self, matches: Sequence[Live], error: Exception) -> None:
        """Ask row by row, so that only the guilty one pays; where nobody is guilty, end all."""
        playing = [match for match in matches if not match.is_over]
        judged = self._deciding.judge(matches[0], error)
        if len(matches) > 1 and not judged.is_platforms:
            self._deciding.advance_each(playing, self._pulse)
        else:
            for match in playing:
                self._playing.end(match, judged)

    # Deciding at once

    def _decide_together(self, agent: int, block: list[Live]) -> None:
        matches, struck = _apart(block)
        answers = self._answers(agent, matches) if matches else []
        if len(answers) == len(matches):
            for match, answer in zip(matches, answers, strict=True):
                self._playing.play(match, answer)
                self._pulse()
            self._deciding.advance_each(struck, self._pulse)
        else:
            self._deciding.advance_each(block, self._pulse)

    def _answers(self, agent: int, matches: list[Live]) -> list[object]:
        """Return one answer per match, or none at all when they must be asked one by one."""
        self._beacon.show_block(agent, [match.index for match in matches])
        try:
            return list(self._setup.agents[agent].policy.act([match.row() for match in matches]))
        except Exception:  # asked one by one, the guilty row raises again and is charged
            return []

    def _show(self, agent: int, matches: Sequence[Live], phase: Phase) -> None:
        """Say whose call comes; that of a single match is proof against a seat or the game."""
        if len(matches) == 1:
            self._beacon.show(matches[0].index, matches[0].turn, phase)
        else:
            self._beacon.show_block(agent, [match.index for match in matches])


def _apart(block: list[Live]) -> tuple[list[Live], list[Live]]:
    """Return the matches that can be asked together and those that a fault strikes now."""
    return (
        [match for match in block if not match.is_struck],
        [match for match in block if match.is_struck],
    )
