"""The pages of the system: what runs, what waits, what fails, and why a node does nothing."""

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from matches.models import Order, Worker
from matches.operations import explain
from matches.operations.system import pushing
from matches.operations.system.display import Shown, Table, format_state
from matches.store.clock import db_now

log = logging.getLogger(__name__)

MAX_ORDERS = 50


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Show nodes, queues, inference and failures; live, and complete without it."""
    found = _shown()
    context = {"shown": found, "tables": [_labelled(table) for table in found["tables"]]}
    return render(request, "pages/system.html", context)


@require_safe
def node(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one node: what it waits for, what it has in hand and what it runs."""
    worker = get_object_or_404(Worker, pk=pk)
    in_hand = Order.objects.filter(Order.is_open(), node=worker.node).select_related("tournament")
    context = {
        "worker": worker,
        "explanation": explain.of_worker(worker, now=db_now()),
        "orders": sorted(in_hand, key=lambda order: order.pk)[:MAX_ORDERS],
        "versions": sorted(worker.versions.items()),
    }
    return render(request, "pages/node.html", context)


def _labelled(table: Table) -> dict[str, Any]:
    """Return a table whose cells know their columns: narrow screens show rows as cards."""
    lines = [
        {**row, "labelled": list(zip(table["columns"], row["cells"], strict=True))}
        for row in table["rows"]
    ]
    return {**table, "lines": lines}


def _shown() -> Shown:
    now = db_now()
    try:
        return format_state(pushing.read_newest(now=now))
    except RedisError as error:
        log.warning("the page is made from the database alone: %s", error)
        return format_state(pushing.look_alone(now=now))
