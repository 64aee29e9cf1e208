"""Endpoints of alarms: regressions that a watch has found."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import ID, Endpoints
from matches.api.fields import AgentNameSerializer
from matches.api.filters import BoardFilter, Filters, TruthFilter
from matches.api.operating import RemarkSerializer, read_reason
from matches.api.pagination import NewestFirst
from matches.campaigns import watching
from matches.models import Alarm


class AlarmSerializer(serializers.ModelSerializer[Alarm]):
    """An agent that is probably worse than its best ancestor by more than the margin."""

    agent = AgentNameSerializer()
    ancestor = AgentNameSerializer()
    campaign = serializers.IntegerField(source="campaign_id")
    leaderboard = serializers.CharField(source="campaign.tournament.leaderboard.name")

    class Meta:
        model = Alarm
        fields: tuple[str, ...] = (
            *("id", "agent", "ancestor", "campaign", "leaderboard", "probability", "margin"),
            *("level", "at", "acknowledged_at", "acknowledged_by"),
        )


class AlarmFilter(Filters):
    """Those of a leaderboard, and those that nobody has acknowledged."""

    leaderboard = BoardFilter(field_name="campaign__tournament__leaderboard__name")
    open = TruthFilter(field_name="acknowledged_at", lookup_expr="isnull")


class AlarmView(mixins.ListModelMixin, mixins.RetrieveModelMixin, Endpoints[Alarm]):
    """Alarms, the newest first."""

    queryset: QuerySet[Alarm] = Alarm.objects.select_related(
        "agent", "ancestor", "campaign__tournament__leaderboard"
    )
    serializer_class = AlarmSerializer
    pagination_class = NewestFirst
    filterset_class = AlarmFilter
    lookup_value_regex = ID

    @extend_schema(request=RemarkSerializer, responses=AlarmSerializer)
    @action(detail=True, methods=["post"])
    def acknowledge(self, request: Request, pk: str) -> Response:
        """Note that somebody has seen it; the first one is kept."""
        del pk
        reason: dict[str, Any] = read_reason(request, is_optional=True)
        watching.acknowledge_alarm(alarm := self.get_object(), **reason)
        alarm.refresh_from_db()
        return Response(AlarmSerializer(alarm).data)
