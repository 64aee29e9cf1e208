"""Endpoints of games: what there is to play, and what who trains for one must know."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from arena.errors import ArenaError
from arena.games import registry
from matches.api.base import Endpoints
from matches.api.pagination import WholeList
from matches.store.catalog import read_reference
from matches.store.formats import hide_folders


class GameSerializer(serializers.Serializer[Any]):
    """A game of the catalog, or of a plug-in."""

    id = serializers.CharField()
    title = serializers.CharField()
    n_seats = serializers.IntegerField()
    n_actions = serializers.IntegerField()
    observation_shape = serializers.ListField(child=serializers.IntegerField())
    observation_dtype = serializers.CharField()


class FactSerializer(serializers.Serializer[Any]):
    """A property of a game in words."""

    name = serializers.CharField()
    says = serializers.CharField()


class SliceSerializer(serializers.Serializer[Any]):
    """What the planes, or numbers, from first to last of an observation hold."""

    first = serializers.IntegerField()
    last = serializers.IntegerField()
    holds = serializers.CharField()


class NamedActionSerializer(serializers.Serializer[Any]):
    """An action by its number, and what players call it, most often first."""

    action = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())


class ReferenceSerializer(serializers.Serializer[Any]):
    """What who trains an agent must know of a game."""

    id = serializers.CharField()
    title = serializers.CharField()
    facts = FactSerializer(many=True)
    observation = SliceSerializer(many=True, help_text="Along its first axis; may be unknown.")
    observation_note = serializers.CharField(help_text="Whose view it is, and the other axes.")
    actions = NamedActionSerializer(many=True, help_text="Those met in random play, 400 at most.")
    n_left_out = serializers.IntegerField(help_text="How many other actions there are.")
    start = serializers.CharField(help_text="A first position in words.")


GAME = OpenApiParameter("game", str, OpenApiParameter.PATH, description="The game's id.")


class GameView(Endpoints[Any]):
    """Games that can be played here, by id."""

    pagination_class = WholeList
    lookup_field = "game"
    lookup_value_regex = r"\w+"

    @extend_schema(responses=GameSerializer(many=True), filters=False)
    def list(self, request: Request) -> Response:
        """List the games."""
        del request
        specs = [registry.get(name).spec for name in registry.names()]
        return self.answer_page(specs, GameSerializer)

    @extend_schema(parameters=[GAME], responses=ReferenceSerializer)
    def retrieve(self, request: Request, game: str) -> Response:
        """Return the reference of a game."""
        try:
            reference = read_reference(game)
        except ArenaError as error:
            is_operator = request.user.is_staff
            raise Http404(str(error) if is_operator else hide_folders(str(error))) from error
        return Response(ReferenceSerializer(reference).data)
