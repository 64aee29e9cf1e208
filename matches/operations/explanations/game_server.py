"""Why a game server gets no matches, and what it has played."""

from datetime import datetime
from urllib.parse import urlencode

from arena.games import registry as games
from matches.ledger import server_voiding
from matches.models import Worker
from matches.store import game_servers
from matches.store.catalog import game_problem
from matches.store.formats import format_count, hide_folders

MAX_COUNTED = 10_000
"""Matches of a server that are counted for an explanation."""


def describe_serving(worker: Worker) -> str:
    """Return which game a server serves, where, and how many of its slots are taken."""
    n_taken = game_servers.count_taken(game_servers.read_dealt())[worker.node]
    slots = f"{n_taken:,} of {format_count(worker.slots, 'slot')} taken"
    return f"it serves {worker.game} at {worker.address}, {slots}"


def list_waits(worker: Worker, *, now: datetime) -> list[str]:
    """Return what keeps matches from a server that is alive and not in quarantine."""
    if worker.game not in games.names():
        return [f"matches of {worker.game or 'a game'}: that game is not installed here"]
    if problem := game_problem(worker.game):
        return [f"matches of {worker.game}: {hide_folders(problem)}"]
    spec = games.get(worker.game).spec
    problem = game_servers.describe_problem(worker, spec, now=now)
    return [f"its matches: it {problem}"] if problem else []


def list_notes(worker: Worker) -> list[str]:
    """Return where the matches are listed that a server in quarantine decided."""
    if worker.quarantined_at is None:
        return []
    n = server_voiding.count_matches(worker.node, most=MAX_COUNTED + 1)
    n_matches = format_count(min(n, MAX_COUNTED), "match", "matches")
    if n > MAX_COUNTED:
        n_matches = f"more than {n_matches}"
    address = f"/matches/?{urlencode({'server': worker.node})}"
    return [f"{n_matches} of its count ({address}): its page in the admin can declare them void"]
