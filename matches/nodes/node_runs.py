"""How long each process of a play node has lived, and what that costs."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Greatest, Least

from arena.machine import CLASS, PRICE
from arena.messages import Alive
from arena.needs import plays_matches
from matches.models import NodeRun, Order, Worker
from matches.store.clock import ALIVE_WITHIN

MAX_CLASS = 60
MAX_PRICE = 1e6
"""Of an hour, as of those in the settings: sums of more than a number holds could not be stored."""
MAX_RUNS = 50_000
"""The newest runs are kept, and all that live. What tournaments cost is booked apart (NodeCost)."""
Run = tuple[str, str]
"""The name of a node and its incarnation."""


def note_run(report: Alive, *, now: datetime) -> None:
    """Note that a process lives; a new one of a node ends the one before it."""
    if not plays_matches(report.capabilities):
        return
    own = NodeRun.objects.filter(node=report.node, incarnation=report.incarnation)
    # One statement for each sign of life but the first.
    if own.update(heard_at=now, ended_at=None):
        return
    machine = describe_machine(report.labels, slots=report.slots)
    run = NodeRun(node=report.node, incarnation=report.incarnation, began_at=now, heard_at=now)
    for name, value in machine.items():
        setattr(run, name, value)
    NodeRun.objects.bulk_create([run], ignore_conflicts=True)
    others = NodeRun.objects.filter(node=report.node, ended_at=None)
    others.exclude(incarnation=report.incarnation).update(ended_at=F("heard_at"))
    _forget_oldest_runs()


def describe_machine(labels: dict[str, str], *, slots: int) -> dict[str, object]:
    """Return class, price of an hour and slots; without a label, the price of its cores."""
    label = str(labels.get(PRICE, ""))
    try:
        price = float(label) if label else slots * settings.WORKER_PRICES["cpu"]
    except ValueError:
        price = -1.0
    # Labels are what a node says; without a price nothing is known, and not that it is free.
    is_known = 0 <= price <= MAX_PRICE and (label or price > 0)
    machine_class = str(labels.get(CLASS, ""))[:MAX_CLASS]
    return {
        "machine_class": machine_class,
        "price": price if is_known else None,
        "slots": slots,
    }


def end_silent_runs(*, mark: datetime) -> int:
    """End the runs of which nothing was heard for long before the mark; return how many."""
    silent = NodeRun.objects.filter(ended_at=None, heard_at__lt=mark - ALIVE_WITHIN)
    return silent.update(ended_at=F("heard_at"))


def find_runs(orders: Iterable[Order]) -> dict[Run, NodeRun]:
    """Return the runs that play or played these orders; one that never said that it lives is new.

    What is not of the worker's newest process is of an unknown class.
    """
    starts = {(o.node, o.incarnation): o.started_at for o in orders if o.node and o.started_at}
    runs = _read_runs(starts)
    workers = Worker.objects.in_bulk([node for node, _ in starts.keys() - runs], field_name="node")
    new = []
    for (node, incarnation), started_at in starts.items():
        if (node, incarnation) in runs:
            continue
        worker = workers.get(node)
        is_known = worker is not None and worker.incarnation == incarnation
        labels = worker.labels if worker and is_known else {}
        machine = describe_machine(labels, slots=worker.slots if worker else 1)
        run = NodeRun(node=node, incarnation=incarnation, began_at=started_at, heard_at=started_at)
        for name, value in machine.items():
            setattr(run, name, value)
        new.append(run)
    if new:
        NodeRun.objects.bulk_create(new, ignore_conflicts=True)
        _forget_oldest_runs()
        runs |= _read_runs(starts)
    return runs


def _forget_oldest_runs() -> None:
    """Keep the table bounded, also where a node starts again every few seconds for months."""
    newest = NodeRun.objects.order_by("-id").values_list("id", flat=True).first() or 0
    # By the primary key: what was deleted before costs nothing.
    NodeRun.objects.filter(id__lte=newest - MAX_RUNS, ended_at__isnull=False).delete()


def _read_runs(runs_asked_for: Collection[Run]) -> dict[Run, NodeRun]:
    nodes = {node for node, _ in runs_asked_for}
    incarnations = {incarnation for _, incarnation in runs_asked_for}
    runs = NodeRun.objects.filter(node__in=nodes, incarnation__in=incarnations)
    return {(r.node, r.incarnation): r for r in runs if (r.node, r.incarnation) in runs_asked_for}


def add_busy_time(run: NodeRun, seconds: float, *, since: datetime, until: datetime) -> None:
    """Add the time of an order, which lies within the run."""
    NodeRun.objects.filter(pk=run.pk).update(
        busy_s=F("busy_s") + seconds,
        began_at=Least("began_at", since),
        heard_at=Greatest("heard_at", until),
    )
    # One that has ended already lived until then at least.
    ended = NodeRun.objects.filter(pk=run.pk, ended_at__lt=until)
    ended.update(ended_at=until)
