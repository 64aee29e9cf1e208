"""Endpoints of generated runs: start one by one call, and fetch what was played as shards."""

from functools import partial
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.files import File
from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.crypto import salted_hmac
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from arena.messages import Limits
from matches import dispatch
from matches.api.base import ID, Endpoints, answer_created, read_body, read_query
from matches.api.errors import PROBLEM
from matches.api.fields import Parameters
from matches.api.operating import read_actor
from matches.api.schema import ProblemSerializer
from matches.api.trajectories import ColumnSerializer
from matches.artifacts import manifests, shards
from matches.errors import BadInputError, NoNodeError
from matches.ledger import generation
from matches.ledger.generation import Generation, Side
from matches.ledger.noted_changes import add_with_audit
from matches.models import Tournament
from matches.models.tournament import MAX_DAYS, MAX_MATCHES, new_key
from matches.models.validation import replace_unprintable
from matches.plans import TournamentPlan
from matches.store import blobs
from matches.store.clock import db_now

PARQUET = "application/vnd.apache.parquet"
MAX_MATCHES_PER_SHARD = 10_000
KEEP_DAYS = 30
"""Time enough to fetch a run; then the site deletes its pieces."""
LONGEST_S = 86_400


class GenerationSerializer(serializers.Serializer[Any]):
    """A run: one agent against itself or another, unrated, every decision kept."""

    agent_a = serializers.CharField(
        max_length=120, help_text="The name of an agent, or a spelling such as mcts:100."
    )
    checkpoint_a = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text="Of the run that A names: step, hash"
    )
    agent_b = serializers.CharField(
        max_length=120, default="", allow_blank=True, help_text="Empty: A plays itself."
    )
    checkpoint_b = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text="Of the run that B names: step, hash"
    )
    game = serializers.CharField(
        max_length=60, default="", allow_blank=True, help_text="Empty: as the names tell."
    )
    game_parameters = Parameters(default=dict)
    opening_plies = serializers.IntegerField(
        min_value=0, max_value=1_000, default=None, allow_null=True, help_text="Empty: the game's."
    )
    matches = serializers.IntegerField(min_value=1, max_value=MAX_MATCHES)
    seed = serializers.IntegerField(min_value=0, max_value=2**62, default=0)
    move_s = serializers.FloatField(min_value=0.01, max_value=LONGEST_S, default=Limits().move_s)
    match_s = serializers.FloatField(min_value=0.01, max_value=LONGEST_S, default=Limits().match_s)
    keep_days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, default=KEEP_DAYS)
    order_limit = serializers.IntegerField(
        min_value=1,
        max_value=MAX_MATCHES,
        default=None,
        allow_null=True,
        help_text="The most matches a node takes at a time; empty: by how long they last.",
    )


class NewGenerationSerializer(GenerationSerializer):
    """A run to start."""

    run_key = serializers.RegexField(
        r"^[0-9a-f]{32}\Z", help_text="Chosen by the client: the same key is the same tournament."
    )


class CheckedGenerationSerializer(serializers.Serializer[Any]):
    """What a run would be, and what it lacks."""

    game = serializers.CharField()
    agents = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Name and checkpoint of each; one of them plays itself.",
    )
    n_bytes = serializers.IntegerField(help_text="A guess at the room that its files take.")
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="What has to be started before it can be played."
    )


class StartedGenerationSerializer(serializers.Serializer[Any]):
    """A run that has been started."""

    tournament = serializers.IntegerField()
    run_key = serializers.CharField()
    game = serializers.CharField()
    agents = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    n_bytes = serializers.IntegerField()


class ShardSizeSerializer(serializers.Serializer[Any]):
    """How the matches are cut into shards."""

    matches_per_shard = serializers.IntegerField(min_value=1, max_value=MAX_MATCHES_PER_SHARD)


