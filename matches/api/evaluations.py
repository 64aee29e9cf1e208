"""Endpoints of evaluations: agents as they are spelled meet in a tournament, by one call."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import Endpoints, answer_created, read_body
from matches.api.fields import Parameters
from matches.api.operating import read_actor
from matches.api.options import PlanSerializer
from matches.api.ratings import RatingSerializer, format_ratings
from matches.ledger import evaluation, pairing_warnings
from matches.ledger.evaluation import Evaluation
from matches.ledger.noted_changes import add_with_audit
from matches.ledger.reporting import Report
from matches.models import Tournament
from matches.models.validation import replace_unprintable
from matches.options import options_of
from matches.plans import TournamentPlan
from matches.store.clock import db_now

LONGEST_NAME = 80

MAX_AGENTS = 10_000
SETTLED = ("name", "is_paused", "is_rated", "replays")
"""Options of tournaments that nobody is asked for here."""
# The limit of a move is shorter than elsewhere: what hangs is found out soon.
DEFAULTS = {"pairing": "random", "move_s": 2.0}
OPTIONS = tuple(
    replace(option, default=DEFAULTS.get(option.name, option.default))
    for option in options_of(TournamentPlan)
    if option.name not in SETTLED
)


class NewEvaluationSerializer(PlanSerializer):
    """What to evaluate: agents as spelled, or how many to draw for the test game."""

    options = OPTIONS
    game = serializers.CharField(max_length=60)
    agents = serializers.ListField(
        child=serializers.CharField(max_length=120),
        default=list,
        max_length=MAX_AGENTS,
        help_text="Such as alphabeta:4, the name of an agent, or the hash of a checkpoint.",
    )
    num_agents = serializers.IntegerField(
        default=10, min_value=2, max_value=MAX_AGENTS, help_text="Without agents: so many."
    )
    leaderboard = serializers.CharField(
        max_length=80, default="", allow_blank=True, help_text="Empty: one of their own."
    )
    game_parameters = Parameters(default=dict)


class StartedSerializer(serializers.Serializer[Any]):
    """A tournament that has been started."""

    tournament = serializers.IntegerField()
    leaderboard = serializers.CharField()
    n_agents = serializers.IntegerField()
    warning = serializers.CharField(
        allow_null=True, help_text="What the number of matches keeps the pairing from."
    )


class AccuracySerializer(serializers.Serializer[Any]):
    """How well ratings order agents of known level, 0 to 1."""

    seed = serializers.FloatField(allow_null=True)
    strict = serializers.FloatField(allow_null=True)


class DifferingSerializer(serializers.Serializer[Any]):
    """A match that came out otherwise than the same game before."""

    match = serializers.IntegerField()
    first = serializers.IntegerField()


class EntrantRatingSerializer(RatingSerializer):
    """The rating of an agent that took part, ranked among those who did."""

    class Meta(RatingSerializer.Meta):
        # What a table of a tournament shows
        fields = tuple(name for name in RatingSerializer.Meta.fields if name != "live_sigma")


class ClassUseSerializer(serializers.Serializer[Any]):
    """What one class of machines was used for."""

    machine_class = serializers.CharField(help_text="The label class; empty: nodes without one.")
    node_hours = serializers.FloatField()
    unpriced_hours = serializers.FloatField(help_text="Of these: of nodes of unknown price.")
    money = serializers.FloatField(allow_null=True, help_text="Empty: no price is known.")
    thrown_hours = serializers.FloatField(help_text="Slot-hours played that nothing came of.")


class NodeReportSerializer(serializers.Serializer[Any]):
    """What a tournament took of nodes, by its orders that have ended."""

    classes = ClassUseSerializer(many=True)
    node_hours = serializers.FloatField(help_text="Of nodes while they had an order of it.")
    unpriced_hours = serializers.FloatField(help_text="Of these: of nodes of unknown price.")
    money = serializers.FloatField(allow_null=True, help_text="Empty: no price is known.")
    saved = serializers.FloatField(
        allow_null=True,
        help_text="What its spot nodes would have cost more on demand; empty: not known.",
    )
    thrown_hours = serializers.FloatField(help_text="Slot-hours played that nothing came of.")
    thrown_share = serializers.FloatField(
        allow_null=True, help_text="Of the slot-hours that were played."
    )


class ReportSerializer(serializers.Serializer[Any]):
    """What a tournament came to so far."""

    tournament = serializers.IntegerField(source="tournament.pk")
    is_rated = serializers.BooleanField(help_text="Whether all that was played is rated.")
    play_s = serializers.FloatField()
    void_reasons = serializers.DictField(child=serializers.IntegerField())
    forfeit_reasons = serializers.DictField(child=serializers.IntegerField())
    failed_attempts = serializers.DictField(child=serializers.IntegerField())
    interrupted_attempts = serializers.DictField(child=serializers.IntegerField())
    failure_details = serializers.DictField(
        child=serializers.IntegerField(), help_text="What they said, the most frequent first."
    )
    differing = serializers.SerializerMethodField()
    accuracy = AccuracySerializer(allow_null=True, help_text="Of the test game only.")
    warning = serializers.CharField(allow_null=True)
    nodes = NodeReportSerializer()
    ratings = serializers.SerializerMethodField(help_text="Of those who took part, the best first.")

    @extend_schema_field(DifferingSerializer(many=True))
    def get_differing(self, report: Report) -> list[dict[str, int]]:
        """Return the first few."""
        return [{"match": match, "first": first} for match, first in report.differing]

    @extend_schema_field(EntrantRatingSerializer(many=True))
    def get_ratings(self, report: Report) -> list[dict[str, Any]]:
        """Return the ratings with the rank among those who took part."""
        return format_ratings(report.ratings, EntrantRatingSerializer.Meta.fields)


class EvaluationView(Endpoints[Tournament]):
    """Evaluations: all or nothing is registered, opened and scheduled."""

    queryset = Tournament.objects.none()

    @extend_schema(request=NewEvaluationSerializer, responses={201: StartedSerializer})
    def create(self, request: Request) -> Response:
        """Start a tournament between agents as they are spelled."""
        start = partial(evaluation.start_evaluation, _read_evaluation(request), now=db_now())
        tournament = add_with_audit(start, **read_actor(request))
        return answer_created(StartedSerializer(_describe_start(tournament)))

    @extend_schema(request=NewEvaluationSerializer, responses=StartedSerializer)
    @action(detail=False, methods=["post"])
    def check(self, request: Request) -> Response:
        """Say whether it could start; nothing is left behind, and its ids mean nothing."""
        return Response(
            StartedSerializer(
                evaluation.check_evaluation(
                    _read_evaluation(request), now=db_now(), of=_describe_start
                )
            ).data
        )


def _read_evaluation(request: Request) -> Evaluation:
    values = read_body(NewEvaluationSerializer, request)
    own = {
        n: values.pop(n) for n in ("game", "agents", "num_agents", "leaderboard", "game_parameters")
    }
    name = replace_unprintable(_name_evaluation(own))
    return Evaluation(**own, plan=TournamentPlan(name=name, **values))


def _name_evaluation(own: Mapping[str, Any]) -> str:
    """Return a name by what it plays, so that lists of tournaments tell evaluations apart."""
    agents = own["agents"] or []
    if not agents:
        return f"evaluate: {own['num_agents']} agents drawn"
    # No more names than fit by any means.
    for n_named in range(min(len(agents), LONGEST_NAME // 3), 0, -1):
        unnamed = f" (+{len(agents) - n_named})" if n_named < len(agents) else ""
        name = f"evaluate: {', '.join(agents[:n_named])}{unnamed}"
        if len(name) <= LONGEST_NAME:
            return name
    return f"evaluate: {len(agents)} agents"


def _describe_start(tournament: Tournament) -> dict[str, Any]:
    return {
        "tournament": tournament.pk,
        "leaderboard": tournament.leaderboard.name,
        "n_agents": tournament.entrant_set.count(),
        "warning": pairing_warnings.warn_of_budget(tournament),
    }
