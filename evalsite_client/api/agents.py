"""Agents of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite_client.api.shared import Explanation, Pass, Placement
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Agent:
    """A rated competitor.

    name: Unique within the game.
    version: Of its code: as declared, of a plug-in the SHA-256 of its file.
    newer: Id of the agent that has its name since its code was changed.
    placement: Where its network runs: the verdict on its checkpoint, once that is ready.
    is_retired: Stays on its leaderboards and is not entered any more.
    quarantined_at: Since then no match of it is sent; empty: it plays.
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


class Agents(Calls):
    """Agents: a policy kind with its parameters in one game."""

    def list(
        self,
        *,
        checkpoint: str | None = None,
        game: str | None = None,
        is_retired: bool | None = None,
        name: str | None = None,
        policy: str | None = None,
        page_size: int | None = None,
    ) -> Rows[Agent]:
        """Yield agents, fetched page by page as they are asked for."""
        return self._rows(
            Agent,
            "agents",
            {
                "checkpoint": checkpoint,
                "game": game,
                "is_retired": is_retired,
                "name": name,
                "policy": policy,
                "page_size": page_size,
            },
        )

    def register(
        self,
        *,
        name: str,
        game: str,
        policy: str,
        parameters: Mapping[str, Any] | None = None,
        checkpoint: str = "",
        key: str | None = None,
    ) -> Agent:
        """Register an agent; registering the same one again changes nothing.

        checkpoint: Of a network: the hash of a stored one, or an agent that has it.
        """
        return self._post(
            Agent,
            "agents",
            {
                "name": name,
                "game": game,
                "policy": policy,
                "parameters": parameters,
                "checkpoint": checkpoint,
            },
            key=key,
        )

    def get(self, agent: int) -> Agent:
        """Return one agent."""
        return self._get(Agent, f"agents/{agent}")

    def explain(self, agent: int) -> Explanation:
        """Say in which state it is, since when, what it waits for and what happens next."""
        return self._get(Explanation, f"agents/{agent}/explanation")

    def head_pass(self, agent: int, *, key: str | None = None) -> Pass:
        """Make a pass to ask an agent for decisions at the evaluation head, for about a day."""
        return self._post(Pass, f"agents/{agent}/head_pass", key=key)

    def quarantine(self, agent: int, *, reason: str, key: str | None = None) -> Agent:
        """Send no more matches of an agent; those with nodes are played to their end."""
        return self._post(Agent, f"agents/{agent}/quarantine", {"reason": reason}, key=key)

    def release(self, agent: int, *, reason: str = "", key: str | None = None) -> Agent:
        """End the quarantine of an agent: its pending matches are sent."""
        return self._post(Agent, f"agents/{agent}/release", {"reason": reason}, key=key)

    def retire(self, agent: int, *, key: str | None = None) -> Agent:
        """Enter an agent in no tournament any more; those under way go on."""
        return self._post(Agent, f"agents/{agent}/retire", key=key)

    def unretire(self, agent: int, *, key: str | None = None) -> Agent:
        """Let an agent be entered in tournaments again."""
        return self._post(Agent, f"agents/{agent}/unretire", key=key)