class ShardAgentSerializer(serializers.Serializer[Any]):
    """An agent of a run, and its results by seat: wins, draws and losses.

    Of a game of one seat: episodes, forfeits, and mean and standard deviation of the returns.
    """

    name = serializers.CharField()
    policy = serializers.CharField()
    parameters = serializers.DictField()
    checkpoint = serializers.CharField()
    architecture = serializers.CharField()
    run = serializers.CharField()
    step = serializers.IntegerField(allow_null=True)
    seats = serializers.DictField()


class ShardManifestSerializer(serializers.Serializer[Any]):
    """What is in the shards of a tournament that can be had."""

    format = serializers.CharField()
    is_complete = serializers.BooleanField(help_text="False: more shards will come.")
    game = serializers.CharField()
    game_parameters = serializers.DictField()
    rules_version = serializers.IntegerField()
    opening_plies = serializers.IntegerField()
    seed = serializers.IntegerField()
    is_self_play = serializers.BooleanField()
    agents = ShardAgentSerializer(many=True)
    matches = serializers.IntegerField()
    matches_without_outcome = serializers.IntegerField()
    forfeits = serializers.IntegerField()
    illegal_actions = serializers.IntegerField()
    trajectories = serializers.CharField(help_text="The format of the files.")
    observation_shape = serializers.ListField(child=serializers.IntegerField())
    n_actions = serializers.IntegerField()
    schema = ColumnSerializer(many=True)
    versions = serializers.DictField(help_text="Of the packages that the content depends on.")


class GenerationView(Endpoints[Tournament]):
    """Generated runs: matches on purpose, for what is decided in them."""

    queryset = Tournament.objects.none()

    @extend_schema(request=NewGenerationSerializer, responses={201: StartedGenerationSerializer})
    def create(self, request: Request) -> Response:
        """Start a run, or go on with that of the same key."""
        values = read_body(NewGenerationSerializer, request)
        run_key = values.pop("run_key")
        run = _make_generation(values, key=_derive_key(run_key))
        checked = _check_generation(run)
        # One that is known is fetched: for that no node needs to live.
        is_known = Tournament.objects.filter(key=run.plan.key).exists()
        if (missing := checked["missing"]) and not is_known:
            raise NoNodeError(f"nothing was started, as this is missing: {'; '.join(missing)}")
        start = partial(generation.start_generation, run)
        tournament = add_with_audit(start, **read_actor(request))
        answer = {**checked, "tournament": tournament.pk, "run_key": run_key}
        return answer_created(StartedGenerationSerializer(answer))

    @extend_schema(request=GenerationSerializer, responses=CheckedGenerationSerializer)
    @action(detail=False, methods=["post"])
    def check(self, request: Request) -> Response:
        """Say what a run would be and what is missing to play it; nothing is left behind."""
        run = _make_generation(read_body(GenerationSerializer, request), key=new_key())
        return Response(CheckedGenerationSerializer(_check_generation(run)).data)


