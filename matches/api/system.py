"""Endpoint of the system: how many nodes it has, and how many it could use."""

from typing import Any

from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import extend_schema
from redis.exceptions import RedisError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import Endpoints
from matches.models import Worker
from matches.operations.system import pushing
from matches.operations.system.sample import Counts
from matches.store.clock import db_now


class SystemSerializer(serializers.Serializer[Counts]):
    """Nodes and work, as control saw them within the last seconds."""

    n_play = serializers.IntegerField(help_text="Play nodes that are alive.")
    n_gpu = serializers.IntegerField(help_text="Gpu workers that are alive.")
    n_slots = serializers.IntegerField(help_text="Matches that can be played at once.")
    n_lost = serializers.IntegerField(help_text="Nodes lost within the last hour.")
    desired_nodes = serializers.IntegerField(
        source="n_desired",
        help_text="Play nodes that would play what waits within EVALSITE_BACKLOG_S seconds, "
        "EVALSITE_MAX_NODES at most; 0 when nothing is planned.",
    )
    backlog_s = serializers.FloatField(
        help_text="Slot-seconds of what is planned and has not ended."
    )


# There is one system: the schema would take a list for granted.
ONE: Any = forced_singular_serializer(SystemSerializer)  # type: ignore[no-untyped-call]


class SystemView(Endpoints[Worker]):
    """The system as a whole."""

    queryset = Worker.objects.all()
    pagination_class = None

    @extend_schema(operation_id="system_retrieve", responses=ONE, filters=False)
    def list(self, request: Request) -> Response:
        """Return how many nodes there are, and how many would play what waits in time."""
        del request
        now = db_now()
        try:
            state = pushing.read_newest(now=now)
        except RedisError:  # the database knows it, too
            state = pushing.look_alone(now=now)
        values: dict[str, Any] = SystemSerializer(state.sample.counts).data
        return Response(values)
