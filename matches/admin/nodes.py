"""Workers and the orders that are sent to them: to look at, and to quarantine."""

from datetime import datetime

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse

from matches.admin.acts import nodes
from matches.admin.base import ReadOnlyAdmin
from matches.admin.offering import ReadOnlyWithActs
from matches.models import NodeKey, Order, Worker
from matches.operations import explain


@admin.register(Worker)
class WorkerAdmin(ReadOnlyWithActs):
    """Play nodes, gpu workers and game servers as they describe themselves."""

    list_display = ("node", "slots", "capabilities", "game", "last_seen_at", "quarantined_at")
    list_filter = (("quarantined_at", admin.EmptyFieldListFilter),)
    search_fields = ("node",)
    acts = nodes.WORKER_ACTS

    def explain_row(self, row: Worker, *, now: datetime) -> explain.Explanation:
        """Return what it waits for."""
        return explain.of_worker(row, now=now)

    def view_on_site(self, obj: Model) -> str:
        """Return the address of its page."""
        return reverse("node", args=[obj.pk])


@admin.register(NodeKey)
class NodeKeyAdmin(ReadOnlyWithActs):
    """Who may be a play node; `./run manage node add NAME` admits one and prints its secrets."""

    list_display = ("name", "generation", "created_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    search_fields = ("name",)
    acts = nodes.KEY_ACTS


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    """Chunks of matches: sent, in play, closed or lost."""

    list_display = ("id", "tournament", "queue", "n_matches", "state", "node", "deadline_at")
    list_filter = ("state",)
    list_select_related = ("tournament",)
    search_fields = ("=id", "=uuid")
    ordering = ("-pk",)
