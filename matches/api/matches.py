"""Endpoints of matches, their outcomes and attempts."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import Form
from django_filters import CharFilter, ChoiceFilter
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from matches.api.base import ID, Endpoints, read_body
from matches.api.explanations import ExplainsRows
from matches.api.filters import BoardFilter, Filters, RowIdFilter
from matches.api.operating import (
    ChosenMatchesSerializer,
    RequeuedSerializer,
    VoidedSerializer,
    read_actor,
)
from matches.api.pagination import ByMatch, InPlannedOrder, NewestFirst
from matches.ledger import voiding
from matches.models import Agent, Attempt, Match, Outcome, Tournament, Voiding
from matches.models.match import parse_numbers
from matches.operations import explain
from matches.operations.explain import Explanation
from matches.store import selectors


class OutcomeSerializer(serializers.ModelSerializer[Outcome]):
    """The one result of a match; rank 0 is the best, equal ranks are a draw, or mates of a team."""

    ranks = serializers.SerializerMethodField()
    returns = serializers.SerializerMethodField(help_text="By seat; null after a forfeit.")

    class Meta:
        model = Outcome
        fields: tuple[str, ...] = (
            *("ranks", "returns", "is_forfeit", "guilty_seat", "reason"),
            *("attempt", "actions", "trajectory", "recorded_at"),
        )

    def get_ranks(self, outcome: Outcome) -> list[int]:
        """Return the ranks by seat."""
        return parse_numbers(outcome.ranks)

    def get_returns(self, outcome: Outcome) -> list[float] | None:
        """Return the returns by seat; null where none were reported."""
        return [float(value) for value in outcome.returns.split(",")] if outcome.returns else None


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    """One try at a match that has ended."""

    class Meta:
        model = Attempt
        fields: tuple[str, ...] = (
            *("number", "ending", "reason", "seat", "detail", "node", "server"),
            *("was_executing", "n_steps", "duration_ms", "ended_at"),
        )


class ListedAttemptSerializer(AttemptSerializer):
    """An attempt with its match."""

    match = serializers.IntegerField(source="match_id")
    tournament = serializers.IntegerField(source="match.tournament_id")

    class Meta(AttemptSerializer.Meta):
        fields: tuple[str, ...] = ("match", "tournament", *AttemptSerializer.Meta.fields)


class MatchSerializer(serializers.ModelSerializer[Match]):
    """A match; the agents by seat."""

    agents = serializers.SerializerMethodField()

    class Meta:
        model = Match
        fields: tuple[str, ...] = (
            *("id", "tournament", "sequence", "block", "rotation", "game_seed"),
            *("agents", "needs", "state", "attempt", "void_reason"),
        )

    def get_agents(self, match: Match) -> list[int]:
        """Return the agents' ids by seat."""
        return match.agent_ids


class VoidingSerializer(serializers.ModelSerializer[Voiding]):
    """Why people declared a match void; what had an outcome was struck and counts no more."""

    class Meta:
        model = Voiding
        fields: tuple[str, ...] = ("at", "actor", "reason", "was_done")


class MatchDetailSerializer(MatchSerializer):
    """A match with every attempt and its outcome."""

    attempts = AttemptSerializer(many=True)
    outcome = OutcomeSerializer(allow_null=True, default=None)
    voiding = VoidingSerializer(allow_null=True, default=None)
    replacement = serializers.IntegerField(
        source="replacement.match_id",
        default=None,
        allow_null=True,
        help_text="What is played instead of it.",
    )
    replaces = serializers.IntegerField(
        source="replaces.replaced_id",
        default=None,
        allow_null=True,
        help_text="What it is played instead of.",
    )
    same_as = serializers.IntegerField(
        source="same_as_id", allow_null=True, help_text="The same game, which was over before."
    )
    is_differing = serializers.BooleanField(
        read_only=True, help_text="It came out otherwise than that one."
    )

    class Meta(MatchSerializer.Meta):
        fields: tuple[str, ...] = (
            *(*MatchSerializer.Meta.fields, "attempts", "outcome"),
            *("voiding", "replacement", "replaces", "same_as", "is_differing"),
        )


