"""Endpoints of campaigns: ask, forecast, follow. One is stopped as its tournament is."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from django.db.models import QuerySet
from django_filters import ChoiceFilter
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from matches.api.base import ID, Endpoints, answer_created, read_body
from matches.api.explanations import ExplainsRows
from matches.api.fields import AgentNameSerializer, BoardField
from matches.api.filters import BoardFilter, Filters, RowIdFilter, TruthFilter
from matches.api.forecasts import AheadSerializer, ForecastSerializer, PairsSerializer
from matches.api.operating import read_actor
from matches.api.options import PlanSerializer
from matches.api.pagination import NewestFirst
from matches.campaigns import endings, forecasting, inputs, results, texts
from matches.campaigns.inputs import MAX_AGENTS
from matches.campaigns.starting import start_campaign
from matches.ledger import pairing_warnings
from matches.ledger.noted_changes import add_with_audit
from matches.models import Agent, Campaign, CampaignPoint, Leaderboard, Tournament
from matches.models.choices import question_choices
from matches.models.tournament import MAX_MATCHES
from matches.operations import explain
from matches.operations.explain import Explanation
from matches.options import Option, options_of
from matches.plans import CampaignPlan, columns_of
from matches.store.clock import db_now

OPTIONS = options_of(CampaignPlan)
BUDGET_UNASKED = 1_000_000
"""A forecast goes so far."""


class CampaignSerializer(serializers.ModelSerializer[Campaign]):
    """A tournament with a question, and its verdict once there is one."""

    tournament = serializers.IntegerField(source="tournament_id")
    name = serializers.CharField(source="tournament.name")
    leaderboard = serializers.CharField(source="tournament.leaderboard.name")
    state = serializers.CharField(
        source="tournament.state",
        help_text="Of its tournament; planning: it chooses matches, and those chosen are played.",
    )
    pairing = serializers.CharField(source="tournament.pairing")
    weight = serializers.IntegerField(source="tournament.weight")
    question = serializers.CharField()
    n_planned = serializers.IntegerField(source="tournament.n_planned")
    n_done = serializers.IntegerField(source="tournament.n_done")
    n_reused = serializers.IntegerField(
        source="tournament.n_known", help_text="Of those done: known games, not played again."
    )
    created_at = serializers.DateTimeField(source="tournament.created_at")
    started_at = serializers.DateTimeField(source="tournament.started_at", allow_null=True)

    class Meta:
        model = Campaign
        fields: tuple[str, ...] = (
            *("id", "tournament", "name", "leaderboard", "state", "pairing", "weight"),
            *(name for name in columns_of(CampaignPlan, Campaign) if name != "parameters"),
            "is_by_scores",
            *("n_known", "n_known_elsewhere", "n_planned", "n_done", "n_reused", "n_judged"),
            *("judged_at", "created_at", "started_at"),
            *("statement", "probability", "why", "decided_at", "n_played", "n_round_robin"),
            "likely_statement",
        )


class ChanceSerializer(serializers.Serializer[Any]):
    """How likely an entrant is the best."""

    agent = AgentNameSerializer()
    p_best = serializers.FloatField()


class RankedSerializer(serializers.Serializer[Any]):
    """An entrant of the likeliest order."""

    agent = AgentNameSerializer()
    p_above_next = serializers.FloatField(
        allow_null=True,
        help_text="The probability that it is better than the next one; null for the last.",
    )


class UpsetSerializer(serializers.Serializer[Any]):
    """An agent, and one that it beats though that stands before it."""

    agent = AgentNameSerializer()
    beats = AgentNameSerializer()


class SpentSerializer(serializers.Serializer[Any]):
    """What the matches of a campaign have cost so far."""

    matches = serializers.IntegerField()
    core_s = serializers.FloatField()
    gpu_s = serializers.FloatField()
    money = serializers.FloatField()


class CampaignPointSerializer(serializers.ModelSerializer[CampaignPoint]):
    """What a campaign said after so many results."""

    class Meta:
        """Everything of it."""

        model = CampaignPoint
        fields: tuple[str, ...] = ("n_results", "at", "probability", "llr", "matches_left")


class CampaignDetailSerializer(CampaignSerializer):
    """A campaign with what is believed now, what it has cost and what it will take."""

    parameters = serializers.SerializerMethodField(help_text="Of the question; agents by name.")
    subjects = serializers.SerializerMethodField(help_text="The agents that the verdict names.")
    likely_subjects = serializers.SerializerMethodField(
        help_text="The agents that the likeliest answer names, as judged last."
    )
    chances = serializers.SerializerMethodField(help_text="The likeliest first; at most 200.")
    ranking = serializers.SerializerMethodField(
        help_text="Of a question about the order: the likeliest one as judged last, the best "
        "first; at most 200."
    )
    upsets = serializers.SerializerMethodField(
        help_text="Of a ranking that ended as no order: all who beat one that stands before them."
    )
    spent = serializers.SerializerMethodField()
    warning = serializers.SerializerMethodField(
        help_text="What is said of a pairing that suits the field badly, while it runs; else null."
    )
    budget_warning = serializers.SerializerMethodField(
        help_text="Said while it runs and its forecast is over what is left of its budget; else "
        "null."
    )
    pairs = serializers.SerializerMethodField(
        help_text="Of a sequential test, as it was judged last; else null."
    )
    forecast = ForecastSerializer(allow_null=True)
    latest_point = serializers.SerializerMethodField(
        help_text="What it said at its latest judgement; null before the first."
    )
    saved = serializers.SerializerMethodField(
        help_text="What did not have to be played; empty if nothing."
    )
    why_in_words = serializers.SerializerMethodField(help_text="Empty while it goes on.")
    shortfall = serializers.SerializerMethodField(
        help_text="Of one that ended without an answer: what was not reached, and what to do; "
        "else empty."
    )

    doubts = serializers.ListField(
        child=serializers.CharField(),
        help_text="Which assumptions of the rating model its results put in doubt, as judged last.",
    )

    class Meta(CampaignSerializer.Meta):
        fields: tuple[str, ...] = (
            *CampaignSerializer.Meta.fields,
            "doubts",
            *(
                "parameters",
                "subjects",
                "likely_subjects",
                "chances",
                "ranking",
                "upsets",
                "spent",
                "warning",
            ),
            *("budget_warning", "pairs", "forecast", "forecast_at", "latest_point", "saved"),
            *("why_in_words", "shortfall"),
        )

    def get_parameters(self, campaign: Campaign) -> dict[str, Any]:
        """Return them with the names of agents."""
        return results.name_parameters(campaign)

    @extend_schema_field(AgentNameSerializer(many=True))
    def get_subjects(self, campaign: Campaign) -> list[Any]:
        """Return them in the order of the statement."""
        return list(AgentNameSerializer(results.list_subjects(campaign), many=True).data)

    @extend_schema_field(AgentNameSerializer(many=True))
    def get_likely_subjects(self, campaign: Campaign) -> list[Any]:
        """Return them in the order of the statement."""
        return list(AgentNameSerializer(results.list_likely_subjects(campaign), many=True).data)

    @extend_schema_field(ChanceSerializer(many=True))
    def get_chances(self, campaign: Campaign) -> list[Any]:
        """Return P(best)."""
        return list(ChanceSerializer(results.list_chances(campaign), many=True).data)

    @extend_schema_field(RankedSerializer(many=True))
    def get_ranking(self, campaign: Campaign) -> list[Any]:
        """Return the likeliest order."""
        return list(RankedSerializer(results.list_ranking(campaign), many=True).data)

    @extend_schema_field(UpsetSerializer(many=True))
    def get_upsets(self, campaign: Campaign) -> list[Any]:
        """Return the pairs that go the other way round."""
        return list(UpsetSerializer(results.list_upsets(campaign), many=True).data)

    @extend_schema_field(SpentSerializer)
    def get_spent(self, campaign: Campaign) -> dict[str, Any]:
        """Return what it has cost so far."""
        return dict(SpentSerializer(results.sum_spent(campaign)).data)

    def get_warning(self, campaign: Campaign) -> str | None:
        """Return it, made once a minute."""
        return pairing_warnings.warn_of_pairing(campaign.tournament)

    def get_budget_warning(self, campaign: Campaign) -> str | None:
        """Return it by the forecast that is stored."""
        return texts.warn_of_budget(campaign)

    @extend_schema_field(PairsSerializer(allow_null=True))
    def get_pairs(self, campaign: Campaign) -> dict[str, Any] | None:
        """Return what its blocks say."""
        pairs = results.read_pairs(campaign)
        return None if pairs is None else dict(PairsSerializer(pairs).data)

    @extend_schema_field(CampaignPointSerializer(allow_null=True))
    def get_latest_point(self, campaign: Campaign) -> dict[str, Any] | None:
        """Return the point of the results that it was judged by last."""
        latest = results.find_latest_point(campaign)
        return None if latest is None else dict(CampaignPointSerializer(latest).data)

    def get_saved(self, campaign: Campaign) -> str:
        """Return how many results were known before."""
        return texts.describe_saved(campaign)

    def get_why_in_words(self, campaign: Campaign) -> str:
        """Return why it ended."""
        return texts.describe_end(campaign)

    def get_shortfall(self, campaign: Campaign) -> str:
        """Return what was not reached."""
        return endings.describe_shortfall(campaign)


class CampaignQuestionSerializer(PlanSerializer):
    """What is asked of whom: the leaderboard and the agents by name."""

    options: ClassVar[Sequence[Option]] = [option for option in OPTIONS if option.is_asked]
    leaderboard = BoardField(slug_field="name", queryset=Leaderboard.objects.all())
    agents = serializers.ListField(
        child=serializers.CharField(max_length=120),
        max_length=MAX_AGENTS,
        default=list,
        help_text="None: all of the leaderboard, less those retired or in quarantine.",
    )


class CampaignForecastSerializer(CampaignQuestionSerializer):
    """What is asked of whom, and how much it might play."""

    max_matches = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MAX_MATCHES,
        help_text="The budget in mind: the answer warns where it will probably not suffice.",
    )


class NewCampaignSerializer(CampaignQuestionSerializer):
    """A campaign to start, with its budget."""

    options = OPTIONS


class CampaignFilter(Filters):
    """Those of a leaderboard or tournament, of a question, with or without a verdict."""

    leaderboard = BoardFilter(field_name="tournament__leaderboard__name")
    tournament = RowIdFilter(model=Tournament)
    question = ChoiceFilter(choices=question_choices)
    decided = TruthFilter(field_name="decided_at", lookup_expr="isnull", exclude=True)


class InOrderOfEvidence(NewestFirst):
    """By the number of results."""

    ordering = "n_results"


class CampaignView(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, ExplainsRows, Endpoints[Campaign]
):
    """Campaigns: creating one starts it; cancelling its tournament stops it."""

    queryset = Campaign.objects.select_related("tournament__leaderboard")
    pagination_class = NewestFirst
    filterset_class = CampaignFilter
    lookup_value_regex = ID

    def get_serializer_class(self) -> type[BaseSerializer[Campaign]]:
        """Return the form with everything for a single one."""
        return CampaignSerializer if self.action == "list" else CampaignDetailSerializer

    @extend_schema(request=NewCampaignSerializer, responses={201: CampaignDetailSerializer})
    def create(self, request: Request) -> Response:
        """Start a campaign."""
        plan, board, agents = _read_plan(read_body(NewCampaignSerializer, request))
        start = partial(start_campaign, plan, leaderboard=board, agents=agents)
        campaign = add_with_audit(start, **read_actor(request))
        return answer_created(CampaignDetailSerializer(campaign))

    @extend_schema(request=CampaignForecastSerializer, responses=AheadSerializer)
    @action(detail=False, methods=["post"])
    def forecast(self, request: Request) -> Response:
        """Say what a campaign would take, by what is known; none is started."""
        values = read_body(CampaignForecastSerializer, request)
        budget = values.pop("max_matches")
        plan, board, agents = _read_plan({**values, "max_matches": BUDGET_UNASKED})
        ahead = forecasting.forecast_start(plan, leaderboard=board, agents=agents, now=db_now())
        answer = {
            "n_agents": len(agents),
            "margin": ahead.margin,
            "n_known": ahead.n_known,
            "n_known_elsewhere": ahead.n_known_elsewhere,
            "warning": ahead.warning,
            "budget_warning": None
            if budget is None
            else texts.warn_of_forecast(ahead.forecast, budget),
            "forecast": ahead.forecast,
        }
        return Response(AheadSerializer(answer).data)

    @extend_schema(responses=CampaignPointSerializer(many=True), filters=False)
    @action(detail=True, filter_backends=[], pagination_class=InOrderOfEvidence)
    def curve(self, request: Request, pk: str) -> Response:
        """List what it said as the evidence grew."""
        del request, pk
        points: QuerySet[CampaignPoint] = self.get_object().points.all()
        return self.answer_page(points, CampaignPointSerializer)

    def explain_row(self, row: Campaign, **clock: Any) -> Explanation:
        """Return what it waits for."""
        return explain.of_campaign(row, **clock)


def _read_plan(values: dict[str, Any]) -> tuple[CampaignPlan, Leaderboard, list[Agent]]:
    """Return the plan, the leaderboard and the agents of a body. Raises BadInputError."""
    board = values.pop("leaderboard")
    agents = inputs.find_entrants(board, values.pop("agents"))
    return CampaignPlan(**values), board, agents
