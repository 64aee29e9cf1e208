"""The acts that let matches be played again, for whoever looks at the banner that says none can."""

from datetime import datetime
from typing import NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from arena.needs import GPU
from matches.models import Worker
from matches.store.clock import ALIVE_WITHIN

MAY_RELEASE = "matches.change_worker"
MOST_NAMED = 3


class Act(NamedTuple):
    """A link under the banner."""

    label: str
    address: str


def list_acts(request: HttpRequest, *, now: datetime) -> list[Act]:
    """Return how nodes and game servers in quarantine are released; for others their pages."""
    quarantined = Worker.objects.filter(
        last_seen_at__gte=now - ALIVE_WITHIN, quarantined_at__isnull=False
    )
    # Chosen here: SQLite cannot look into a JSON list with an index.
    nodes = [worker for worker in quarantined.order_by("pk") if GPU not in worker.capabilities]
    if not request.user.has_perm(MAY_RELEASE):
        return [
            Act(f"Why {worker.node} is in quarantine", reverse("node", args=[worker.pk]))
            for worker in nodes[:MOST_NAMED]
        ]
    address = reverse("admin:matches_worker_ask", args=["release"])
    return [
        Act(f"Release {worker.node}", f"{address}?pk={worker.pk}&from=row")
        for worker in nodes[:MOST_NAMED]
    ]
