"""Endpoints of workers: nodes that play, those that answer for networks, game servers."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import ID, Endpoints
from matches.api.explanations import ExplainsRows
from matches.api.operating import ReasonSerializer, RemarkSerializer, read_reason
from matches.api.pagination import NewestFirst
from matches.ledger import quarantine
from matches.models import Worker
from matches.operations import explain
from matches.operations.explain import Explanation
from matches.store.clock import db_now
from matches.store.game_servers import is_alive


class WorkerSerializer(serializers.ModelSerializer[Worker]):
    """A node as it describes itself."""

    capabilities = serializers.ListField(child=serializers.CharField(), read_only=True)
    versions = serializers.DictField(read_only=True)
    labels = serializers.DictField(
        child=serializers.CharField(), read_only=True, help_text="Of its machine, by its operator."
    )
    load = serializers.DictField(
        child=serializers.FloatField(),
        read_only=True,
        help_text="Of its machine: cpu, processes per core; memory, the share in use.",
    )
    plugins = serializers.DictField(
        child=serializers.CharField(),
        read_only=True,
        allow_null=True,
        help_text="SHA-256 of its plug-in files; empty: of an older version.",
    )
    is_alive = serializers.SerializerMethodField()

    class Meta:
        model = Worker
        fields: tuple[str, ...] = (
            *("id", "node", "slots", "capabilities", "versions", "labels", "load", "plugins"),
            *("game", "address", "lost_at", "is_alive"),
            *("first_seen_at", "last_seen_at", "quarantined_at", "quarantine_reason"),
        )

    def get_is_alive(self, worker: Worker) -> bool:
        """Return whether it has reported lately."""
        now: datetime = self.context["now"]
        return is_alive(worker, now=now)


class WorkerView(mixins.ListModelMixin, mixins.RetrieveModelMixin, ExplainsRows, Endpoints[Worker]):
    """Nodes, the newest first."""

    queryset = Worker.objects.all()
    serializer_class = WorkerSerializer
    pagination_class = NewestFirst
    filterset_fields = ("node",)
    lookup_value_regex = ID

    def get_serializer_context(self) -> dict[str, Any]:
        """Return the context with one time for all rows."""
        return {**super().get_serializer_context(), "now": db_now()}

    @extend_schema(request=ReasonSerializer, responses=WorkerSerializer)
    @action(detail=True, methods=["post"])
    def quarantine(self, request: Request, pk: str) -> Response:
        """Take back what a node or game server has in hand, and refuse what comes of it."""
        del pk
        quarantine.quarantine_worker(worker := self.get_object(), **read_reason(request))
        return Response(self.get_serializer(worker).data)

    @extend_schema(request=RemarkSerializer, responses=WorkerSerializer)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, pk: str) -> Response:
        """End the quarantine of a play node or game server: it gets matches again."""
        del pk
        quarantine.release_worker(
            worker := self.get_object(), **read_reason(request, is_optional=True)
        )
        return Response(self.get_serializer(worker).data)

    def explain_row(self, row: Worker, **clock: Any) -> Explanation:
        """Return what it waits for."""
        return explain.of_worker(row, **clock)
