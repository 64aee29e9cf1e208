"""Endpoint of recommendations: an opponent or a teacher of fitting strength."""

from typing import Any

from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from arena.ratings.fitting_others import OPPONENT, PURPOSES
from matches.api.base import Endpoints, read_query
from matches.api.fields import MAX_ID, AgentNameSerializer, OneOf
from matches.models import Rating
from matches.ratings.recommendations import (
    HIGHEST,
    MOST,
    MU,
    SCORE,
    MeasuredStrength,
    RecommendationRequest,
    Recommendations,
    describe_rule,
    recommend,
)


class WishSerializer(serializers.Serializer[Any]):
    """Who looks for whom: give either agent or rating."""

    game = serializers.CharField(max_length=60)
    agent = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_ID, help_text="By id; it must play the game."
    )
    rating = serializers.FloatField(
        required=False,
        min_value=-HIGHEST,
        max_value=HIGHEST,
        help_text="Instead of an agent; in a game of one seat a mean score.",
    )
    purpose = OneOf(
        choices=PURPOSES,
        default=OPPONENT,
        help_text="opponent: about as strong; teacher: surely stronger, and not out of reach.",
    )
    leaderboard = serializers.CharField(
        max_length=80,
        default="",
        help_text="Without it that on which the agent has played most, or the first of the game.",
    )
    limit = serializers.IntegerField(default=3, min_value=1, max_value=MOST)


class MeasuredSerializer(serializers.Serializer[Any]):
    """A rating or a mean score; low and high end its 95 % interval."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class MeetingSerializer(serializers.Serializer[Any]):
    """How another agent compares with who asks."""

    lead = serializers.FloatField(help_text="Of the other one, in ratings or mean scores.")
    low = serializers.FloatField(help_text="Lower end of the 95 % interval of the lead.")
    high = serializers.FloatField(help_text="Upper end.")
    p_stronger = serializers.FloatField(
        help_text="P(the other one is the stronger); both ratings count as independent."
    )
    share = serializers.FloatField(
        allow_null=True,
        help_text="The part of the points that can be won against it; null in a game of one seat.",
    )
    share_low = serializers.FloatField(allow_null=True, help_text="At the upper end of the lead.")
    share_high = serializers.FloatField(allow_null=True, help_text="At the lower end of the lead.")
    quality = serializers.FloatField(
        help_text="Of a match, 0 to 1: 1 for two that are known to be equal."
    )


class RecommendedSerializer(serializers.Serializer[Any]):
    """An agent that fits, and why."""

    agent = AgentNameSerializer()
    checkpoint = serializers.CharField(allow_null=True, help_text="Of its weights, by SHA-256.")
    strength = MeasuredSerializer()
    n_matches = serializers.IntegerField()
    meeting = MeetingSerializer()
    why = serializers.CharField()


class RecommendationSerializer(serializers.Serializer[Any]):
    """Who is recommended, the best first."""

    game = serializers.CharField()
    leaderboard = serializers.CharField(help_text="Whose ratings are compared.")
    purpose = serializers.ChoiceField(choices=PURPOSES)
    measure = serializers.ChoiceField(choices=(MU, SCORE), help_text="What strengths are.")
    own = MeasuredSerializer(help_text="Of who asks.")
    rule = serializers.CharField(help_text="By which they are chosen.")
    recommended = RecommendedSerializer(many=True)
    none = serializers.CharField(help_text="Why nobody is recommended; empty where somebody is.")


# One answer, though it holds several: the schema would take a list for granted.
ONE: Any = forced_singular_serializer(RecommendationSerializer)  # type: ignore[no-untyped-call]


class RecommendationView(Endpoints[Rating]):
    """Opponents and teachers of fitting strength."""

    queryset = Rating.objects.all()
    pagination_class = None
    query_form = WishSerializer

    @extend_schema(
        operation_id="recommendations_retrieve",
        parameters=[WishSerializer],
        responses=ONE,
        filters=False,
    )
    def list(self, request: Request) -> Response:
        """Return who fits an agent, or somebody of a given strength, and why."""
        wish = RecommendationRequest(**read_query(WishSerializer, request))
        return Response(RecommendationSerializer(_make_answer(wish, recommend(wish))).data)


def _make_answer(wish: RecommendationRequest, recommendations: Recommendations) -> dict[str, Any]:
    return {
        "game": wish.game,
        "leaderboard": recommendations.board.name,
        "purpose": wish.purpose,
        "measure": recommendations.measure,
        "own": _show_strength(recommendations.own),
        "rule": describe_rule(wish.purpose, recommendations.measure),
        "recommended": [
            {
                "agent": opponent.rating.agent,
                "checkpoint": opponent.rating.agent.checkpoint_id,
                "strength": _show_strength(opponent.measured),
                "n_matches": opponent.rating.n_matches,
                "meeting": opponent.meeting,
                "why": opponent.why,
            }
            for opponent in recommendations.chosen
        ],
        "none": recommendations.none,
    }


def _show_strength(measured: MeasuredStrength) -> dict[str, float]:
    return {"value": measured.strength.value, "low": measured.low, "high": measured.high}
