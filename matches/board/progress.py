"""What stands above the table of a leaderboard: how far its tournaments are, and who can play."""

from collections.abc import Iterable
from datetime import datetime
from typing import TypedDict

from matches.models import Leaderboard, Rating, Tournament
from matches.ratings.axes import Axis, fit_axis
from matches.ratings.standings import Row, has_played
from matches.store import selectors
from matches.store.formats import format_pace

N_TOURNAMENTS = 4


class ShownTournament(TypedDict):
    """How far a tournament is, as text, and its parts as percent of all matches for the bar."""

    id: int
    name: str
    state: str
    closed: str
    n_matches: str
    pending: str
    completed: str
    forfeits: str
    error: str
    cancelled: str
    retried: str
    percent_completed: float
    percent_error: float
    percent_cancelled: float
    pace: str
    parts: str


class Status(TypedDict):
    """What stands above the table."""

    n_outcomes: str
    n_agents: str
    axis: Axis
    tournaments: list[ShownTournament]


class Nodes(TypedDict):
    """Who can play."""

    nodes: str
    slots: str


def describe_board(board: Leaderboard, rows: Iterable[Row], *, now: datetime) -> Status:
    """Return what stands above these rows. The pace is over the time until the last rating."""
    newest = board.tournaments.order_by("-pk")
    tournaments = list(newest.filter(state__in=Tournament.UNDER_WAY)[:N_TOURNAMENTS])
    ended = newest.exclude(state__in=Tournament.UNDER_WAY)
    tournaments += ended[: N_TOURNAMENTS - len(tournaments)]
    return {
        "n_outcomes": f"{board.n_counted:,}",
        "n_agents": f"{Rating.objects.filter(leaderboard=board).count():,}",
        "axis": fit_axis(row for row in rows if has_played(row)),
        "tournaments": [describe_tournament(t, now=board.rated_at or now) for t in tournaments],
    }


def describe_tournament(tournament: Tournament, *, now: datetime) -> ShownTournament:
    """Return the progress of one tournament."""
    so_far = selectors.read_progress(tournament)
    # Not the cancelled ones: a tournament cancelled at once has played nothing.
    closed = so_far.completed + so_far.error
    whole = max(so_far.n_matches, 1)
    elapsed_s, pace = selectors.compute_elapsed_s(tournament, now=now), ""
    if elapsed_s > 0 and so_far.completed:
        pace = format_pace(so_far.completed / elapsed_s)
    return {
        "id": tournament.pk,
        "name": tournament.name,
        "state": tournament.shown_state,
        "closed": f"{closed:,}",
        "n_matches": f"{so_far.n_matches:,}",
        "pending": f"{so_far.pending:,}",
        "completed": f"{so_far.completed:,}",
        "forfeits": f"{so_far.forfeits:,}",
        "error": f"{so_far.error:,}",
        "cancelled": f"{so_far.cancelled:,}",
        "retried": f"{so_far.retried:,}",
        "percent_completed": round(100 * so_far.completed / whole, 2),
        "percent_error": round(100 * so_far.error / whole, 2),
        "percent_cancelled": round(100 * so_far.cancelled / whole, 2),
        "pace": pace,
        "parts": tournament.shown_parts,
    }


def count_nodes(*, now: datetime) -> Nodes:
    """Return how many play nodes are alive and how many matches they play at once."""
    alive = selectors.list_alive_workers(now=now)
    return {"nodes": f"{len(alive):,}", "slots": f"{sum(w.slots for w in alive):,}"}
