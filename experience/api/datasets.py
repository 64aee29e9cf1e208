"""Endpoints of datasets: begun by a query, looked at, fetched shard by shard, deleted."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from experience.api.runs import RUN_NAME
from experience.datasets import queries
from experience.datasets.manifests import build_manifest, sign_shard
from experience.datasets.queries import NewDataset
from experience.datasets.starting import begin_dataset, delete_dataset
from experience.models import Dataset, DatasetShard
from matches.api.base import Endpoints, answer_created, read_body
from matches.api.fields import OneOf
from matches.api.filters import RowsOfGame
from matches.api.operating import read_actor
from matches.api.pagination import NewestFirst
from matches.api.trajectories import ColumnSerializer
from matches.store.clock import db_now

MOST_NAMES = 200
MOST_SHARD_STEPS = 1_000_000
VERSIONS: dict[str, Any] = {
    "allow_null": True,
    "default": None,
    "min_value": -1,
    "max_value": 2**31 - 1,
}
RETURNS: dict[str, Any] = {
    "allow_null": True,
    "default": None,
    "min_value": -1e12,
    "max_value": 1e12,
}


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    """A dataset and how far it is."""

    query = serializers.DictField(read_only=True, help_text="What was asked for.")

    class Meta:
        model = Dataset
        fields: tuple[str, ...] = (
            *("id", "name", "game", "source", "query", "shard_steps", "state", "problem"),
            *("n_episodes", "n_steps", "n_steps_unfinished", "n_bytes", "created_by"),
            *("created_at", "ready_at"),
        )


class NewDatasetSerializer(serializers.Serializer[Any]):
    """Which episodes are taken; what is left out leaves none out."""

    name = serializers.CharField(max_length=60)
    game = serializers.CharField(max_length=60)
    source = OneOf(  # type: ignore[assignment]  # the metaclass takes it out
        choices=Dataset.Source.choices,
        default=NewDataset.source,
        help_text="What players uploaded, or decisions in matches that kept trajectories.",
    )
    since = serializers.DateTimeField(
        allow_null=True,
        default=None,
        help_text="When uploads were written to a file, or matches ended.",
    )
    until = serializers.DateTimeField(allow_null=True, default=None)
    users = serializers.ListField(
        child=serializers.CharField(max_length=150),
        max_length=MOST_NAMES,
        default=list,
        help_text="Who uploaded them; none: anybody.",
    )
    min_version = serializers.IntegerField(
        **VERSIONS, help_text="Of the policy that chose; -1: none of ours, such as a human."
    )
    max_version = serializers.IntegerField(**VERSIONS)
    min_return = serializers.FloatField(**RETURNS, help_text="Sum of the rewards of an episode.")
    max_return = serializers.FloatField(**RETURNS)
    leaderboard = serializers.CharField(
        max_length=120, default="", allow_blank=True, help_text="Matches of this board only."
    )
    tournaments = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        max_length=MOST_NAMES,
        default=list,
        help_text="Matches of these only.",
    )
    agents = serializers.ListField(
        child=serializers.CharField(max_length=120),
        max_length=MOST_NAMES,
        default=list,
        help_text="Whose decisions are taken; none: everybody's.",
    )
    top = serializers.IntegerField(
        allow_null=True,
        default=None,
        min_value=1,
        max_value=MOST_NAMES,
        help_text="And those of so many best of the leaderboard, as it stands now.",
    )
    opponents = serializers.ListField(
        child=serializers.CharField(max_length=120),
        max_length=MOST_NAMES,
        default=list,
        help_text="Only where one of these was met.",
    )
    results = serializers.ListField(
        child=OneOf(choices=("win", "draw", "loss")),
        max_length=3,
        default=list,
        help_text="Only where it ended so for who decided.",
    )
    most_steps = serializers.IntegerField(
        default=queries.MOST_STEPS, min_value=1, max_value=100_000_000
    )
    shard_steps = serializers.IntegerField(
        default=queries.SHARD_STEPS, min_value=1, max_value=MOST_SHARD_STEPS
    )


class DatasetShardSerializer(serializers.ModelSerializer[DatasetShard]):
    """A Parquet file of whole episodes."""

    url = serializers.SerializerMethodField(
        help_text="Good for a day without a login; empty until it is written."
    )

    class Meta:
        model = DatasetShard
        fields: tuple[str, ...] = (
            *("number", "sha256", "n_bytes", "n_steps", "first_episode", "n_episodes", "url"),
        )

    def get_url(self, shard: DatasetShard) -> str:
        """Return its signed link."""
        return sign_shard(shard, now=self.context["now"]) if shard.sha256 else ""


class DatasetFileSerializer(serializers.Serializer[Any]):
    """A shard as the manifest names it."""

    file = serializers.CharField()
    sha256 = serializers.CharField()
    n_bytes = serializers.IntegerField()
    n_steps = serializers.IntegerField()
    first_episode = serializers.IntegerField()
    n_episodes = serializers.IntegerField()


class DatasetManifestSerializer(serializers.Serializer[Any]):
    """What is in a dataset: equal for equal queries of equal sources."""

    format = serializers.CharField()
    name = serializers.CharField()
    game = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it out
    query = serializers.DictField()
    n_episodes = serializers.IntegerField()
    n_steps = serializers.IntegerField()
    n_steps_unfinished = serializers.IntegerField(help_text="Left out: of unfinished episodes.")
    n_bytes = serializers.IntegerField()
    observation_shape = serializers.ListField(child=serializers.IntegerField())
    n_actions = serializers.IntegerField()
    schema = ColumnSerializer(many=True)
    shards = DatasetFileSerializer(many=True)


class ByNumber(NewestFirst):
    """By the number of the shard."""

    ordering = "number"


class DatasetFilter(RowsOfGame):
    """Those of a game, and those in a state."""

    class Meta:
        model = Dataset
        fields = ("game", "state")


class DatasetView(
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.DestroyModelMixin,
    Endpoints[Dataset],
):
    """Datasets, the newest first."""

    queryset = Dataset.objects.all()
    serializer_class = DatasetSerializer
    pagination_class: Any = NewestFirst
    filterset_class = DatasetFilter
    lookup_field, lookup_value_regex = "name", RUN_NAME

    @extend_schema(request=NewDatasetSerializer, responses={201: DatasetSerializer})
    def create(self, request: Request) -> Response:
        """Begin a dataset: control plans and writes it."""
        values = read_body(NewDatasetSerializer, request)
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        dataset = begin_dataset(NewDataset(**values | lists), **read_actor(request))
        return answer_created(DatasetSerializer(dataset))

    def perform_destroy(self, instance: Dataset) -> None:
        """Delete it with its files; what runs have learned from it stays."""
        delete_dataset(instance, **read_actor(self.request))

    @extend_schema(responses=DatasetShardSerializer(many=True), filters=False)
    @action(detail=True, filter_backends=[], pagination_class=ByNumber)
    def shards(self, request: Request, name: str) -> Response:
        """Return the files of a dataset, each with a link."""
        del request, name
        rows: QuerySet[DatasetShard] = self.get_object().shards.select_related("dataset")
        return self.answer_page(rows, DatasetShardSerializer, context={"now": db_now()})

    @extend_schema(responses=DatasetManifestSerializer, filters=False)
    @action(detail=True, filter_backends=[], pagination_class=None)
    def manifest(self, request: Request, name: str) -> Response:
        """Say what is in a dataset that is ready."""
        del request, name
        return Response(DatasetManifestSerializer(build_manifest(self.get_object())).data)
