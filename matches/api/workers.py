"""Endpoints of workers: the nodes that play and those that answer for networks."""

from datetime import datetime
from typing import Any

from rest_framework import mixins, serializers

from matches.api.base import ID, Endpoints
from matches.api.explanations import Explained
from matches.api.pagination import NewestFirst
from matches.clock import db_now
from matches.leases import ALIVE_WITHIN
from matches.models import Worker
from matches.services import explain
from matches.services.explain import Explanation


class WorkerSerializer(serializers.ModelSerializer[Worker]):
    """A node as it describes itself."""

    capabilities = serializers.ListField(child=serializers.CharField(), read_only=True)
    versions = serializers.DictField(read_only=True)
    is_alive = serializers.SerializerMethodField()

    class Meta:
        """Everything but its incarnation."""

        model = Worker
        fields: tuple[str, ...] = (
            *("id", "node", "slots", "capabilities", "versions", "is_alive"),
            *("first_seen_at", "last_seen_at"),
        )

    def get_is_alive(self, worker: Worker) -> bool:
        """Return whether it has reported lately."""
        now: datetime = self.context["now"]
        return now - worker.last_seen_at <= ALIVE_WITHIN


class WorkerView(mixins.ListModelMixin, mixins.RetrieveModelMixin, Explained, Endpoints[Worker]):
    """Nodes, the newest first."""

    queryset = Worker.objects.all()
    serializer_class = WorkerSerializer
    pagination_class = NewestFirst
    filterset_fields = ("node",)
    lookup_value_regex = ID

    def get_serializer_context(self) -> dict[str, Any]:
        """Return the context with one time for all rows."""
        return {**super().get_serializer_context(), "now": db_now()}

    def explained(self, row: Worker, **clock: Any) -> Explanation:
        """Return what it waits for."""
        return explain.of_worker(row, **clock)
