"""Endpoints of gates: does a candidate beat its baseline? One test, however often asked."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from arena.verdicts.paired_blocks import compare_blocks
from arena.verdicts.sprt import EloModel
from matches.api.base import ID, Endpoints, answer_created, read_body, read_query
from matches.api.fields import OneOf
from matches.api.forecasts import ForecastSerializer, PairsSerializer
from matches.api.operating import read_actor
from matches.api.permissions import list_scopes
from matches.campaigns import endings, gates, texts
from matches.campaigns.gates import Bounds
from matches.campaigns.results import Pairs
from matches.campaigns.starting import IS_SPRT
from matches.ledger.noted_changes import add_with_audit
from matches.models import Campaign, Scope
from matches.store.clock import db_now


class LineSerializer(serializers.Serializer[Any]):
    """Something and what is said of it."""

    label = serializers.CharField()  # type: ignore[assignment]  # taken by the metaclass
    says = serializers.CharField()


class NewGateSerializer(serializers.Serializer[Any]):
    """Who is tested against whom: worse than elo0, or better by elo1."""

    candidate = serializers.CharField(max_length=120)
    baseline = serializers.CharField(max_length=120)
    game = serializers.CharField(
        max_length=60, default="", allow_blank=True, help_text="When several have these names."
    )
    leaderboard = serializers.CharField(
        max_length=80, default="", allow_blank=True, help_text="Empty: that of the game's gates."
    )
    elo0 = serializers.FloatField(default=0.0)
    elo1 = serializers.FloatField(default=20.0)
    alpha = serializers.FloatField(default=0.05, help_text="Of passing at elo0.")
    beta = serializers.FloatField(default=0.05, help_text="Of failing at elo1.")
    model = OneOf(choices=[model.value for model in EloModel], default=EloModel.LOGISTIC.value)
    max_matches = serializers.IntegerField(default=20_000, help_text="Of this call.")


class GateLookSerializer(serializers.Serializer[Any]):
    """What to look at."""

    with_forecast = serializers.BooleanField(
        default=False, help_text="Also foresee what is left, which takes a while."
    )


class GateSerializer(serializers.Serializer[Any]):
    """Where the test of a gate stands."""

    campaign = serializers.IntegerField()
    tournament = serializers.IntegerField()
    decision = serializers.ChoiceField(choices=["accept", "reject", "continue"])
    is_over = serializers.BooleanField()
    llr = serializers.FloatField(help_text="Log-likelihood ratio.")
    lower = serializers.FloatField()
    upper = serializers.FloatField()
    n_games = serializers.IntegerField()
    n_known = serializers.IntegerField(help_text="Matches that were known at its start.")
    n_known_elsewhere = serializers.IntegerField()
    n_not_played_again = serializers.IntegerField()
    n_left = serializers.FloatField(allow_null=True, help_text="Matches to go, as judged last.")
    blocks = serializers.ListField(
        child=serializers.IntegerField(), help_text="With 0, 1/2, 1, 3/2 and 2 points of two games."
    )
    pairs = serializers.SerializerMethodField()
    pairs_in_words = LineSerializer(many=True)
    gap = serializers.CharField(
        help_text="How much better or worse the candidate plays, with its interval; empty before "
        "the first block."
    )
    budget_warning = serializers.CharField(
        allow_null=True, help_text="Said where the forecast is over what is left of the budget."
    )
    saved = serializers.CharField(help_text="What did not have to be played; empty if nothing.")
    forecast = ForecastSerializer(allow_null=True, help_text="Null without one, or once decided.")
    forecast_in_words = LineSerializer(many=True)
    parameters = serializers.DictField()
    statement = serializers.CharField()
    why = serializers.CharField()

    @extend_schema_field(PairsSerializer(allow_null=True))
    def get_pairs(self, gate: dict[str, Any]) -> dict[str, Any] | None:
        """Return what the blocks say."""
        pairs = gate["pairs"]
        return None if pairs is None else dict(PairsSerializer(pairs).data)


class GateView(Endpoints[Campaign]):
    """Gates: a pair on a leaderboard has one test, which goes on when it is asked for again."""

    queryset = Campaign.objects.filter(question=IS_SPRT).select_related("tournament__leaderboard")
    lookup_value_regex = ID
    # The forecast of the answer takes a while: not within the transaction that enters the pair.
    is_atomic = False

    @extend_schema(request=NewGateSerializer, responses={201: GateSerializer})
    def create(self, request: Request) -> Response:
        """Enter a candidate; the answer has the forecast. Decided before, it says so at once."""
        values = read_body(NewGateSerializer, request)
        campaign = add_with_audit(partial(_enter_test, values), **read_actor(request))
        return answer_created(GateSerializer(_describe_gate(campaign, with_forecast=True)))

    @extend_schema(parameters=[GateLookSerializer], responses=GateSerializer, filters=False)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return where the test stands."""
        del pk
        values = read_query(GateLookSerializer, request)
        if values["with_forecast"] and Scope.SUBMIT not in list_scopes(request):
            # It takes up to a second of this process: only for who may also start a test.
            raise PermissionDenied(f"with_forecast needs the scope {Scope.SUBMIT.value!r}")
        return Response(GateSerializer(_describe_gate(self.get_object(), **values)).data)


def _enter_test(values: Mapping[str, Any]) -> Campaign:
    bounds = Bounds(*(values[name] for name in ("elo0", "elo1", "alpha", "beta", "model")))
    return gates.enter_named_test(
        values["candidate"],
        values["baseline"],
        bounds,
        game=values["game"],
        leaderboard=values["leaderboard"],
        max_matches=values["max_matches"],
    )


def _describe_gate(campaign: Campaign, *, with_forecast: bool) -> dict[str, Any]:
    is_over = campaign.decided_at is not None
    standing = gates.read_standing(campaign, n_reused=0)
    forecast = gates.forecast_left(campaign, now=db_now()) if with_forecast else None
    blocks = compare_blocks(standing.counts)
    stored = None if is_over else campaign.forecast
    n_left = campaign.max_matches - campaign.tournament.n_done
    return {
        "campaign": campaign.pk,
        "tournament": campaign.tournament_id,
        "decision": standing.decision.value,
        "is_over": is_over,
        "llr": standing.state.llr,
        "lower": standing.state.lower,
        "upper": standing.state.upper,
        "n_games": standing.state.n_games,
        "n_known": campaign.n_known,
        "n_known_elsewhere": campaign.n_known_elsewhere,
        "n_not_played_again": campaign.tournament.n_known,
        "n_left": stored["matches"] if stored else None,
        "blocks": standing.counts,
        "pairs": None if blocks is None else Pairs(blocks=standing.counts, **vars(blocks)),
        "pairs_in_words": []
        if blocks is None
        else [line._asdict() for line in texts.describe_blocks(blocks)],
        "gap": endings.describe_gap(blocks),
        "budget_warning": None if is_over else texts.warn_of_forecast(forecast or stored, n_left),
        "saved": texts.describe_saved(campaign),
        "forecast": forecast,
        "forecast_in_words": [line._asdict() for line in texts.describe_forecast(forecast, n_left)],
        "parameters": campaign.parameters,
        "statement": campaign.statement,
        "why": campaign.why,
    }
