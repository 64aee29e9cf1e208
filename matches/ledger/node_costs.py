"""What a tournament took of nodes: node-hours and money by class, and what was thrown away.

An order takes its node from its start to its end, as a node plays one after the other. So the
node-hours of all tournaments and the time without an order are those that the nodes lived.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings

from arena.machine import SPOT
from matches.models import NodeCost, Order, Tournament
from matches.nodes.node_runs import add_busy_time, find_runs
from matches.store.bulk import add_to_rows
from matches.store.clock import PLAYING_LEASE

HOUR_S = 3_600
_COUNTERS = ("node_s", "priced_s", "money", "thrown_s")


class OrderUse(NamedTuple):
    """What an order took: its node until a moment, if that ended it, and work thrown away."""

    order: Order
    until: datetime | None = None
    thrown_s: float = 0.0


def find_last_heard(order: Order, *, now: datetime) -> datetime:
    """Return when the node of an order in play was heard of last: each report moves the lease."""
    last = order.deadline_at - PLAYING_LEASE
    return max(order.started_at or last, min(now, last))


def book_uses(uses: Sequence[OrderUse]) -> None:
    """Enter in the books what orders took of their nodes; in the transaction that ends them.

    The last rows that it locks, in the order of their keys.
    """
    uses = [use for use in uses if use.order.node and (use.until or use.thrown_s)]
    if not uses:
        return
    runs = find_runs(use.order for use in uses)
    costs: dict[tuple[int, str], list[float]] = defaultdict(lambda: [0.0] * len(_COUNTERS))
    played = []
    for use in uses:
        order = use.order
        run = runs.get((order.node, order.incarnation))
        cost = costs[order.tournament_id, run.machine_class if run else ""]
        cost[3] += use.thrown_s
        if use.until and order.started_at and run:
            node_s = max(0.0, (use.until - order.started_at).total_seconds())
            cost[0] += node_s
            if run.price is not None:
                cost[1] += node_s
                cost[2] += run.price * node_s / HOUR_S
            played.append((run, node_s, order.started_at, use.until))
    rows = [(*key, *cost) for key, cost in sorted(costs.items())]
    add_to_rows(NodeCost, ("tournament_id", "machine_class"), _COUNTERS, rows)
    for run, node_s, since, until in sorted(played, key=lambda row: row[0].pk):
        add_busy_time(run, node_s, since=since, until=until)


def sum_at_risk_s(
    order: Order, *, until: datetime, matches: Collection[int] | None = None
) -> float:
    """Return the slot-seconds that are lost when a node dies: since each was safe or begun last.

    matches: of these alone, which are taken from it.
    """
    if order.started_at is None:
        return 0.0
    played_s = (until - order.started_at).total_seconds()
    at_risk = zip(order.executing, order.safe_at_s, strict=False)
    return float(
        sum(
            max(0.0, played_s - safe_s)
            for match, safe_s in at_risk
            if matches is None or match in matches
        )
    )


def list_safe_times(
    order: Order, executing: Sequence[int], reported: Iterable[int], *, now: datetime
) -> list[float]:
    """Return since when each match that is executing is at risk: begun, or its actions told."""
    if order.started_at is None:
        return []
    now_s = round(max(timedelta(0), now - order.started_at).total_seconds(), 2)
    safe_before = dict(zip(order.executing, order.safe_at_s, strict=False))
    safe = set(reported)
    return [now_s if match in safe else safe_before.get(match, now_s) for match in executing]


@dataclass(frozen=True)
class ClassUse:
    """What one class of machines was used for; money: None where no price is known."""

    machine_class: str
    node_hours: float
    unpriced_hours: float
    money: float | None
    thrown_hours: float


@dataclass(frozen=True)
class NodeReport:
    """What a tournament took of nodes; None: not known."""

    classes: list[ClassUse]
    node_hours: float
    unpriced_hours: float
    money: float | None
    saved: float | None
    """What its spot nodes would have cost more on demand."""
    thrown_hours: float
    """Slot-hours played that nothing came of."""
    thrown_share: float | None
    """Of the slot-hours that were played."""


def report_nodes(tournament: Tournament) -> NodeReport:
    """Return what a tournament took of nodes so far: of its orders that have ended."""
    rows = list(tournament.node_costs.all())
    classes = [_describe_class(row) for row in rows]
    thrown_s = sum(row.thrown_s for row in rows)
    played_s = tournament.played_s + thrown_s
    priced = [use.money for use in classes if use.money is not None]
    return NodeReport(
        classes=classes,
        node_hours=sum(use.node_hours for use in classes),
        unpriced_hours=sum(use.unpriced_hours for use in classes),
        money=sum(priced) if priced else None,
        saved=_compute_saved(rows),
        thrown_hours=thrown_s / HOUR_S,
        thrown_share=thrown_s / played_s if played_s else None,
    )


def _describe_class(row: NodeCost) -> ClassUse:
    return ClassUse(
        machine_class=row.machine_class,
        node_hours=row.node_s / HOUR_S,
        unpriced_hours=(row.node_s - row.priced_s) / HOUR_S,
        money=row.money if row.priced_s else None,
        thrown_hours=row.thrown_s / HOUR_S,
    )


def _compute_saved(rows: Iterable[NodeCost]) -> float | None:
    spot = [row for row in rows if row.machine_class == SPOT and row.priced_s]
    if not spot or not settings.ON_DEMAND_PRICE:
        return None
    hours = sum(row.priced_s for row in spot) / HOUR_S
    return hours * float(settings.ON_DEMAND_PRICE) - sum(row.money for row in spot)
