"""Play nodes and the orders that are sent to them: to look at."""

from django.contrib import admin

from matches.admin.base import ReadOnlyAdmin
from matches.models import Order, Worker


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """Play nodes as they describe themselves."""

    list_display = ("node", "slots", "capabilities", "versions", "first_seen_at", "last_seen_at")
    search_fields = ("node",)


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    """Chunks of matches: sent, in play, closed or lost."""

    list_display = ("id", "tournament", "queue", "n_matches", "state", "node", "deadline_at")
    list_filter = ("state",)
    list_select_related = ("tournament",)
    search_fields = ("=id", "=uuid")
    ordering = ("-pk",)
