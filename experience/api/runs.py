"""Endpoints of training runs: begun, looked at, stopped, resumed."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from experience.models import Dataset, TrainingRun
from experience.runs.resuming import resume_run
from experience.runs.starting import NewRun, start_run, stop_run
from matches.api.base import Endpoints, answer_created, read_body
from matches.api.fields import ByName, Parameters
from matches.api.filters import RowsOfGame
from matches.api.operating import RemarkSerializer, read_actor, read_reason
from matches.api.pagination import NewestFirst

RUN_NAME = "[A-Za-z0-9_-]{1,60}"
MOST_STEPS = 10**12


class TrainingRunSerializer(serializers.ModelSerializer[TrainingRun]):
    """A run, how far it is, and why it ended."""

    parameters = serializers.DictField(read_only=True, help_text="Of the algorithm.")
    dataset = serializers.CharField(
        source="dataset.name",
        default="",
        read_only=True,
        help_text="What it learns from; empty: uploads.",
    )
    metrics = serializers.DictField(read_only=True, help_text="As its trainer reported last.")

    class Meta:
        model = TrainingRun
        fields: tuple[str, ...] = (
            *("id", "name", "game", "algorithm", "parameters", "dataset", "seed", "max_steps"),
            *("slice_s",),
            *("margin", "release_s", "release_steps", "budget", "state", "problem", "n_steps"),
            *("version", "metrics", "slice", "n_lost", "trainer", "created_by", "created_at"),
            *("reported_at", "ended_at"),
        )
        extra_kwargs: ClassVar = {
            "problem": {"help_text": "Why it failed, or what broke slices that are tried again."}
        }


class NewTrainingRunSerializer(serializers.Serializer[Any]):
    """What is to be trained, and when a version of it is judged."""

    name = serializers.CharField(max_length=60, help_text="Also of the run's checkpoints.")
    game = serializers.CharField(max_length=60)
    algorithm = serializers.CharField(max_length=60, default=NewRun.algorithm)
    parameters = Parameters(default=dict, help_text="Of the algorithm; what is left out: its own.")
    dataset = ByName(
        slug_field="name",
        queryset=Dataset.objects.all(),
        error_messages={
            "does_not_exist": "there is no dataset of this name: `evalsite datasets` lists them."
        },
        default=None,
        allow_null=True,
        help_text="By its name: what bc and cql learn from, again and again until max_steps; "
        "without one: uploads.",
    )
    seed = serializers.IntegerField(default=NewRun.seed, min_value=0, max_value=2**63 - 1)
    max_steps = serializers.IntegerField(
        default=NewRun.max_steps,
        min_value=1,
        max_value=MOST_STEPS,
        help_text="The run ends once it has learned from so many.",
    )
    slice_s = serializers.FloatField(
        default=NewRun.slice_s,
        min_value=1,
        max_value=600,
        help_text="Seconds that a trainer keeps a run before the next may take it.",
    )
    margin = serializers.FloatField(
        default=NewRun.margin,
        min_value=0,
        max_value=1e6,
        help_text="By how much a release may be worse than its best ancestor: in mean score of a "
        "game of one seat, else in units of rating.",
    )
    release_s = serializers.FloatField(
        default=NewRun.release_s,
        min_value=0,
        max_value=1e7,
        help_text="Seconds after which the newest version becomes a candidate for a release.",
    )
    release_steps = serializers.IntegerField(
        default=NewRun.release_steps,
        min_value=1,
        max_value=MOST_STEPS,
        help_text="Or steps that it has learned from since the last one.",
    )
    budget = serializers.IntegerField(
        default=NewRun.budget,
        min_value=2,
        max_value=100_000,
        help_text="Matches that judging a candidate may cost.",
    )


class ResumptionSerializer(RemarkSerializer):
    """Why a run goes on, and until when."""

    max_steps = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_STEPS,
        help_text="It ends once it has learned from so many in all; left out: as it was begun.",
    )


class TrainingRunFilter(RowsOfGame):
    """Those of a game, and those in a state."""

    class Meta:
        model = TrainingRun
        fields = ("game", "state")


class TrainingRunView(mixins.ListModelMixin, mixins.RetrieveModelMixin, Endpoints[TrainingRun]):
    """Training runs, the newest first."""

    queryset = TrainingRun.objects.select_related("dataset")
    serializer_class = TrainingRunSerializer
    pagination_class = NewestFirst
    filterset_class = TrainingRunFilter
    lookup_field, lookup_value_regex = "name", RUN_NAME

    @extend_schema(request=NewTrainingRunSerializer, responses={201: TrainingRunSerializer})
    def create(self, request: Request) -> Response:
        """Begin a run: a trainer takes its first slice as soon as one is free."""
        new = NewRun(**read_body(NewTrainingRunSerializer, request))
        run = start_run(new, **read_actor(request))
        return answer_created(TrainingRunSerializer(run))

    @extend_schema(request=RemarkSerializer, responses=TrainingRunSerializer)
    @action(detail=True, methods=["post"])
    def stop(self, request: Request, name: str) -> Response:
        """End a run; what it has published stays, and its last version is still judged."""
        del name
        run = self.get_object()
        stop_run(run, **read_reason(request, is_optional=True))
        run.refresh_from_db()
        return Response(TrainingRunSerializer(run).data)

    @extend_schema(request=ResumptionSerializer, responses=TrainingRunSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, name: str) -> Response:
        """Let a run that failed, was stopped or is done go on from the state that it left."""
        del name
        run, resumption = self.get_object(), read_body(ResumptionSerializer, request)
        resume_run(run, **resumption, **read_actor(request))
        run.refresh_from_db()
        return Response(TrainingRunSerializer(run).data)