class ExportsShards(GenericAPIView[Tournament]):
    """Offers what a tournament has kept as shards; each is made anew, none is kept here."""

    @extend_schema(
        parameters=[
            OpenApiParameter("number", int, OpenApiParameter.PATH),
            ShardSizeSerializer,
            *(
                OpenApiParameter(name, int, OpenApiParameter.HEADER, response=[200])
                for name in (
                    "Evalsite-Matches",
                    "Evalsite-Rows",
                    "Evalsite-First-Episode",
                    "Evalsite-Last-Episode",
                )
            ),
        ],
        responses={
            (200, PARQUET): OpenApiTypes.BINARY,
            (409, PROBLEM): OpenApiResponse(ProblemSerializer, "A match of it is still open."),
            (410, PROBLEM): OpenApiResponse(ProblemSerializer, "Pieces of it are gone."),
        },
        filters=False,
    )
    @action(
        detail=True,
        filter_backends=[],
        pagination_class=None,
        url_path=f"shards/(?P<number>{ID})",
    )
    def shard(self, request: Request, pk: str, number: str) -> HttpResponseBase:
        """Return the matches at the places from number x matches_per_shard on, as Parquet."""
        del pk
        size = read_query(ShardSizeSerializer, request)["matches_per_shard"]
        tournament = self._find_kept()
        if int(number) * size >= tournament.n_matches:
            last = (tournament.n_matches - 1) // size
            raise Http404(f"the last shard of {size} matches is {last}, not {int(number)}")
        form = manifests.read_form(tournament)
        # The folder goes with this call; an open file stays readable until it is closed.
        with TemporaryDirectory(prefix="shard-", dir=settings.VAR) as folder:
            path = Path(folder) / "shard"
            shard = shards.write_shard(tournament, int(number), size, path, form)
            unchanged = get_conditional_response(request._request, etag=f'"{shard.sha256}"')
            if unchanged is not None and unchanged.status_code == HTTPStatus.NOT_MODIFIED:
                return unchanged
            file = File(path.open("rb"))
            answer = blobs.stream_file(request._request, file, shard.sha256, content_type=PARQUET)
        del answer.headers["Cache-Control"]  # not for everybody, and not for ever
        answer["Evalsite-Matches"] = shard.matches
        answer["Evalsite-Rows"] = shard.rows
        answer["Evalsite-First-Episode"] = shard.first_episode
        answer["Evalsite-Last-Episode"] = shard.last_episode
        return answer

    @extend_schema(
        parameters=[ShardSizeSerializer], responses=ShardManifestSerializer, filters=False
    )
    @action(detail=True, filter_backends=[], pagination_class=None)
    def manifest(self, request: Request, pk: str) -> Response:
        """Say what is in the shards that can be had."""
        del pk
        size = read_query(ShardSizeSerializer, request)["matches_per_shard"]
        manifest = manifests.build_manifest(self._find_kept(), matches_per_shard=size)
        return Response(ShardManifestSerializer(manifest).data)

    def _find_kept(self) -> Tournament:
        tournament = self.get_object()
        if not tournament.keeps_trajectories:
            raise Http404(f"tournament {tournament.pk} keeps no trajectories")
        return tournament


def _derive_key(run_key: str) -> str:
    """Return the key of the tournament of a run."""
    # Not the client's own: the tokens by which nodes report matches are made with a tournament's.
    return salted_hmac("matches.generation", run_key, algorithm="sha256").hexdigest()[:32]


def _make_generation(values: dict[str, Any], *, key: str) -> Generation:
    """Return what was asked for."""
    sides = [Side(values["agent_a"], values["checkpoint_a"])]
    if values["agent_b"]:
        sides.append(Side(values["agent_b"], values["checkpoint_b"], "agent_b"))
    elif values["checkpoint_b"]:
        raise BadInputError("checkpoint_b", "needs agent_b")
    return Generation(
        sides=sides,
        game=values["game"],
        game_parameters=values["game_parameters"],
        opening_plies=values["opening_plies"],
        plan=TournamentPlan(
            name=replace_unprintable(f"generate {values['agent_a']}"[:120]),
            n_matches=values["matches"],
            seed=values["seed"],
            move_s=values["move_s"],
            match_s=values["match_s"],
            is_rated=False,
            keeps_trajectories=True,
            trajectory_days=values["keep_days"],
            order_limit=values["order_limit"],
            key=key,
        ),
    )


def _check_generation(run: Generation) -> dict[str, Any]:
    """Return what a run would be and what it lacks. Raises BadInputError, BrokerError."""
    agents, needs = generation.check_generation(run)
    dispatch.ping_broker()
    return {
        "game": agents[0].game,
        "agents": [[agent.name, agent.checkpoint_id or ""] for agent in agents],
        "n_bytes": generation.estimate_bytes(run, game=agents[0].game),
        "missing": generation.list_missing_workers(needs, now=db_now()),
    }
