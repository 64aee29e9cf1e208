"""Tournaments: schedule, follow, start, pause, resume, extend, cancel."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Required, TypedDict, Unpack

from evalsite_client.decoding import decode
from evalsite_client.explanations import Explained
from evalsite_client.names import AgentName
from evalsite_client.pages import rows
from evalsite_client.plans import NewPlan, Plan, on_leaderboard

TournamentState = Literal["scheduled", "planning", "running", "paused", "done", "cancelled"]
OVER = ("done", "cancelled")


@dataclass(frozen=True)
class Tournament(Plan):
    """A tournament and how far it is; leaderboard: its name.

    state: one in planning is played as far as it is planned. n_done includes forfeits and n_known
    matches that were known, so not played again; n_differing of those that were played again came
    out otherwise than before.
    """

    id: int
    leaderboard: str
    name: str
    n_matches: int
    faults: Any
    replays: bool
    state: TournamentState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    n_planned: int
    n_done: int
    n_known: int
    n_differing: int
    n_forfeits: int
    n_void: int
    n_cancelled: int
    n_replaced: int
    n_retried: int
    n_refused: int
    mean_match_s: float | None
    problem: str

    @property
    def n_closed(self) -> int:
        """Return how many matches have ended, in whatever way."""
        return self.n_done + self.n_void + self.n_cancelled

    @property
    def is_over(self) -> bool:
        """Return whether nothing of it is played any more."""
        return self.state in OVER

    @property
    def shown_state(self) -> str:
        """Return its state in the word of people: what is planned while it plays is running."""
        return "running" if self.state == "planning" and self.n_planned else self.state


@dataclass(frozen=True)
class TournamentDetail(Tournament):
    """A tournament with the first of those who take part."""

    agents: tuple[AgentName, ...]


@dataclass(frozen=True)
class Entrant:
    """An agent's place in a tournament."""

    position: int
    agent: AgentName


class NewTournament(NewPlan, total=False):
    """A tournament to schedule: the leaderboard by name, the agents by id.

    move_s, match_s: limits in seconds; is_paused: it waits to be started; replays: known games are
    played again.
    """

    leaderboard: Required[str]
    agents: Required[Sequence[int]]
    name: Required[str]
    n_matches: Required[int]
    faults: Mapping[str, Any] | None
    replays: bool
    is_paused: bool


class TournamentFilter(TypedDict, total=False):
    """Which tournaments to list; leaderboard: its name."""

    leaderboard: str
    state: TournamentState


class TournamentCalls(Explained):
    """The calls of the API."""

    path = "tournaments"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[TournamentFilter]
    ) -> Iterator[Tournament]:
        """Yield tournaments, the newest first."""
        query = {**on_leaderboard(wanted), "page_size": page_size}
        return rows(self._transport, self.path, Tournament, query)

    def get(self, tournament: int) -> TournamentDetail:
        """Return one tournament with the first of its agents."""
        return decode(TournamentDetail, self._transport.get(f"{self.path}/{tournament}"))

    def agents(self, tournament: int, *, page_size: int | None = None) -> Iterator[Entrant]:
        """Yield who takes part, by position."""
        path, wanted = f"{self.path}/{tournament}/agents", {"page_size": page_size}
        return rows(self._transport, path, Entrant, wanted)

    def schedule(
        self, *, key: str | None = None, **wanted: Unpack[NewTournament]
    ) -> TournamentDetail:
        """Schedule a tournament, which starts unless it is to wait."""
        return decode(TournamentDetail, self._transport.post(self.path, wanted, key=key))

    def start(self, tournament: int, *, key: str | None = None) -> TournamentDetail:
        """Begin with a tournament that was scheduled as paused; the same as resume."""
        return self._changed(tournament, "start", key=key)

    def pause(self, tournament: int, *, key: str | None = None) -> TournamentDetail:
        """Send no more of its matches; those sent already are played to their end."""
        return self._changed(tournament, "pause", key=key)

    def resume(self, tournament: int, *, key: str | None = None) -> TournamentDetail:
        """Go on with a paused tournament."""
        return self._changed(tournament, "resume", key=key)

    def cancel(self, tournament: int, *, key: str | None = None) -> TournamentDetail:
        """Cancel every match that is still open; cancelling again changes nothing."""
        return self._changed(tournament, "cancel", key=key)

    def extend(
        self, tournament: int, *, n_matches: int, key: str | None = None
    ) -> TournamentDetail:
        """Let it have so many matches in all; one that was done goes on."""
        return self._changed(tournament, "extend", {"n_matches": n_matches}, key=key)

    def _changed(
        self, tournament: int, change: str, body: Any = None, *, key: str | None
    ) -> TournamentDetail:
        answer = self._transport.post(f"{self.path}/{tournament}/{change}", body, key=key)
        return decode(TournamentDetail, answer)
