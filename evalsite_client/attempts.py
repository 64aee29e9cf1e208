"""Attempts: tries at playing a match that have ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict, Unpack

from evalsite_client.names import Noun
from evalsite_client.pages import rows

Ending = Literal["done", "forfeit", "failed", "interrupted", "expired"]


@dataclass(frozen=True)
class Attempt:
    """How a try at a match ended and why; no guilty seat: -1."""

    number: int
    ending: Ending
    reason: str
    seat: int
    detail: str
    node: str
    was_executing: bool
    n_steps: int
    duration_ms: int
    ended_at: datetime


@dataclass(frozen=True)
class ListedAttempt(Attempt):
    """An attempt with the ids of its match and tournament."""

    match: int
    tournament: int


class AttemptFilter(TypedDict, total=False):
    """Which attempts to list; within a tournament those of one ending but `done`."""

    match: int
    ending: Ending
    tournament: int


class Attempts(Noun):
    """Attempts: list."""

    path = "attempts"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[AttemptFilter]
    ) -> Iterator[ListedAttempt]:
        """Yield attempts, the newest first."""
        return rows(self._transport, self.path, ListedAttempt, {**wanted, "page_size": page_size})