class ListedOutcomeSerializer(OutcomeSerializer):
    """An outcome with its match; the agents by seat."""

    match = serializers.IntegerField(source="match_id")
    sequence = serializers.IntegerField(source="match.sequence")
    agents = serializers.SerializerMethodField()

    class Meta(OutcomeSerializer.Meta):
        fields: tuple[str, ...] = ("match", "sequence", "agents", *OutcomeSerializer.Meta.fields)

    def get_agents(self, outcome: Outcome) -> list[int]:
        """Return the agents' ids by seat."""
        return outcome.match.agent_ids


class MatchForm(Form):
    """Only what has an index is listed: one of three ways, and the state within a tournament."""

    def clean(self) -> dict[str, Any]:
        """Refuse what would have to be searched for among all matches."""
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            # What was refused is missing here, and would be asked for as if it had not been given.
            return cleaned
        filters = {name for name, value in cleaned.items() if value not in (None, "")}
        if not filters & {"tournament", "leaderboard", "agent"}:
            raise ValidationError({"tournament": "give one of tournament, leaderboard and agent"})
        if "leaderboard" in filters and filters & {"tournament", "agent"}:
            raise ValidationError({"leaderboard": "give it alone, or the tournament instead"})
        if "state" in filters and "tournament" not in filters:
            raise ValidationError({"state": "give the tournament too"})
        if {"state", "agent"} <= filters:
            raise ValidationError({"state": "leave it out where an agent is given"})
        return cleaned


class MatchFilter(Filters):
    """One of tournament, leaderboard (by name) and agent; an agent within a tournament too."""

    tournament = RowIdFilter(model=Tournament)
    leaderboard = BoardFilter()
    agent = RowIdFilter(model=Agent)
    state = ChoiceFilter(choices=Match.State.choices)

    class Meta:
        form = MatchForm

    def filter_queryset(self, queryset: QuerySet[Match]) -> QuerySet[Any]:
        """Return the matches; those of an agent as its seats, which the pages are cut from."""
        values = self.form.cleaned_data
        if values["agent"] is not None:
            return selectors.filter_matches_of_agent(
                values["agent"], tournament=values["tournament"]
            )
        if values["leaderboard"]:
            return queryset.filter(leaderboard__name=values["leaderboard"])
        return selectors.filter_matches(values["tournament"], state=values["state"] or "")


class ByFilter(InPlannedOrder):
    """In planned order; the matches of an agent the newest first."""

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        """Return the matches of the page."""
        if queryset.model is Match:
            return super().paginate_queryset(queryset, request, view)
        self.ordering = ByMatch.ordering
        page: list[Any] = super().paginate_queryset(queryset, request, view) or []
        ids = [row["match_id"] for row in page]
        # The page is cut from the seats, by their index; in_bulk keeps no order.
        matches = Match.objects.in_bulk(ids)
        return [matches[number] for number in ids]


