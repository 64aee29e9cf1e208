"""What the system cost: core-hours, GPU-seconds and money by day, board and agent."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import (
    Case,
    Count,
    DurationField,
    F,
    FloatField,
    Q,
    Sum,
    Value,
    When,
)
from django.urls import reverse

from matches.ledger.costs import price_seconds_played
from matches.models import DayCost, Leaderboard, NodeRun, Rating
from matches.models.choices import Placement

N_DAYS, N_COUNTED_DAYS = 14, 30
N_BOARDS, N_AGENTS = 10, 10
HOUR_S = 3600
FINE, LEAST = 0.1, 0.001
PRICES_HINT = (
    "Set EVALSITE_PRICE_CPU and EVALSITE_PRICE_GPU (of an hour) to see what it cost in money."
)


class _Cost(NamedTuple):
    """What so many matches cost."""

    n_matches: int
    core_s: float
    gpu_s: float


class Costs(NamedTuple):
    """What the system cost: all of the counted days as labels and numbers, and the tables."""

    total: list[tuple[str, str]]
    tables: list[dict[str, Any]]


def describe_costs(*, now: datetime) -> Costs:
    """Return the cost in a line, and the tables by day, board and agent: a handful of queries."""
    since = now.astimezone(UTC).date() - timedelta(days=N_COUNTED_DAYS - 1)
    recent = DayCost.objects.filter(day__gte=since).order_by()
    days = _sum_by(recent, "day")
    boards = _sum_by(recent, "tournament__leaderboard")
    dearest = sorted(boards, key=lambda pk: -_price_cost(boards[pk]))[:N_BOARDS]
    costly = {pk: boards[pk] for pk in dearest}
    named = Leaderboard.objects.only("name", "title").in_bulk(costly)
    day_rows = [_make_row(f"{day}", "", days[day]) for day in sorted(days, reverse=True)[:N_DAYS]]
    board_rows = [
        _make_row(str(named[pk]), reverse("board", args=[named[pk].name]), costly[pk])
        for pk in dearest
    ]
    newest = f"the last {N_COUNTED_DAYS} days"
    tables = [
        _make_table("cost-days", f"Cost by day (UTC), the newest {N_DAYS}", "Day", day_rows),
        _make_table("cost-boards", f"Cost by board, {newest}", "Board", board_rows),
        _make_table(
            "cost-agents",
            f"Cost by agent, {newest}: an estimate, as seats are not measured one by one. Each of "
            f"the {N_BOARDS} dearest boards is split by how many matches its agents played there "
            "ever, so one that played long ago has a part of it, too",
            "Agent",
            _list_agents(costly),
            counted="Matches there, ever",
        ),
        _make_class_table(since),
    ]
    return Costs(_sum_up(list(days.values())), tables)


def _sum_up(costs: Sequence[_Cost]) -> list[tuple[str, str]]:
    """Return the whole cost as labels and numbers; nothing where nothing is entered."""
    if not costs:
        return []
    whole = _Cost(*(sum(parts) for parts in zip(*costs, strict=True)))
    numbers = _make_row("", "", whole)["cells"][1:]
    return list(zip(_list_units(), numbers, strict=True))


def _sum_by(rows: Any, key: str) -> dict[Any, _Cost]:
    summed = rows.values(key).annotate(n=Sum("n_matches"), core=Sum("core_s"), gpu=Sum("gpu_s"))
    return {row[key]: _Cost(row["n"], row["core"], row["gpu"]) for row in summed}


def _price_cost(cost: _Cost) -> float:
    """Return what it is sorted by: money, and while nothing has a price, seconds."""
    return price_seconds_played(cost.core_s, cost.gpu_s) if _has_prices() else cost.core_s


def _list_agents(boards: Mapping[int, _Cost]) -> list[dict[str, Any]]:
    """Return the agents with the largest share; who sat in a match has an equal part of it."""
    rated = Rating.objects.filter(leaderboard__in=boards).order_by()
    summed = rated.values("leaderboard").annotate(
        n=Sum("n_matches"), gpu=Sum(_GPU_WEIGHT, default=0.0)
    )
    totals = {row["leaderboard"]: row for row in summed if row["n"]}
    whens = [
        When(leaderboard=pk, then=Value(boards[pk].core_s / total["n"]))
        for pk, total in totals.items()
    ]
    if not whens:
        return []
    gpu_whens = [
        When(leaderboard=pk, then=Value(boards[pk].gpu_s / total["gpu"]))
        for pk, total in totals.items()
        if total["gpu"]
    ]
    shares = rated.filter(leaderboard__in=totals, n_matches__gt=0).values("agent", "agent__name")
    dearest = shares.annotate(
        n=Sum("n_matches"),
        core=Sum(F("n_matches") * _choose_case(whens)),
        gpu=Sum(_GPU_WEIGHT * _choose_case(gpu_whens)),
    ).order_by("-core", "agent")[:N_AGENTS]
    return [
        _make_row(
            row["agent__name"],
            reverse("agent", args=[row["agent"]]),
            _Cost(row["n"], row["core"], row["gpu"]),
        )
        for row in dearest
    ]


def _make_class_table(since: date) -> dict[str, Any]:
    """Return the node-hours by class: those with an order are the tournaments'."""
    lived = Sum(F("heard_at") - F("began_at"), output_field=DurationField())
    recent = NodeRun.objects.filter(heard_at__date__gte=since).order_by()
    hours = F("busy_s") * F("price") / HOUR_S
    summed = recent.values("machine_class").annotate(
        n=Count("pk"), lived=lived, busy=Sum("busy_s"), money=Sum(hours, output_field=FloatField())
    )
    rows = []
    for row in sorted(summed, key=lambda row: str(row["machine_class"])):
        lived_s, busy_s = row["lived"].total_seconds(), float(row["busy"])
        spent = "" if row["money"] is None else f"{row['money']:,.2f}"
        seconds = (lived_s, busy_s, max(0.0, lived_s - busy_s))
        cells = [row["machine_class"] or "no class", f"{row['n']:,}", *map(format_hours, seconds)]
        rows.append({"tone": "", "href": "", "cells": [*cells, spent]})
    return {
        "name": "cost-classes",
        "caption": f"Play nodes by class, those of the last {N_COUNTED_DAYS} days",
        "columns": [
            "Class",
            "Starts",
            "Node-hours",
            "With an order",
            "Idle",
            "Money, with an order",
        ],
        "rows": rows,
        "empty": "No play node has said that it lives.",
    }


