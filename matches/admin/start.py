"""The start page: the state of the system at a glance, in a bounded number of bounded queries."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Any, NamedTuple

from django.db.models import Sum
from django.http import HttpRequest
from django.utils.text import capfirst
from redis.exceptions import RedisError

from matches.admin.audit import find_target_address
from matches.campaigns import scheduling
from matches.models import (
    Agent,
    Attempt,
    AuditRow,
    Checkpoint,
    Leaderboard,
    Order,
    Schedule,
    Tournament,
    Worker,
)
from matches.operations import explain, readiness
from matches.operations.system import pushing
from matches.operations.system.display import SystemPage, format_state
from matches.operations.system.sample import SystemState
from matches.operations.system.tables import Table
from matches.store import selectors
from matches.store.clock import db_now
from matches.store.formats import format_ago, format_count, format_pace, format_span

log = logging.getLogger(__name__)

N_SHOWN = 8
N_QUARANTINED = 20
N_REFUSED = 3
N_EXPLAINED = 2
"""Tournaments of which is said what they wait for."""
WINDOW = timedelta(minutes=1)
N_SEEN = 1_000
"""Attempts from which the pace is taken."""
_STATES = Tournament.State
_CLOSING = (Attempt.Ending.DONE.value, Attempt.Ending.FORFEIT.value)


class Running(NamedTuple):
    """A tournament under way, how far it is, how long it will take and what it waits for."""

    tournament: Tournament
    closed: str
    percent: int
    in_hand: int
    pace: str
    remaining: str
    waits_for: str


class Headline(NamedTuple):
    """The line that says why nothing happens, or that all is well."""

    tone: str
    says: str
    more: Sequence[str]


def add_state(_: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the start page with the state of the system."""
    now = db_now()
    state = _read_state(now=now)
    state_texts = format_state(state)
    by_age = Tournament.objects.select_related("leaderboard").order_by("-pk")
    # Two queries: many that are paused must not hide what is under way.
    newest = list(by_age.filter(state__in=Tournament.ACTIVE)[: N_SHOWN + 1])
    in_hand = _count_in_hand()
    # First those that the nodes play, however old: they are what the others wait for.
    in_flight = list(by_age.filter(pk__in=in_hand, state__in=Tournament.ACTIVE))
    active = list(dict.fromkeys([*in_flight, *newest[:N_SHOWN]]))
    paused = list(by_age.filter(state=_STATES.PAUSED)[:N_SHOWN])
    waits = {tournament.pk: tournament.waits_for for tournament in state.sample.tournaments}
    schedules = Schedule.objects.filter(is_enabled=True).order_by("-pk")[:N_SHOWN]
    boards = Leaderboard.objects.filter(is_listed=True)[:N_SHOWN]
    return {
        **context,
        "now": now,
        "shown": state_texts,
        # Tournaments have a table of their own here, with more about each.
        "tables": [
            _shorten_table(table)
            for table in state_texts["tables"]
            if table["name"] != "tournaments"
        ],
        "why": _write_headline(state_texts, active, len(paused), now=now),
        "pace": state.sample.point.matches_per_s,
        "running": _measure_running([*active, *paused], in_hand, waits, now=now),
        "has_more": len(newest) > N_SHOWN or len(paused) == N_SHOWN,
        "boards": [(board, _describe_rating(board, now=now)) for board in boards],
        "checkpoints": _list_checkpoints(),
        "quarantined": _list_quarantined(),
        "schedules": [(schedule, scheduling.next_due(schedule, now=now)) for schedule in schedules],
        "audit": [
            (row, find_target_address(row)) for row in AuditRow.objects.order_by("-pk")[:N_SHOWN]
        ],
    }


def _read_state(*, now: datetime) -> SystemState:
    try:
        return pushing.read_newest(now=now)
    except RedisError as error:
        log.warning("the start page is made from the database alone: %s", error)
        return pushing.look_alone(now=now)


def _count_in_hand() -> dict[int, int]:
    """Return of which tournaments the nodes have matches in hand, the most first, and how many."""
    open_orders = Order.objects.filter(Order.is_open(), node__gt="")
    sums = open_orders.values("tournament").annotate(n_in_hand=Sum("n_matches"))
    ranked = sums.order_by("-n_in_hand", "tournament").values_list("tournament", "n_in_hand")
    return dict(ranked[:N_SHOWN])


