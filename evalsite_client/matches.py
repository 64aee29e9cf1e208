"""Matches: a unit of rating between agents, by seat."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
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
class Voiding:
    """Why people declared a match void; what had an outcome was struck and counts no more."""

    at: datetime
    actor: str
    reason: str
    was_done: bool


@dataclass(frozen=True)
class MatchDetail(Match):
    """A match with every attempt and its outcome.

    replacement: the id of what is played instead of it; replaces: of what it is played instead of.
    same_as: of the same game that was over before; is_differing: it came out otherwise than that.
    """

    attempts: tuple[Attempt, ...]
    outcome: Outcome | None
    voiding: Voiding | None
    replacement: int | None
    replaces: int | None
    same_as: int | None
    is_differing: bool


@dataclass(frozen=True)
class Voided:
    """What became void: n_open were not over, n_struck had an outcome, which is kept.

    leaderboards: are rated again without them.
    """

    n_open: int
    n_struck: int
    n_unchanged: int
    leaderboards: tuple[str, ...]


@dataclass(frozen=True)
class Replacement:
    """A void match and the one that is played in its place, by id."""

    replaced: int
    match: int


@dataclass(frozen=True)
class Requeued:
    """The replacements, those that were there before included."""

    n_new: int
    replacements: tuple[Replacement, ...]


class MatchFilter(TypedDict, total=False):
    """One of tournament, leaderboard (by name) and agent; state only with a tournament alone."""

    tournament: int
    leaderboard: str
    agent: int
    state: MatchState


class Matches(Explained):
    """Matches: list, look at, declare void, have played again."""

    path = "matches"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[MatchFilter]
    ) -> Iterator[Match]:
        """Yield matches in planned order; those of an agent the newest first."""
        return rows(self._transport, self.path, Match, {**wanted, "page_size": page_size})

    def get(self, match: int) -> MatchDetail:
        """Return one match with attempts and outcome."""
        return decode(MatchDetail, self._transport.get(f"{self.path}/{match}"))

    def void(self, matches: Sequence[int], *, reason: str, key: str | None = None) -> Voided:
        """Declare matches void: open ones end, outcomes are kept and count no more."""
        body = {"matches": [*matches], "reason": reason}
        return decode(Voided, self._transport.post(f"{self.path}/void", body, key=key))

    def requeue(self, matches: Sequence[int], *, reason: str, key: str | None = None) -> Requeued:
        """Have void matches played again: same agents, seats and game seed, each once."""
        body = {"matches": [*matches], "reason": reason}
        return decode(Requeued, self._transport.post(f"{self.path}/requeue", body, key=key))
