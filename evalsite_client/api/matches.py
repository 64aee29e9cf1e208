"""Matches of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evalsite_client.api.shared import Attempt, Explanation, Outcome
from evalsite_client.calls import Calls
from evalsite_client.records import Rows

MatchState = Literal["pending", "queued", "running", "done", "void", "cancelled"]


@dataclass(frozen=True)
class Match:
    """A match; the agents by seat.

    sequence: Planned place on the leaderboard.
    block: How many blocks its agents had before.
    rotation: Seat rotation within the block.
    agents: Return the agents' ids by seat.
    needs: What its node must have, and the services it asks: of its game, and of where its
        agents' networks run; written at planning.
    """

    id: int
    tournament: int
    sequence: int
    block: int
    rotation: int
    game_seed: int
    agents: tuple[int, ...]
    needs: str
    state: MatchState
    attempt: int
    void_reason: str


@dataclass(frozen=True)
class Voiding:
    """Why people declared a match void; what had an outcome was struck and counts no more.

    was_done: It had an outcome, which stays and counts no more.
    """

    at: datetime
    actor: str
    reason: str
    was_done: bool


@dataclass(frozen=True)
class MatchDetail(Match):
    """A match with every attempt and its outcome.

    replacement: What is played instead of it.
    replaces: What it is played instead of.
    same_as: The same game, which was over before.
    is_differing: It came out otherwise than that one.
    """

    attempts: tuple[Attempt, ...]
    outcome: Outcome | None
    voiding: Voiding | None
    replacement: int | None
    replaces: int | None
    same_as: int | None
    is_differing: bool


@dataclass(frozen=True)
class Replacement:
    """A void match and the one that is played in its place."""

    replaced: int
    match: int


@dataclass(frozen=True)
class Requeued:
    """The replacements, those that were there before included."""

    n_new: int
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True)
class Voided:
    """What became void; what was void or cancelled before is unchanged.

    n_open: Were not over: later reports are refused.
    n_struck: Had an outcome, which is kept.
    leaderboards: Are rated again without them.
    """

    n_open: int
    n_struck: int
    n_unchanged: int
    leaderboards: tuple[str, ...]


class Matches(Calls):
    """Matches; one of them comes with attempts and outcome."""

    def list(
        self,
        *,
        agent: int | None = None,
        leaderboard: str | None = None,
        state: MatchState | None = None,
        tournament: int | None = None,
        page_size: int | None = None,
    ) -> Rows[Match]:
        """Yield matches, fetched page by page as they are asked for."""
        return self._rows(
            Match,
            "matches",
            {
                "agent": agent,
                "leaderboard": leaderboard,
                "state": state,
                "tournament": tournament,
                "page_size": page_size,
            },
        )

    def get(self, match: int) -> MatchDetail:
        """Return one match."""
        return self._get(MatchDetail, f"matches/{match}")

    def explain(self, match: int) -> Explanation:
        """Say in which state it is, since when, what it waits for and what happens next."""
        return self._get(Explanation, f"matches/{match}/explanation")

    def requeue(self, matches: Sequence[int], *, reason: str, key: str | None = None) -> Requeued:
        """Have void matches played again: same agents, seats and game seed, each once."""
        return self._post(
            Requeued, "matches/requeue", {"reason": reason, "matches": matches}, key=key
        )

    def void(self, matches: Sequence[int], *, reason: str, key: str | None = None) -> Voided:
        """Declare matches void: open ones end, outcomes are kept and count no more."""
        return self._post(Voided, "matches/void", {"reason": reason, "matches": matches}, key=key)
