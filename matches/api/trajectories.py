"""Endpoints of trajectories: what a tournament has kept, and where to fetch it."""

from typing import Any

from django.db.models import Count, QuerySet, Sum
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import Endpoints, read_query
from matches.api.pagination import NewestFirst
from matches.artifacts import manifests
from matches.errors import BadInputError
from matches.models import Tournament, TrajectoryPiece
from matches.store import signing
from matches.store.clock import db_now


class PieceSerializer(serializers.ModelSerializer[TrajectoryPiece]):
    """A Parquet file with the rows of some matches; the outcomes of those name its hash."""

    href = serializers.SerializerMethodField(
        help_text="Where it is fetched, without a login, for about a day."
    )

    class Meta:
        model = TrajectoryPiece
        fields: tuple[str, ...] = ("sha256", "n_bytes", "created_at", "expires_at", "href")

    def get_href(self, piece: TrajectoryPiece) -> str:
        """Return path and query on this server."""
        return signing.sign_link(
            "GET", signing.piece_path(piece.order.hex, piece.sha256), now=self.context["now"]
        )


class OfTournamentSerializer(serializers.Serializer[Any]):
    """Of which tournament."""

    tournament = serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class ColumnSerializer(serializers.Serializer[Any]):
    """A column of the files."""

    name = serializers.CharField()
    type = serializers.CharField()


class ManifestSerializer(serializers.Serializer[Any]):
    """What is in the pieces of a tournament; the list of pieces says where they are."""

    tournament = serializers.IntegerField()
    trajectories = serializers.CharField(help_text="The format of the files.")
    game = serializers.CharField()
    game_parameters = serializers.DictField()
    rules_version = serializers.IntegerField()
    opening_plies = serializers.IntegerField()
    seed = serializers.IntegerField()
    observation_shape = serializers.ListField(child=serializers.IntegerField())
    n_actions = serializers.IntegerField()
    schema = ColumnSerializer(many=True)
    is_complete = serializers.BooleanField(help_text="False: more pieces may come.")
    n_pieces = serializers.IntegerField()
    n_bytes = serializers.IntegerField()


class TrajectoryView(mixins.ListModelMixin, Endpoints[TrajectoryPiece]):
    """The pieces that a tournament has kept, the newest first."""

    queryset = TrajectoryPiece.objects.all()
    serializer_class = PieceSerializer
    pagination_class = NewestFirst
    filter_backends = ()
    query_form = OfTournamentSerializer

    def get_queryset(self) -> QuerySet[TrajectoryPiece]:
        """Return the pieces of the tournament that is asked for."""
        # For the schema there is no request, so no tournament is asked for.
        if getattr(self, "swagger_fake_view", False):
            return TrajectoryPiece.objects.none()
        values = read_query(OfTournamentSerializer, self.request)
        return TrajectoryPiece.objects.filter(tournament=values["tournament"])

    def get_serializer_context(self) -> dict[str, Any]:
        """Return the context with one time for all links."""
        return {**super().get_serializer_context(), "now": db_now()}

    @extend_schema(parameters=[OfTournamentSerializer])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the pieces of a tournament with a link to each."""
        return super().list(request, *args, **kwargs)

    @extend_schema(parameters=[OfTournamentSerializer], responses=ManifestSerializer)
    @action(detail=False, pagination_class=None)
    def manifest(self, request: Request) -> Response:
        """Say what the pieces of a tournament hold."""
        number = read_query(OfTournamentSerializer, request)["tournament"]
        tournament = Tournament.objects.select_related("leaderboard").filter(pk=number).first()
        if tournament is None or not tournament.keeps_trajectories:
            raise BadInputError("tournament", f"no tournament {number} keeps trajectories")
        total = self.get_queryset().aggregate(n_pieces=Count("pk"), n_bytes=Sum("n_bytes"))
        total["n_bytes"] = total["n_bytes"] or 0
        manifest = {**manifests.describe_pieces(tournament), **total}
        return Response(ManifestSerializer(manifest).data)
