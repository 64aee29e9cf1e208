"""Endpoints: a service call each; errors are answered by matches.api.errors."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.forms import IntegerField
from django_filters import ChoiceFilter, Filter, FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer
from rest_framework.viewsets import GenericViewSet

from matches.api import serializers
from matches.api.pagination import InPlannedOrder, NewestFirst
from matches.errors import BadInputError
from matches.models import Agent, Leaderboard, Match, Tournament, Worker
from matches.services import agents, tournaments
from matches.services.tournaments import Plan

BAD_INPUT = {400: serializers.BadInputSerializer}
MAX_ID = 2**63 - 1


class AgentView(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Agent]):
    """Agents: a policy kind with its parameters in one game."""

    queryset = Agent.objects.all()
    serializer_class = serializers.AgentSerializer
    pagination_class = NewestFirst
    filterset_fields = ("game", "policy", "is_retired")
    lookup_value_regex = r"\d{1,18}"

    @extend_schema(
        request=serializers.NewAgentSerializer,
        responses={201: serializers.AgentSerializer, **BAD_INPUT},
    )
    def create(self, request: Request) -> Response:
        """Register an agent; registering the same one again changes nothing."""
        agent = agents.register(**_read(serializers.NewAgentSerializer, request))
        return _created(serializers.AgentSerializer(agent))


class LeaderboardView(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Leaderboard]
):
    """Leaderboards; one of them comes with its ratings."""

    queryset = Leaderboard.objects.all()
    pagination_class = NewestFirst
    filterset_fields = ("game",)
    lookup_field = "name"
    lookup_value_regex = r"[-\w]+"

    def get_serializer_class(self) -> type[BaseSerializer[Leaderboard]]:
        """Return the form with ratings for a single one."""
        if self.action == "retrieve":
            return serializers.RatedLeaderboardSerializer
        return serializers.LeaderboardSerializer

    @extend_schema(
        request=serializers.NewLeaderboardSerializer,
        responses={201: serializers.LeaderboardSerializer, **BAD_INPUT},
    )
    def create(self, request: Request) -> Response:
        """Open a leaderboard."""
        wanted = _read(serializers.NewLeaderboardSerializer, request)
        board = tournaments.open_leaderboard(wanted.pop("name"), **wanted)
        return _created(serializers.LeaderboardSerializer(board))


class TournamentView(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Tournament]):
    """Tournaments: creating one schedules it."""

    queryset = Tournament.objects.select_related("leaderboard")
    pagination_class = NewestFirst
    filterset_fields = ("leaderboard__name", "state")
    lookup_value_regex = r"\d{1,18}"

    def get_serializer_class(self) -> type[BaseSerializer[Tournament]]:
        """Return the form with agents for a single one."""
        if self.action == "retrieve":
            return serializers.TournamentDetailSerializer
        return serializers.TournamentSerializer

    @extend_schema(
        request=serializers.NewTournamentSerializer,
        responses={201: serializers.TournamentDetailSerializer, **BAD_INPUT},
    )
    def create(self, request: Request) -> Response:
        """Schedule a tournament."""
        wanted = _read(serializers.NewTournamentSerializer, request)
        board, entered = wanted.pop("leaderboard"), _agents(wanted.pop("agents"))
        scheduled = tournaments.schedule(Plan(**wanted), leaderboard=board, agents=entered)
        return _created(serializers.TournamentDetailSerializer(scheduled))


class IntegerFilter(Filter):  # type: ignore[misc]  # django-filter has no types
    """A number as it stands in the database."""

    field_class = IntegerField


class MatchFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Matches are listed by tournament: only that has an index."""

    tournament = IntegerFilter(required=True, min_value=1, max_value=MAX_ID)
    state = ChoiceFilter(choices=Match.State.choices)


class MatchView(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Match]):
    """Matches of a tournament in planned order; one of them comes with attempts and outcome."""

    queryset = Match.objects.all()
    pagination_class = InPlannedOrder
    lookup_value_regex = r"\d{1,18}"

    @property
    def filterset_class(self) -> type[MatchFilter] | None:
        """Return the filter of the list; a single match is found by its id."""
        return MatchFilter if self.action == "list" else None

    def get_queryset(self) -> QuerySet[Match]:
        """Return matches with what is shown of them."""
        if self.action == "retrieve":
            return Match.objects.select_related("outcome").prefetch_related("attempts")
        return super().get_queryset()

    def get_serializer_class(self) -> type[BaseSerializer[Match]]:
        """Return the form with attempts and outcome for a single one."""
        if self.action == "retrieve":
            return serializers.MatchDetailSerializer
        return serializers.MatchSerializer


class WorkerView(mixins.ListModelMixin, GenericViewSet[Worker]):
    """Play nodes."""

    queryset = Worker.objects.all()
    serializer_class = serializers.WorkerSerializer
    pagination_class = NewestFirst


def _read(form: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    filled = form(data=request.data)
    filled.is_valid(raise_exception=True)
    return dict(filled.validated_data)


def _created(shown: BaseSerializer[Any]) -> Response:
    return Response(shown.data, status=status.HTTP_201_CREATED)


def _agents(ids: Sequence[int]) -> list[Agent]:
    """Return the agents in the order given. Raises BadInputError naming those that do not exist."""
    found = Agent.objects.in_bulk([number for number in ids if number <= MAX_ID])
    missing = [number for number in ids if number not in found]
    if missing:
        raise BadInputError("agents", f"there is no agent with id {', '.join(map(str, missing))}")
    return [found[number] for number in ids]