def _measure_running(
    tournaments: Sequence[Tournament],
    in_hand: Mapping[int, int],
    waits: Mapping[int, str],
    *,
    now: datetime,
) -> list[Running]:
    n_ended, seconds = _count_ended(now=now) if tournaments else (Counter[int](), 1.0)
    rows = []
    for tournament in tournaments:
        percent = 100 * tournament.n_closed // max(1, tournament.n_matches)
        closed = f"{tournament.n_closed:,} of {tournament.n_matches:,}"
        rate = n_ended[tournament.pk] / seconds
        pace, remaining = format_pace(rate), "not known"
        if tournament.state == _STATES.PAUSED:
            pace, remaining = "\N{EN DASH}", "it is paused"
        elif rate:
            pending = selectors.read_progress(tournament).pending
            remaining = f"about {format_span(ceil(pending / rate))}"
        n_in_hand, waits_for = in_hand.get(tournament.pk, 0), waits.get(tournament.pk, "")
        rows.append(Running(tournament, closed, percent, n_in_hand, pace, remaining, waits_for))
    return rows


def _count_ended(*, now: datetime) -> tuple[Counter[int], float]:
    """Return how many matches of each tournament ended within how many seconds."""
    columns = ("match__tournament", "ending", "ended_at")
    newest = list(Attempt.objects.order_by("-pk").values_list(*columns)[:N_SEEN])
    start = now - WINDOW
    if len(newest) == N_SEEN:
        # At a high pace they cover less than a minute.
        start = max(start, newest[-1][-1])
    ended = Counter(of for of, ending, at in newest if ending in _CLOSING and at >= start)
    return ended, max((now - start).total_seconds(), 1.0)


def _write_headline(
    state_texts: SystemPage, active: Sequence[Tournament], n_paused: int, *, now: datetime
) -> Headline:
    """Say what is wrong with the parts, else what tournaments wait for, else that all is well."""
    checks = readiness.run_checks(now=db_now)
    failed = [check for check in checks if check.is_needed and not check.is_ok]
    if failed:
        says = "; ".join(f"{check.name} {check.detail}" for check in failed)
        # Each advice with the part it is for: two in a row read as one.
        part = "{0.name}: {0.hint}" if len(failed) > 1 else "{0.hint}"
        return Headline(
            "bad", capfirst(says), [part.format(check) for check in failed if check.hint]
        )
    if state_texts["trouble"]:
        return Headline("bad", capfirst(state_texts["trouble"]), [])
    # Of the newest only: each takes queries of its own.
    explained = [explain.of_tournament(t, now=now) for t in active[:N_EXPLAINED]]
    if explained:
        worst = next((finding for finding in explained if finding.waits_for), explained[0])
        waits = [f"waits for {wait}" for wait in worst.waits_for]
        tone = "warn" if worst.waits_for else "good"
        more = waits or [worst.next] * bool(worst.next)
        return Headline(tone, f"{worst.name}: {worst.summary}", more)
    paused = f"; paused: {n_paused}" if n_paused else ""
    return Headline("good", f"Nothing is to be played: no tournament is under way{paused}", [])


def _shorten_table(table: Table) -> dict[str, Any]:
    """Return the first rows of a table, whose cells know their columns."""
    lines = [
        {**row, "labelled": list(zip(table["columns"], row["cells"], strict=True))}
        for row in table["rows"][:N_SHOWN]
    ]
    return {**table, "lines": lines, "n_hidden": len(table["rows"]) - len(lines)}


def _describe_rating(board: Leaderboard, *, now: datetime) -> str:
    if board.is_rerating:
        return "is being rated again"
    return f"rated{format_ago(board.rated_at, now=now)}" if board.rated_at else "not rated yet"


def _list_checkpoints() -> dict[str, Any]:
    """Return those under check, and those refused of the newest of all: some, and how many more."""
    # No index finds those refused: of the newest only, else all checkpoints would be read.
    newest = Checkpoint.objects.order_by("-pk")[: 25 * N_SHOWN]
    refused = [checkpoint for checkpoint in newest if checkpoint.state == Checkpoint.State.REFUSED]
    checking = Checkpoint.objects.filter(state=Checkpoint.State.CHECKING).order_by("pk")
    return {
        "checking": list(checking[:N_SHOWN]),
        "refused": refused[:N_REFUSED],
        "n_more_refused": max(0, len(refused) - N_REFUSED),
    }


def _list_quarantined() -> dict[str, Any]:
    agents = list(Agent.objects.filter(quarantined_at__isnull=False).order_by("pk")[:N_QUARANTINED])
    workers = Worker.objects.filter(quarantined_at__isnull=False).order_by("pk")
    quarantined = list(workers[:N_QUARANTINED])
    counts = [format_count(len(agents), "agent")] if agents else []
    counts += [format_count(len(quarantined), "worker")] if quarantined else []
    return {"agents": agents, "workers": quarantined, "says": ", ".join(counts)}
