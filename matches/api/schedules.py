"""Endpoints of schedules: tournaments, campaigns and seasons that start by crontab or once."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import ID, Endpoints, answer_created, read_body
from matches.api.explanations import ExplainsRows
from matches.api.fields import BoardField, OneOf, find_agents
from matches.api.filters import RowsOfBoard
from matches.api.operating import RemarkSerializer, read_actor, read_reason
from matches.api.options import PlanSerializer
from matches.api.pagination import NewestFirst
from matches.campaigns import scheduling
from matches.models import Leaderboard, Schedule
from matches.models.choices import SeasonMode
from matches.operations import explain
from matches.operations.explain import Explanation
from matches.plans import schedule_options
from matches.store.clock import db_now

MAX_AGENTS = 10_000
OPTIONS = schedule_options()


class ScheduleSerializer(serializers.ModelSerializer[Schedule]):
    """A schedule and what came of it; without agents it enters all of the leaderboard."""

    leaderboard = serializers.SlugRelatedField[Leaderboard](slug_field="name", read_only=True)
    agents = serializers.PrimaryKeyRelatedField[Any](many=True, read_only=True)
    last_tournament = serializers.IntegerField(source="last_tournament_id", allow_null=True)
    question = serializers.CharField(read_only=True)
    parameters = serializers.DictField(read_only=True)
    pairing_parameters = serializers.DictField(read_only=True)
    next_at = serializers.SerializerMethodField()

    class Meta:
        model = Schedule
        fields: tuple[str, ...] = (
            *("id", "name", "leaderboard", "agents", "crontab", "timezone", "once_at"),
            *("is_enabled", "season", *(option.name for option in OPTIONS)),
            *("next_at", "last_tournament"),
            *("n_started", "n_skipped", "problem", "created_at"),
        )

    def get_next_at(self, schedule: Schedule) -> datetime | None:
        """Return when it is due next; empty: never."""
        now: datetime = self.context["now"]
        return scheduling.next_due(schedule, now=now)


class ScheduleFilter(RowsOfBoard):
    """Those of a leaderboard, and those that start something."""

    class Meta:
        model = Schedule
        fields = ("leaderboard__name", "is_enabled")


class NewScheduleSerializer(PlanSerializer, RemarkSerializer):
    """A schedule to add: the leaderboard by name, the agents by id, a crontab or a single time.

    With a question it starts campaigns, with a season's mode seasons, else tournaments.
    """

    options = OPTIONS
    name = serializers.CharField(max_length=100)
    leaderboard = BoardField(slug_field="name", queryset=Leaderboard.objects.all())
    agents = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        max_length=MAX_AGENTS,
        default=list,
        help_text="None: all of the leaderboard at that time, less those retired or quarantined.",
    )
    crontab = serializers.CharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="minute hour day-of-month month day-of-week, such as 30 4 * * 1.",
    )
    timezone = serializers.CharField(max_length=63, default="UTC")
    once_at = serializers.DateTimeField(default=None, allow_null=True)
    is_enabled = serializers.BooleanField(default=True)
    season = OneOf(
        choices=SeasonMode.choices,
        default="",
        allow_blank=True,
        help_text="Begin a season in this way, instead of starting a tournament.",
    )


class ScheduleView(
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.DestroyModelMixin,
    ExplainsRows,
    Endpoints[Schedule],
):
    """Schedules, the newest first."""

    queryset = Schedule.objects.select_related("leaderboard").prefetch_related("agents")
    serializer_class = ScheduleSerializer
    pagination_class = NewestFirst
    filterset_class = ScheduleFilter
    lookup_value_regex = ID

    def get_serializer_context(self) -> dict[str, Any]:
        """Return the context with one time for all rows."""
        return {**super().get_serializer_context(), "now": db_now()}

    @extend_schema(request=NewScheduleSerializer, responses={201: ScheduleSerializer})
    def create(self, request: Request) -> Response:
        """Add a schedule."""
        values = read_body(NewScheduleSerializer, request)
        agents, reason = find_agents(values.pop("agents")), values.pop("reason")
        added = scheduling.save_schedule(
            Schedule(**values), agents=agents, reason=reason, **read_actor(request)
        )
        return answer_created(self.get_serializer(added))

    def perform_destroy(self, instance: Schedule) -> None:
        """Remove it; its tournaments stay."""
        scheduling.delete_schedule(instance, **read_actor(self.request))

    @extend_schema(request=RemarkSerializer, responses=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def enable(self, request: Request, pk: str) -> Response:
        """Let it start tournaments again."""
        del pk
        return self._answer_switched(request, is_enabled=True)

    @extend_schema(request=RemarkSerializer, responses=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def disable(self, request: Request, pk: str) -> Response:
        """Let it start nothing until it is enabled."""
        del pk
        return self._answer_switched(request, is_enabled=False)

    def explain_row(self, row: Schedule, **clock: Any) -> Explanation:
        """Return what it waits for."""
        return explain.of_schedule(row, **clock)

    def _answer_switched(self, request: Request, *, is_enabled: bool) -> Response:
        schedule = self.get_object()
        scheduling.switch_schedule(
            schedule, is_enabled=is_enabled, **read_reason(request, is_optional=True)
        )
        return Response(self.get_serializer(schedule).data)