def _choose_case(whens: Sequence[When]) -> Case:
    return Case(*whens, default=Value(0.0), output_field=FloatField())


# What its network costs on the gpu workers: nothing where it runs elsewhere, or is not measured.
_GPU_WEIGHT = Case(
    When(
        Q(agent__placement=Placement.GPU, agent__checkpoint__row_ms__isnull=False),
        then=F("n_matches") * F("agent__checkpoint__row_ms"),
    ),
    default=Value(0.0),
    output_field=FloatField(),
)


def _make_row(name: str, href: str, cost: _Cost) -> dict[str, Any]:
    cells = [name, f"{cost.n_matches:,}", format_hours(cost.core_s), f"{cost.gpu_s:,.1f}"]
    if _has_prices():
        cells.append(f"{price_seconds_played(cost.core_s, cost.gpu_s):,.2f}")
    return {"tone": "", "href": href, "cells": cells}


def format_hours(seconds: float) -> str:
    """Return seconds as hours, with the digits that matter."""
    hours = seconds / HOUR_S
    if 0 < hours < LEAST:
        return f"< {LEAST}"
    return f"{hours:,.2f}" if hours >= FINE or not hours else f"{hours:.3f}"


def _list_units() -> list[str]:
    return ["matches", "core-hours", "GPU-seconds", *(["money"] if _has_prices() else [])]


def _has_prices() -> bool:
    return any(settings.WORKER_PRICES.values())


def _make_table(
    name: str, caption: str, first: str, rows: Sequence[Any], *, counted: str = "Matches"
) -> dict[str, Any]:
    columns = [first, counted, *(unit[0].upper() + unit[1:] for unit in _list_units()[1:])]
    return {
        "name": name,
        "caption": caption,
        "columns": columns,
        "rows": list(rows),
        "empty": "No cost is entered yet: that is done once a minute.",
    }
