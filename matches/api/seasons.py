"""Endpoints of seasons: leaderboards as they stood when they were frozen."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import ID, Endpoints
from matches.api.fields import OneOf
from matches.api.operating import RemarkSerializer
from matches.api.pagination import ByKeptRank
from matches.models import Leaderboard, Season, SeasonRow
from matches.models.choices import SeasonMode
from matches.ratings.standings import TOP


class SeasonSerializer(serializers.ModelSerializer[Season]):
    """A season without its rows."""

    leaderboard = serializers.SlugRelatedField[Leaderboard](slug_field="name", read_only=True)

    class Meta:
        model = Season
        fields: tuple[str, ...] = (
            *("id", "leaderboard", "name", "frozen_at", "actor", "reason"),
            *("n_agents", "n_counted", "results_hash", "spread"),
        )


class SeasonRowSerializer(serializers.ModelSerializer[SeasonRow]):
    """Where an agent stood."""

    agent = serializers.IntegerField(source="agent_id")

    class Meta:
        model = SeasonRow
        fields: tuple[str, ...] = (
            *("rank", "agent", "name", "mu", "sd", "low", "high", "live_mu", "live_sigma"),
            *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
        )


class RankedSeasonSerializer(SeasonSerializer):
    """A season with its first rows."""

    rows = serializers.SerializerMethodField()

    class Meta(SeasonSerializer.Meta):
        fields: tuple[str, ...] = (*SeasonSerializer.Meta.fields, "rows")

    @extend_schema_field(SeasonRowSerializer(many=True))
    def get_rows(self, season: Season) -> list[dict[str, Any]]:
        """Return as many rows as a page of the leaderboard shows."""
        first = season.rows.order_by("rank")[:TOP]
        return [dict(row) for row in SeasonRowSerializer(first, many=True).data]


class NewSeasonSerializer(RemarkSerializer):
    """A season to freeze."""

    name = serializers.CharField(max_length=80)


class BeginningSerializer(RemarkSerializer):
    """A season to begin, and what becomes of the results so far."""

    name = serializers.CharField(max_length=80)
    mode = OneOf(choices=SeasonMode.choices)


class SeasonView(mixins.RetrieveModelMixin, Endpoints[Season]):
    """Seasons; nobody changes one. Those of a leaderboard are listed there."""

    queryset = Season.objects.select_related("leaderboard")
    serializer_class = RankedSeasonSerializer
    lookup_value_regex = ID

    @extend_schema(responses=SeasonRowSerializer(many=True), filters=False)
    @action(detail=True, filter_backends=[], pagination_class=ByKeptRank)
    def rows(self, request: Request, pk: str) -> Response:
        """List where everybody stood, the best first."""
        del request, pk
        return self.answer_page(self.get_object().rows.all(), SeasonRowSerializer)
