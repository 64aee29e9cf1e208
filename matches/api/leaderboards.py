"""Endpoints of leaderboards and what is computed on them: ratings, history, comparisons."""

from functools import partial
from typing import Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from matches.api.base import ID, Endpoints, answer_created, read_body, read_query
from matches.api.fields import Parameters
from matches.api.operating import ReasonSerializer, RemarkSerializer, read_actor, read_reason
from matches.api.pagination import ByRank, NewestFirst, NewestSnapshots
from matches.api.ratings import (
    ComparisonSerializer,
    PairSerializer,
    PointSerializer,
    RatingSerializer,
    SnapshotSerializer,
    list_points,
    rank_rating,
    serialize_ratings,
)
from matches.api.results import ExportsResults
from matches.api.seasons import BeginningSerializer, NewSeasonSerializer, SeasonSerializer
from matches.errors import BadInputError
from matches.ledger import tournaments
from matches.ledger.board_places import place_board
from matches.ledger.noted_changes import add_with_audit
from matches.models import Leaderboard, Rating, Season
from matches.models.choices import SeasonMode
from matches.ratings import rerating, seasons, standings
from matches.ratings.comparisons import compare_agents
from matches.ratings.snapshots import list_snapshots

AGENT = OpenApiParameter("agent", OpenApiTypes.INT, OpenApiParameter.PATH, pattern="^[0-9]{1,18}$")


class LeaderboardSerializer(serializers.ModelSerializer[Leaderboard]):
    """A leaderboard without its ratings."""

    game_parameters = serializers.DictField(read_only=True)
    is_rerating = serializers.BooleanField(
        read_only=True, help_text="Its ratings are being computed again from all outcomes."
    )

    class Meta:
        model = Leaderboard
        fields: tuple[str, ...] = (
            *("id", "name", "title", "game", "game_version", "game_parameters", "opening_plies"),
            *("draw_probability", "is_rated", "is_listed", "is_pinned", "created_at"),
            *("n_counted", "n_settled", "rated_at", "is_rerating"),
            *("spread", "fitted_draw_probability", "seat_mu", "seat_sd"),
            *("season_name", "season_began_at", "ratings_reset_at"),
        )


class RatedLeaderboardSerializer(LeaderboardSerializer):
    """A leaderboard with the ratings of its first agents, the best first."""

    ratings = serializers.SerializerMethodField()

    class Meta(LeaderboardSerializer.Meta):
        fields: tuple[str, ...] = (*LeaderboardSerializer.Meta.fields, "ratings")

    @extend_schema_field(RatingSerializer(many=True))
    def get_ratings(self, board: Leaderboard) -> list[dict[str, Any]]:
        """Return as many ratings as the page shows."""
        top = enumerate(standings.read_first(board.pk), 1)
        return serialize_ratings(rank_rating(rank, rating) for rank, rating in top)


class NewLeaderboardSerializer(serializers.Serializer[Any]):
    """A leaderboard to open."""

    name = serializers.CharField(max_length=80)
    game = serializers.CharField(max_length=60)
    title = serializers.CharField(max_length=120, default="", allow_blank=True)
    game_parameters = Parameters(default=dict)
    opening_plies = serializers.IntegerField(default=None, allow_null=True)


class PlaceSerializer(RemarkSerializer):
    """Where a leaderboard is to stand in lists; what is left out stays as it is."""

    is_listed = serializers.BooleanField(
        default=None, allow_null=True, help_text="On the home page and in the list of leaderboards."
    )
    is_pinned = serializers.BooleanField(
        default=None, allow_null=True, help_text="Before the others there."
    )


