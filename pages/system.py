"""The pages of the system: what runs, waits, fails or is missing, and why a node does nothing."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.deprecation import MiddlewareMixin
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from arena.errors import CatalogError, UnknownNameError
from arena.messages import ORDERS
from matches.models import Order, Worker
from matches.models.versions import short_version
from matches.operations import explain
from matches.operations.system import pushing
from matches.operations.system.display import format_state
from matches.operations.system.tables import format_load
from matches.store.clock import db_now
from pages.mending import list_acts
from pages.system_costs import N_COUNTED_DAYS, PRICES_HINT, describe_costs
from pages.system_history import draw_day

log = logging.getLogger(__name__)

MAX_ORDERS = 50
VERSION_NAMES = {ORDERS: "order messages", "python": "Python", "open_spiel": "OpenSpiel"}


@require_safe
def show_overview(request: HttpRequest) -> HttpResponse:
    """Show nodes, queues, inference and failures; live, and complete without it."""
    now = db_now()
    try:
        shown = format_state(pushing.read_newest(now=now))
    except RedisError as error:
        # The page is needed most when a store is down: it then shows what the database knows.
        log.warning("the page is made from the database alone: %s", error)
        shown = format_state(pushing.look_alone(now=now))
    tables = [_label_cells(table) for table in shown["tables"]]
    costs = describe_costs(now=now)
    context = {
        "shown": shown,
        "tables": tables,
        "acts": list_acts(request, now=now),
        "history": draw_day(now=now),
        "total_cost": costs.total,
        "n_cost_days": N_COUNTED_DAYS,
        "costs": [_label_cells(table) for table in costs.tables],
        "prices_hint": "" if any(settings.WORKER_PRICES.values()) else PRICES_HINT,
    }
    return render(request, "pages/system.html", context)


def _label_cells(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table whose cells know their columns: narrow screens show rows as cards."""
    lines = [
        {**row, "labelled": list(zip(table["columns"], row["cells"], strict=True))}
        for row in table["rows"]
    ]
    return {**table, "lines": lines}


@require_safe
def show_node(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one node: what it waits for, what it has in hand and what it runs."""
    worker = get_object_or_404(Worker, pk=pk)
    in_hand = Order.objects.filter(Order.is_open(), node=worker.node).select_related("tournament")
    context = {
        "worker": worker,
        "explanation": explain.of_worker(worker, now=db_now()),
        # Sorted here: by the index of open orders they are few, by key the database may walk all.
        "orders": sorted(in_hand, key=lambda order: order.pk)[:MAX_ORDERS],
        # Pairs: to a template `x.items` is the label "items" of a dict that has one.
        "machine": [
            ("game", worker.game),
            ("address", worker.address),
            *sorted(worker.labels.items()),
            ("load", format_load(worker.load)),
        ],
        "versions": sorted(
            (VERSION_NAMES.get(name, name), version) for name, version in worker.versions.items()
        ),
        # Half of a hash is as telling and fits.
        "plugins": [(file, short_version(own)) for file, own in (worker.plugins or {}).items()],
    }
    return render(request, "pages/node.html", context)


class UnknownKinds(MiddlewareMixin):
    """Answers for all views that meet a game or policy kind whose file is gone or broken."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the page that names what is missing; None for any other error."""
        if not isinstance(error, CatalogError | UnknownNameError):
            return None
        context, status = {"problem": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE
        return render(request, "pages/unknown.html", context, status=status)
