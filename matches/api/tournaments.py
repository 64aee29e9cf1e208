"""Endpoints of tournaments: schedule, start, pause, resume, extend, cancel."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from matches.api.base import ID, Endpoints, answer_created, read_body
from matches.api.evaluations import ReportSerializer
from matches.api.explanations import ExplainsRows
from matches.api.fields import AgentNameSerializer, BoardField, find_agents
from matches.api.filters import RowsOfBoard
from matches.api.generations import ExportsShards
from matches.api.operating import read_actor
from matches.api.options import PlanSerializer
from matches.api.pagination import ByPosition, NewestFirst
from matches.ledger import tournaments
from matches.ledger.noted_changes import add_with_audit, change_with_audit
from matches.ledger.reporting import build_report
from matches.models import Entrant, Leaderboard, Tournament
from matches.operations import explain
from matches.operations.explain import Explanation
from matches.options import options_of
from matches.plans import TournamentPlan
from matches.store.clock import db_now

SHOWN_AGENTS = 200
"""Agents that come with a tournament; the others are pages of their own."""
MAX_AGENTS = 100_000
OPTIONS = options_of(TournamentPlan)


class TournamentSerializer(serializers.ModelSerializer[Tournament]):
    """A tournament and how far it is; n_done includes forfeits."""

    leaderboard = serializers.SlugRelatedField[Leaderboard](slug_field="name", read_only=True)
    pairing_parameters = serializers.DictField(read_only=True)

    class Meta:
        model = Tournament
        fields: tuple[str, ...] = (
            *("id", "leaderboard", *(o.name for o in OPTIONS if o.name != "is_paused")),
            *("state", "created_at", "started_at", "finished_at", "n_planned", "n_done"),
            *(
                "n_known",
                "n_differing",
                "n_forfeits",
                "n_void",
                "n_cancelled",
                "n_replaced",
                "n_retried",
                "n_refused",
                "mean_match_s",
            ),
            "problem",
        )
        extra_kwargs: ClassVar[dict[str, dict[str, str]]] = {
            "state": {
                "help_text": "planning: matches are chosen or written; those that are, are played."
            }
        }


class TournamentDetailSerializer(TournamentSerializer):
    """A tournament with the first of those who take part."""

    agents = serializers.SerializerMethodField()

    class Meta(TournamentSerializer.Meta):
        fields: tuple[str, ...] = (*TournamentSerializer.Meta.fields, "agents")

    @extend_schema_field(AgentNameSerializer(many=True))
    def get_agents(self, tournament: Tournament) -> list[dict[str, Any]]:
        """Return as many as a page shows, by position."""
        entrants = tournament.entrant_set.select_related("agent").order_by("position")
        first = [entrant.agent for entrant in entrants[:SHOWN_AGENTS]]
        return [dict(row) for row in AgentNameSerializer(first, many=True).data]


class EntrantSerializer(serializers.ModelSerializer[Entrant]):
    """An agent's place in a tournament."""

    agent = AgentNameSerializer()

    class Meta:
        # The position is its index in the pairing
        model = Entrant
        fields: tuple[str, ...] = ("position", "agent")


class TournamentFilter(RowsOfBoard):
    """Those of a leaderboard, and those in a state."""

    class Meta:
        model = Tournament
        fields = ("leaderboard__name", "state")


class NewTournamentSerializer(PlanSerializer):
    """A tournament to schedule: the leaderboard by name, the agents by id."""

    options = OPTIONS
    leaderboard = BoardField(slug_field="name", queryset=Leaderboard.objects.all())
    agents = serializers.ListField(
        child=serializers.IntegerField(min_value=1), max_length=MAX_AGENTS
    )


class ExtensionSerializer(serializers.Serializer[Any]):
    """How long a tournament is to be."""

    n_matches = serializers.IntegerField(help_text="In all, those it has had included.")


class TournamentView(
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    ExplainsRows,
    ExportsShards,
    Endpoints[Tournament],
):
    """Tournaments: creating one schedules it, and starts it unless it is to wait."""

    queryset = Tournament.objects.select_related("leaderboard")
    pagination_class = NewestFirst
    filterset_class = TournamentFilter
    lookup_value_regex = ID

    def get_serializer_class(self) -> type[BaseSerializer[Tournament]]:
        """Return the form with agents for a single one."""
        if self.action == "list":
            return TournamentSerializer
        return TournamentDetailSerializer

    @extend_schema(request=NewTournamentSerializer, responses={201: TournamentDetailSerializer})
    def create(self, request: Request) -> Response:
        """Schedule a tournament."""
        values = read_body(NewTournamentSerializer, request)
        board, entered = values.pop("leaderboard"), find_agents(values.pop("agents"))
        schedule = partial(
            tournaments.schedule_tournament,
            TournamentPlan(**values),
            leaderboard=board,
            agents=entered,
        )
        scheduled = add_with_audit(schedule, **read_actor(request))
        return answer_created(TournamentDetailSerializer(scheduled))

    @extend_schema(responses=EntrantSerializer(many=True), filters=False)
    @action(detail=True, filter_backends=[], pagination_class=ByPosition)
    def agents(self, request: Request, pk: str) -> Response:
        """List who takes part, by position."""
        del request, pk
        entrants = Entrant.objects.filter(tournament=self.get_object()).select_related("agent")
        return self.answer_page(entrants, EntrantSerializer)

    @extend_schema(responses=ReportSerializer, filters=False)
    @action(detail=True, filter_backends=[], pagination_class=None)
    def report(self, request: Request, pk: str) -> Response:
        """Return what it came to so far: reasons, and the ratings of those who take part."""
        del request, pk
        return Response(ReportSerializer(build_report(self.get_object(), now=db_now())).data)

    @extend_schema(request=None, responses=TournamentDetailSerializer)
    @action(detail=True, methods=["post"])
    def start(self, request: Request, pk: str) -> Response:
        """Begin with a tournament that was scheduled as paused; the same as resume."""
        del request, pk
        now = db_now()
        return self._answer_changed("resume", partial(tournaments.resume_tournament, now=now))

    @extend_schema(request=None, responses=TournamentDetailSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Send no more of its matches; those sent already are played to their end."""
        del request, pk
        return self._answer_changed("pause", tournaments.pause_tournament)

    @extend_schema(request=None, responses=TournamentDetailSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Go on with a paused tournament."""
        del request, pk
        now = db_now()
        return self._answer_changed("resume", partial(tournaments.resume_tournament, now=now))

    @extend_schema(request=None, responses=TournamentDetailSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel every match that is still open; cancelling again changes nothing."""
        del request, pk
        now = db_now()
        return self._answer_changed("cancel", partial(tournaments.cancel_tournament, now=now))

    @extend_schema(request=ExtensionSerializer, responses=TournamentDetailSerializer)
    @action(detail=True, methods=["post"])
    def extend(self, request: Request, pk: str) -> Response:
        """Let it have so many matches in all; one that was done goes on."""
        del pk
        n_matches = read_body(ExtensionSerializer, request)["n_matches"]
        change = partial(tournaments.extend_tournament, n_matches=n_matches)
        return self._answer_changed("extend", change)

    def explain_row(self, row: Tournament, **clock: Any) -> Explanation:
        """Return what it waits for."""
        return explain.of_tournament(row, **clock)

    def _answer_changed(self, act: str, change: Callable[[Tournament], object]) -> Response:
        tournament = self.get_object()
        change_with_audit(tournament, act, change, **read_actor(self.request))
        # The services change rows by conditional UPDATE: this object is as it was before.
        tournament.refresh_from_db()
        return Response(TournamentDetailSerializer(tournament).data)
