"""Agents: a policy kind with its parameters in one game."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Required, TypedDict, Unpack

from evalsite_client.decoding import decode
from evalsite_client.explanations import Explained
from evalsite_client.pages import rows

Placement = Literal["local", "gpu"]


@dataclass(frozen=True)
class Agent:
    """A rated competitor.

    version: of its code, of a plug-in the SHA-256 of its file, empty: not known. newer: the id of
    the agent that has its name since its code was changed.
    """

    id: int
    name: str
    game: str
    policy: str
    parameters: Mapping[str, Any]
    checkpoint: str | None
    version: str
    newer: int | None
    placement: Placement
    is_retired: bool
    quarantined_at: datetime | None
    quarantine_reason: str
    created_at: datetime


class NewAgent(TypedDict, total=False):
    """An agent to register; checkpoint: of a network, a stored hash or an agent that has it."""

    name: Required[str]
    game: Required[str]
    policy: Required[str]
    parameters: Mapping[str, Any]
    checkpoint: str


class AgentFilter(TypedDict, total=False):
    """Which agents to list."""

    name: str
    game: str
    policy: str
    checkpoint: str
    is_retired: bool


class Agents(Explained):
    """Agents: list, look at, register, retire."""

    path = "agents"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[AgentFilter]
    ) -> Iterator[Agent]:
        """Yield agents, the newest first."""
        return rows(self._transport, self.path, Agent, {**wanted, "page_size": page_size})

    def get(self, agent: int) -> Agent:
        """Return one agent."""
        return decode(Agent, self._transport.get(f"{self.path}/{agent}"))

    def find(self, name: str, *, game: str) -> Agent | None:
        """Return the agent of a name, which is unique within its game; None if there is none."""
        return next(self.list(name=name, game=game), None)

    def register(self, *, key: str | None = None, **wanted: Unpack[NewAgent]) -> Agent:
        """Register an agent; registering the same one again changes nothing."""
        return decode(Agent, self._transport.post(self.path, wanted, key=key))

    def retire(self, agent: int, *, key: str | None = None) -> Agent:
        """Enter an agent in no tournament any more; those under way go on."""
        return decode(Agent, self._transport.post(f"{self.path}/{agent}/retire", key=key))

    def unretire(self, agent: int, *, key: str | None = None) -> Agent:
        """Let an agent be entered in tournaments again."""
        return decode(Agent, self._transport.post(f"{self.path}/{agent}/unretire", key=key))

    def quarantine(self, agent: int, *, reason: str, key: str | None = None) -> Agent:
        """Send no more matches of an agent; those with nodes are played to their end."""
        return self._operated(agent, "quarantine", reason, key)

    def release(self, agent: int, *, reason: str = "", key: str | None = None) -> Agent:
        """End the quarantine of an agent: its pending matches are sent."""
        return self._operated(agent, "release", reason, key)

    def _operated(self, agent: int, change: str, reason: str, key: str | None) -> Agent:
        path, body = f"{self.path}/{agent}/{change}", {"reason": reason}
        return decode(Agent, self._transport.post(path, body, key=key))
