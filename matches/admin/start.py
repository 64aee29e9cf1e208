"""The start page: the state of the system at a glance, in a bounded number of bounded queries."""

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Any, NamedTuple

from django.http import HttpRequest
from redis.exceptions import RedisError

from matches.admin.audit import address_of
from matches.campaigns import scheduling
from matches.models import (
    Agent,
    Attempt,
    AuditRow,
    Checkpoint,
    Leaderboard,
    Schedule,
    Tournament,
    Worker,
)
from matches.operations import explain, readiness
from matches.operations.explain import Explanation
from matches.operations.system import pushing
from matches.operations.system.display import Shown, Table, format_state
from matches.operations.system.sample import SystemState
from matches.store import selectors
from matches.store.clock import db_now
from matches.store.explanation import format_ago, format_count, format_span

log = logging.getLogger(__name__)

N_SHOWN = 8
N_QUARANTINED = 20
N_EXPLAINED = 2
"""Tournaments of which is said what they wait for."""
WINDOW = timedelta(minutes=1)
N_SEEN = 1_000
"""Attempts from which the pace is taken."""
_STATES = Tournament.State
_CLOSING = (Attempt.Ending.DONE.value, Attempt.Ending.FORFEIT.value)


class Running(NamedTuple):
    """A tournament under way, how far it is and how long it will take."""

    tournament: Tournament
    closed: str
    percent: int
    pace: str
    remaining: str


class Why(NamedTuple):
    """The line that says why nothing happens, or that all is well."""

    tone: str
    says: str
    more: Sequence[str]


def with_state(_: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the start page with the state of the system."""
    now = db_now()
    state = _state(now=now)
    found = format_state(state)
    tournaments = _tournaments()
    return {
        **context,
        "now": now,
        "shown": found,
        "tables": [_shortened(table) for table in found["tables"]],
        "why": _why(found, tournaments, now=now),
        "pace": state.sample.point.matches_per_s,
        "running": _running(tournaments, now=now),
        "boards": _boards(now=now),
        "checkpoints": _checkpoints(),
        "quarantined": _quarantined(),
        "schedules": _schedules(now=now),
        "audit": [(row, address_of(row)) for row in AuditRow.objects.order_by("-pk")[:N_SHOWN]],
    }


def _state(*, now: datetime) -> SystemState:
    try:
        return pushing.read_newest(now=now)
    except RedisError as error:
        log.warning("the start page is made from the database alone: %s", error)
        return pushing.look_alone(now=now)


def _tournaments() -> list[Tournament]:
    """Return those under way, and the newest that are paused."""
    with_board = Tournament.objects.select_related("leaderboard").order_by("-pk")
    active = with_board.filter(state__in=Tournament.ACTIVE)[:N_SHOWN]
    paused = with_board.filter(state=_STATES.PAUSED)[:N_SHOWN]
    return [*active, *paused]


def _running(tournaments: Sequence[Tournament], *, now: datetime) -> list[Running]:
    n_ended, seconds = _ended(now=now) if tournaments else (Counter[int](), 1.0)
    return [_one(t, n_ended[t.pk] / seconds) for t in tournaments]


def _one(tournament: Tournament, rate: float) -> Running:
    left = selectors.read_progress(tournament).pending
    percent = 100 * tournament.n_closed // max(1, tournament.n_matches)
    closed = f"{tournament.n_closed:,} of {tournament.n_matches:,}"
    if tournament.state == _STATES.PAUSED:
        return Running(tournament, closed, percent, "-", "it is paused")
    remaining = f"about {format_span(ceil(left / rate))}" if rate else "not known"
    return Running(tournament, closed, percent, f"{rate:.3g}/s", remaining)


def _ended(*, now: datetime) -> tuple[Counter[int], float]:
    """Return how many matches of each tournament ended within how many seconds."""
    columns = ("match__tournament", "ending", "ended_at")
    newest = list(Attempt.objects.order_by("-pk").values_list(*columns)[:N_SEEN])
    start = now - WINDOW
    if len(newest) == N_SEEN:
        # At a high pace they cover less than a minute.
        start = max(start, newest[-1][-1])
    ended = Counter(of for of, ending, at in newest if ending in _CLOSING and at >= start)
    return ended, max((now - start).total_seconds(), 1.0)


def _why(found: Shown, tournaments: Sequence[Tournament], *, now: datetime) -> Why:
    """Say what is wrong with the parts, else what tournaments wait for, else that all is well."""
    failed = [
        check for check in readiness.run_checks(now=db_now) if check.is_needed and not check.is_ok
    ]
    if failed:
        more = [f"{check.hint}" for check in failed if check.hint]
        says = "; ".join(f"{check.name} {check.detail}" for check in failed)
        return Why("bad", says, more)
    if found["trouble"]:
        return Why("bad", found["trouble"], [])
    active = [t for t in tournaments if t.state != _STATES.PAUSED]
    explained = [explain.of_tournament(t, now=now) for t in active[:N_EXPLAINED]]
    waiting = [one for one in explained if one.waits_for]
    if waiting:
        return Why("warn", _line(waiting[0]), [f"waits for {w}" for w in waiting[0].waits_for])
    if explained:
        return Why("good", _line(explained[0]), [explained[0].next] if explained[0].next else [])
    n_paused = len(tournaments)
    paused = f"; paused: {n_paused}" if n_paused else ""
    return Why("good", f"nothing is to be played: no tournament is under way{paused}", [])


def _line(explanation: Explanation) -> str:
    return f"{explanation.name}: {explanation.summary}"


def _shortened(table: Table) -> dict[str, Any]:
    """Return the first rows of a table, whose cells know their columns."""
    lines = [
        {**row, "labelled": list(zip(table["columns"], row["cells"], strict=True))}
        for row in table["rows"][:N_SHOWN]
    ]
    return {**table, "lines": lines, "n_hidden": len(table["rows"]) - len(lines)}


def _schedules(*, now: datetime) -> list[tuple[Schedule, datetime | None]]:
    enabled = Schedule.objects.filter(is_enabled=True).order_by("-pk")[:N_SHOWN]
    return [(schedule, scheduling.next_due(schedule, now=now)) for schedule in enabled]


def _boards(*, now: datetime) -> list[tuple[Leaderboard, str]]:
    boards = Leaderboard.objects.filter(is_listed=True)[:N_SHOWN]
    return [(board, _rated(board, now=now)) for board in boards]


def _rated(board: Leaderboard, *, now: datetime) -> str:
    if board.is_rerating:
        return "is being rated again"
    return f"rated{format_ago(board.rated_at, now=now)}" if board.rated_at else "not rated yet"


def _checkpoints() -> dict[str, Any]:
    """Return those under check, and the newest that were refused among the newest of all."""
    newest = Checkpoint.objects.order_by("-pk")[: 25 * N_SHOWN]
    refused = [one for one in newest if one.state == Checkpoint.State.REFUSED]
    checking = Checkpoint.objects.filter(state=Checkpoint.State.CHECKING).order_by("pk")
    return {"checking": list(checking[:N_SHOWN]), "refused": refused[:N_SHOWN]}


def _quarantined() -> dict[str, Any]:
    agents = list(Agent.objects.filter(quarantined_at__isnull=False).order_by("pk")[:N_QUARANTINED])
    workers = Worker.objects.filter(quarantined_at__isnull=False).order_by("pk")
    held = list(workers[:N_QUARANTINED])
    counted = [format_count(len(agents), "agent")] if agents else []
    counted += [format_count(len(held), "worker")] if held else []
    return {"agents": agents, "workers": held, "says": ", ".join(counted)}
