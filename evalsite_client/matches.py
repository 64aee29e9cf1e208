"""Matches: a unit of rating between agents, by seat."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

from evalsite_client.attempts import Attempt
from evalsite_client.decoding import decode
from evalsite_client.explanations import Explained
from evalsite_client.outcomes import Outcome
from evalsite_client.pages import rows

MatchState = Literal["pending", "queued", "running", "done", "void", "cancelled"]
Needs = Literal["cpu", "torch", "cpu+gpu", "torch+gpu"]


@dataclass(frozen=True)
class Match:
    """A match; agents: their ids by seat."""

    id: int
    tournament: int
    sequence: int
    block: int
    rotation: int
    game_seed: int
    agents: tuple[int, ...]
    needs: Needs
    state: MatchState
    attempt: int
    void_reason: str


@dataclass(frozen=True)
class MatchDetail(Match):
    """A match with every attempt and its outcome."""

    attempts: tuple[Attempt, ...]
    outcome: Outcome | None


class MatchFilter(TypedDict, total=False):
    """One of tournament, leaderboard (by name) and agent; state only with a tournament alone."""

    tournament: int
    leaderboard: str
    agent: int
    state: MatchState


class Matches(Explained):
    """Matches: list, look at."""

    path = "matches"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[MatchFilter]
    ) -> Iterator[Match]:
        """Yield matches in planned order; those of an agent the newest first."""
        return rows(self._transport, self.path, Match, {**wanted, "page_size": page_size})

    def get(self, match: int) -> MatchDetail:
        """Return one match with attempts and outcome."""
        return decode(MatchDetail, self._transport.get(f"{self.path}/{match}"))
