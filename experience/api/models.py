"""Endpoints of models: what a run has published, for those who play it."""

from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery, Sum
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from arena.errors import ArenaError
from arena.games import registry as games
from experience.api.runs import RUN_NAME
from experience.models import Release, TrainingRun
from experience.runs import files, releasing
from experience.runs.snapshots import find_best, find_latest
from matches.api.base import Endpoints, read_body, read_query
from matches.api.filters import RowsOfGame
from matches.api.operating import ReasonSerializer, read_reason
from matches.api.pagination import NewestFirst
from matches.store.clock import db_now

# Counted for the runs of a page, as subqueries: a join would read the versions of all runs first.
_OWN = Release.objects.filter(run=OuterRef("pk")).order_by("-version")
_GROUPED = _OWN.order_by().values("run")
_COUNTS: dict[str, Subquery] = {
    "n_versions": Subquery(_GROUPED.annotate(n=Count("pk")).values("n")),
    "latest_version": Subquery(_OWN.values("version")[:1]),
    "released_version": Subquery(_OWN.filter(state=Release.State.RELEASED).values("version")[:1]),
    "n_downloads": Subquery(_GROUPED.annotate(n=Sum("n_downloads")).values("n")),
}
_HAS_FILE = tuple(
    state for state in Release.State if state not in (Release.State.EXPIRED, Release.State.RETIRED)
)


class PublishedModelSerializer(serializers.ModelSerializer[TrainingRun]):
    """A run and what it has published."""

    run = serializers.CharField(source="name")
    n_versions = serializers.IntegerField(help_text="Published so far.")
    latest_version = serializers.IntegerField()
    released_version = serializers.IntegerField(
        allow_null=True, help_text="The latest that was judged and released."
    )
    n_downloads = serializers.IntegerField()

    class Meta:
        model = TrainingRun
        fields: tuple[str, ...] = (
            *("run", "game", "algorithm", "state", "n_steps", "n_versions", "latest_version"),
            *("released_version", "n_downloads", "created_at"),
        )


class VersionSerializer(serializers.ModelSerializer[Release]):
    """A version of a run's policy, and where its weights are loaded from."""

    run = serializers.CharField(source="run.name")
    game = serializers.CharField(source="run.game")
    size = serializers.IntegerField(source="n_bytes", help_text="Bytes of the file.")
    parameters = serializers.DictField(read_only=True, help_text="Of the architecture.")
    metrics = serializers.DictField(read_only=True)
    observation_shape = serializers.SerializerMethodField(
        help_text="Of what it sees; empty where the game is not here any more."
    )
    n_actions = serializers.SerializerMethodField(help_text="That it chooses from.")
    agent = serializers.IntegerField(
        source="agent_id", allow_null=True, help_text="That plays it, once it was a candidate."
    )
    campaign = serializers.IntegerField(source="campaign_id", allow_null=True)
    url = serializers.SerializerMethodField(
        help_text="Of the sealed safetensors file, good for a day without a login; empty where "
        "the file is gone."
    )

    class Meta:
        model = Release
        fields: tuple[str, ...] = (
            *("run", "game", "version", "sha256", "size", "architecture", "parameters"),
            *("observation_shape", "n_actions", "state", "reason", "n_steps", "metrics"),
            *("agent", "campaign", "n_downloads", "created_at", "judged_at", "url"),
        )

    def get_observation_shape(self, release: Release) -> list[int]:
        """Return the shape of what it sees; empty where the game is not here any more."""
        try:
            return list(games.get(release.run.game).spec.observation_shape)
        except ArenaError:
            return []

    def get_n_actions(self, release: Release) -> int | None:
        """Return how many actions it chooses from."""
        try:
            return games.get(release.run.game).spec.n_actions
        except ArenaError:
            return None

    def get_url(self, release: Release) -> str:
        """Return its signed link."""
        if release.state not in _HAS_FILE:
            return ""
        return files.sign_source(release.run.name, release.sha256, now=db_now())


class WhichSerializer(serializers.Serializer[Any]):
    """Which version."""

    released = serializers.BooleanField(
        default=False,
        help_text="The latest that was judged and released; else the newest, which players of a "
        "run in training load.",
    )


class VersionActSerializer(ReasonSerializer):
    """Which version is acted on, and why."""

    version = serializers.IntegerField(min_value=0, max_value=2**31 - 1)


class ModelView(mixins.ListModelMixin, mixins.RetrieveModelMixin, Endpoints[TrainingRun]):
    """Runs with a published version, the newest first."""

    queryset: QuerySet[TrainingRun] = TrainingRun.objects.filter(Exists(_OWN))
    serializer_class = PublishedModelSerializer
    pagination_class = NewestFirst
    filterset_class = RowsOfGame
    lookup_field, lookup_value_regex = "name", RUN_NAME

    def get_queryset(self) -> QuerySet[TrainingRun]:
        """Return the runs, with counts of their versions where these are shown."""
        runs = super().get_queryset()
        return runs.annotate(**_COUNTS) if self.action in ("list", "retrieve") else runs

    @extend_schema(responses=VersionSerializer(many=True), filters=False)
    @action(detail=True, filter_backends=[])
    def versions(self, request: Request, name: str) -> Response:
        """Return what a run has published, the newest first."""
        del request, name
        run = self.get_object()
        return self.answer_page(run.releases.select_related("run"), VersionSerializer)

    @extend_schema(parameters=[WhichSerializer], responses=VersionSerializer, filters=False)
    @action(detail=True, filter_backends=[])
    def latest(self, request: Request, name: str) -> Response:
        """Return the latest version; its hash is the ETag, so that asking again costs little."""
        is_released = read_query(WhichSerializer, request)["released"]
        run = get_object_or_404(TrainingRun, name=name)
        release = find_latest(run, is_released=is_released)
        if release is None:
            kind = "released version" if is_released else "version that can be loaded"
            raise NotFound(f"run {run} has no {kind} yet: it has published {run.version + 1}")
        answer = Response(VersionSerializer(release).data)
        answer["ETag"] = f'"{release.sha256}"'
        return answer

    @extend_schema(responses=VersionSerializer, filters=False)
    @action(detail=True, filter_backends=[])
    def best(self, request: Request, name: str) -> Response:
        """Return the version of the highest settled rating on the leaderboard that judged it."""
        del request, name
        run = self.get_object()
        release = find_best(run)
        if release is None:
            raise NotFound(
                f"no version of run {run} that can be loaded is rated: one is once it was a "
                "candidate and its matches count"
            )
        return Response(VersionSerializer(release).data)

    @extend_schema(request=VersionActSerializer, responses=VersionSerializer)
    @action(detail=True, methods=["post"])
    def retire(self, request: Request, name: str) -> Response:
        """Withdraw a version: nobody loads it from then on."""
        del name
        release = self._find_version(request)
        releasing.retire_release(release, **read_reason(request))
        return self._answer_version(release)

    @extend_schema(request=VersionActSerializer, responses=VersionSerializer)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, name: str) -> Response:
        """Release a version that was held or withdrawn."""
        del name
        release = self._find_version(request)
        releasing.release_held(release, **read_reason(request))
        return self._answer_version(release)

    def _find_version(self, request: Request) -> Release:
        version = read_body(VersionActSerializer, request)["version"]
        run = self.get_object()
        release = run.releases.filter(version=version).first()
        if release is None:
            raise NotFound(f"run {run} has no version {version}")
        return release

    def _answer_version(self, release: Release) -> Response:
        release.refresh_from_db()
        return Response(VersionSerializer(release).data)