class LeaderboardView(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, ExportsResults, Endpoints[Leaderboard]
):
    """Leaderboards; one of them comes with its first ratings."""

    queryset = Leaderboard.objects.all()
    pagination_class = NewestFirst
    filterset_fields = ("game", "is_listed", "is_pinned")
    lookup_field = "name"
    lookup_value_regex = r"[-\w]+"

    def get_serializer_class(self) -> type[BaseSerializer[Leaderboard]]:
        """Return the form with ratings for a single one."""
        if self.action == "retrieve":
            return RatedLeaderboardSerializer
        return LeaderboardSerializer

    @extend_schema(request=NewLeaderboardSerializer, responses={201: LeaderboardSerializer})
    def create(self, request: Request) -> Response:
        """Open a leaderboard."""
        values = read_body(NewLeaderboardSerializer, request)
        open_board = partial(tournaments.open_leaderboard, values.pop("name"), **values)
        board = add_with_audit(open_board, **read_actor(request))
        return answer_created(LeaderboardSerializer(board))

    @extend_schema(responses=RatingSerializer(many=True), filters=False)
    @action(detail=True, filter_backends=[], pagination_class=ByRank)
    def ratings(self, request: Request, name: str) -> Response:
        """List the ratings of a leaderboard in the order of rank."""
        del request, name
        return self.answer_page(standings.rank_ratings(self.get_object().pk), RatingSerializer)

    @extend_schema(parameters=[AGENT], responses=RatingSerializer, filters=False)
    @action(detail=True, filter_backends=[], url_path=f"ratings/(?P<agent>{ID})")
    def rating(self, request: Request, name: str, agent: str) -> Response:
        """Return the rating of one agent with its rank."""
        del request, name
        rating = self._find_rating(self.get_object(), int(agent))
        return Response(RatingSerializer(rank_rating(standings.find_rank(rating), rating)).data)

    @extend_schema(responses=SnapshotSerializer(many=True), filters=False)
    @action(detail=True, filter_backends=[], pagination_class=NewestSnapshots)
    def history(self, request: Request, name: str) -> Response:
        """List when the ratings were kept, at most once a minute, the newest first."""
        del request, name
        return self.answer_page(list_snapshots(self.get_object()), SnapshotSerializer)

    @extend_schema(parameters=[AGENT], responses=PointSerializer(many=True), filters=False)
    @action(
        detail=True,
        filter_backends=[],
        pagination_class=NewestSnapshots,
        url_path=f"ratings/(?P<agent>{ID})/history",
    )
    def rating_history(self, request: Request, name: str, agent: str) -> Response:
        """List the ratings that an agent had, the newest first; a page may lack some."""
        del request, name
        # The tables are read by list_points, those of the page only.
        snapshots: Any = list_snapshots(self.get_object())
        page: Any = self.paginate_queryset(snapshots)
        points = list_points(page, int(agent))
        return self.get_paginated_response(PointSerializer(points, many=True).data)

    @extend_schema(parameters=[PairSerializer], responses=ComparisonSerializer, filters=False)
    @action(detail=True, filter_backends=[], pagination_class=None)
    def comparison(self, request: Request, name: str) -> Response:
        """Compare two agents: which is better, how sure that is, how their matches ended."""
        del name
        pair = read_query(PairSerializer, request)
        board = self.get_object()
        ratings = []
        for place in ("first", "second"):
            try:
                ratings.append(self._find_rating(board, pair[place]))
            except Http404 as error:
                # The address is right: it is a value of the query that is not.
                raise BadInputError(place, str(error)) from error
        return Response(ComparisonSerializer(compare_agents(*ratings)).data)

    @extend_schema(request=ReasonSerializer, responses=LeaderboardSerializer)
    @action(detail=True, methods=["post"])
    def rerate(self, request: Request, name: str) -> Response:
        """Have all ratings computed again from every outcome that counts."""
        del name
        rerating.request_rerating(board := self.get_object(), **read_reason(request))
        return Response(LeaderboardSerializer(board).data)

    @extend_schema(request=PlaceSerializer, responses=LeaderboardSerializer)
    @action(detail=True, methods=["post"])
    def place(self, request: Request, name: str) -> Response:
        """Pin or unpin a leaderboard, list or unlist it."""
        del name
        values = read_body(PlaceSerializer, request)
        placed = place_board(self.get_object(), **values, **read_actor(request))
        return Response(LeaderboardSerializer(placed).data)

    @extend_schema(request=NewSeasonSerializer, responses={201: SeasonSerializer})
    @action(detail=True, methods=["post"])
    def freeze(self, request: Request, name: str) -> Response:
        """Keep ranks and ratings as they stand now, as a season that nobody changes."""
        del name
        values = read_body(NewSeasonSerializer, request)
        season = seasons.freeze(
            self.get_object(), values["name"], reason=values["reason"], **read_actor(request)
        )
        return answer_created(SeasonSerializer(season))

    @extend_schema(request=BeginningSerializer, responses={201: SeasonSerializer})
    @action(detail=True, methods=["post"])
    def begin(self, request: Request, name: str) -> Response:
        """Begin a season: all start anew, or all goes on to count. Returns the one that ended."""
        del name
        values = read_body(BeginningSerializer, request)
        values["mode"] = SeasonMode(values["mode"])
        ended = seasons.begin(self.get_object(), **values, **read_actor(request))
        return answer_created(SeasonSerializer(ended))

    @extend_schema(responses=SeasonSerializer(many=True), filters=False)
    @action(detail=True, filter_backends=[])
    def seasons(self, request: Request, name: str) -> Response:
        """List the seasons of a leaderboard, the newest first."""
        del request, name
        board_seasons = Season.objects.filter(leaderboard=self.get_object()).select_related(
            "leaderboard"
        )
        return self.answer_page(board_seasons, SeasonSerializer)

    def _find_rating(self, board: Leaderboard, agent: int) -> Rating:
        rating = standings.rank_ratings(board.pk).filter(agent_id=agent).first()
        if rating is None:
            raise Http404(f"agent {agent} is not on leaderboard {board.name!r}")
        return rating