class MatchView(mixins.ListModelMixin, mixins.RetrieveModelMixin, ExplainsRows, Endpoints[Match]):
    """Matches; one of them comes with attempts and outcome."""

    queryset = Match.objects.all()
    pagination_class = ByFilter
    lookup_value_regex = ID

    @property
    def filterset_class(self) -> type[MatchFilter] | None:
        """Return the filter of the list; a single match is found by its id."""
        return MatchFilter if self.action == "list" else None

    def get_queryset(self) -> QuerySet[Match]:
        """Return matches with what is shown of them."""
        # What a single one shows would cost a list four joins for nothing.
        if self.action == "retrieve":
            whole = Match.objects.select_related("outcome", "voiding", "replacement", "replaces")
            return whole.prefetch_related("attempts")
        if self.action == "explanation":
            return Match.objects.select_related("tournament", "leaderboard", "order")
        return super().get_queryset()

    def get_serializer_class(self) -> type[BaseSerializer[Match]]:
        """Return the form with attempts and outcome for a single one."""
        if self.action == "retrieve":
            return MatchDetailSerializer
        return MatchSerializer

    @extend_schema(request=ChosenMatchesSerializer, responses=VoidedSerializer)
    @action(detail=False, methods=["post"], filter_backends=[], pagination_class=None)
    def void(self, request: Request) -> Response:
        """Declare matches void: open ones end, outcomes are kept and count no more."""
        values = read_body(ChosenMatchesSerializer, request)
        voided = voiding.void_matches(
            values["matches"], reason=values["reason"], **read_actor(request)
        )
        return Response(VoidedSerializer(voided).data)

    @extend_schema(request=ChosenMatchesSerializer, responses=RequeuedSerializer)
    @action(detail=False, methods=["post"], filter_backends=[], pagination_class=None)
    def requeue(self, request: Request) -> Response:
        """Have void matches played again: same agents, seats and game seed, each once."""
        values = read_body(ChosenMatchesSerializer, request)
        requeued = voiding.requeue_matches(
            values["matches"], reason=values["reason"], **read_actor(request)
        )
        pairs = [{"replaced": old, "match": new} for old, new in requeued.replacements.items()]
        answer = {"n_new": requeued.n_new, "replacements": pairs}
        return Response(RequeuedSerializer(answer).data)

    def explain_row(self, row: Match, **clock: Any) -> Explanation:
        """Return what it waits for."""
        return explain.of_match(row, **clock)


class OutcomeFilter(Filters):
    """Outcomes are listed by tournament."""

    tournament = RowIdFilter(model=Tournament, required=True)

    def filter_queryset(self, queryset: QuerySet[Match]) -> QuerySet[Match]:
        """Return the matches of the tournament that are done."""
        del queryset
        tournament = self.form.cleaned_data["tournament"]
        return selectors.filter_matches(tournament, state=Match.State.DONE).select_related(
            "outcome"
        )


class OutcomesInPlannedOrder(InPlannedOrder):
    """Outcomes in the order in which their matches were planned."""

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any]:
        """Return the outcomes of the page."""
        page: list[Any] = super().paginate_queryset(queryset, request, view) or []
        return [match.outcome for match in page]


class OutcomeView(mixins.ListModelMixin, Endpoints[Any]):
    """The results of a tournament in planned order."""

    queryset = Match.objects.all()
    serializer_class = ListedOutcomeSerializer
    filterset_class = OutcomeFilter
    pagination_class = OutcomesInPlannedOrder


class AttemptForm(Form):
    """Only what has an index is listed."""

    def clean(self) -> dict[str, Any]:
        """Refuse what would have to be searched for among all attempts."""
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        if cleaned.get("tournament") is not None and cleaned.get("ending") not in Attempt.NOT_DONE:
            endings = ", ".join(ending.value for ending in Attempt.NOT_DONE)
            raise ValidationError({"ending": f"within a tournament give one of {endings}"})
        return cleaned


class AttemptFilter(Filters):
    """The attempts at a match, of a game server, or that ended so, also within a tournament."""

    match = RowIdFilter(model=Match)
    ending = ChoiceFilter(choices=Attempt.Ending.choices)
    server = CharFilter(max_length=200)
    tournament = RowIdFilter(model=Tournament)

    class Meta:
        form = AttemptForm

    def filter_queryset(self, queryset: QuerySet[Attempt]) -> QuerySet[Attempt]:
        filters = {name: value for name, value in self.form.cleaned_data.items() if value}
        if filters.get("ending") in Attempt.NOT_DONE:
            # The condition of the index of those: without it PostgreSQL reads all attempts.
            queryset = queryset.filter(Attempt.is_not_done())
        if "server" in filters:
            queryset = queryset.filter(Attempt.is_served())
        if "tournament" in filters:
            filters["match__tournament"] = filters.pop("tournament")
        return queryset.filter(**filters)


class AttemptView(mixins.ListModelMixin, Endpoints[Attempt]):
    """Attempts that have ended, the newest first."""

    queryset = Attempt.objects.select_related("match")
    serializer_class = ListedAttemptSerializer
    filterset_class = AttemptFilter
    pagination_class = NewestFirst
