"""Alarms: agents that are probably worse than what they were trained from."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, Unpack

from evalsite_client.decoding import decode
from evalsite_client.names import AgentName, Noun
from evalsite_client.pages import rows


@dataclass(frozen=True)
class Alarm:
    """An agent that is probably worse than its best ancestor by more than the margin.

    probability: of that; level: from which it is an alarm; margin: in units of rating.
    """

    id: int
    agent: AgentName
    ancestor: AgentName
    campaign: int
    leaderboard: str
    probability: float
    margin: float
    level: float
    at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str


class AlarmFilter(TypedDict, total=False):
    """Which alarms to list; leaderboard: its name; open: whether nobody has acknowledged it."""

    leaderboard: str
    open: bool


class Alarms(Noun):
    """Alarms: list, look at, acknowledge."""

    path = "alarms"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[AlarmFilter]
    ) -> Iterator[Alarm]:
        """Yield alarms, the newest first."""
        return rows(self._transport, self.path, Alarm, {**wanted, "page_size": page_size})

    def get(self, alarm: int) -> Alarm:
        """Return one alarm."""
        return decode(Alarm, self._transport.get(f"{self.path}/{alarm}"))

    def acknowledge(self, alarm: int, *, reason: str = "", key: str | None = None) -> Alarm:
        """Note that somebody has seen it; the first one is kept."""
        path, body = f"{self.path}/{alarm}/acknowledge", {"reason": reason}
        return decode(Alarm, self._transport.post(path, body, key=key))
