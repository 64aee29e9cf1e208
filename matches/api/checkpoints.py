"""Endpoints of checkpoints: uploading one registers its agent."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import TemporaryUploadedFile
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import Endpoints
from matches.api.fields import AgentNameSerializer, AnyJson, OneOf
from matches.api.operating import read_actor
from matches.api.pagination import NewestFirst
from matches.artifacts.checkpoints import MAX_STEP, New, add_checkpoint
from matches.models import Checkpoint
from matches.models.choices import Placement
from matches.store import selectors, signing
from matches.store.clock import db_now


class CheckpointSerializer(serializers.ModelSerializer[Checkpoint]):
    """Immutable weights with what is known of them."""

    parent = serializers.CharField(  # type: ignore[assignment]  # taken by the metaclass
        source="parent_id", read_only=True, allow_null=True
    )
    parameters = serializers.DictField(read_only=True, help_text="Of the architecture.")
    placement = serializers.CharField(read_only=True, help_text="Forced, else as measured.")
    agents = AgentNameSerializer(many=True, read_only=True)
    waits_for = serializers.SerializerMethodField(
        help_text="What is missing to check it; empty while its check is under way or done."
    )

    class Meta:
        # Everything but when its check was ordered
        model = Checkpoint
        fields: tuple[str, ...] = (
            *("id", "sha256", "game", "architecture", "parameters", "run", "step", "parent"),
            *("source_name", "n_bytes", "n_parameters", "state_size", "row_ms", "placement"),
            *("forced_placement", "measured_placement", "state", "reason", "waits_for"),
            *("created_at", "checked_at", "agents"),
        )

    def get_waits_for(self, checkpoint: Checkpoint) -> str:
        """Return what is missing to check it."""
        if checkpoint.state != Checkpoint.State.CHECKING:
            return ""
        describe_missing: Callable[[], str] = self.context["describe_missing"]
        return describe_missing()


class NewCheckpointSerializer(serializers.Serializer[Any]):
    """A safetensors file to register with its agent; a sealed one needs no architecture or game."""

    file = serializers.FileField()
    name = serializers.CharField(max_length=100, help_text="Of the agent, without the step.")
    game = serializers.CharField(max_length=60, default="", allow_blank=True)
    architecture = serializers.CharField(max_length=200, default="", allow_blank=True)
    parameters = AnyJson(default=dict, help_text="Of the architecture: an object.")
    step = serializers.IntegerField(default=None, allow_null=True, min_value=0, max_value=MAX_STEP)
    parent = serializers.CharField(  # type: ignore[assignment]  # taken by the metaclass
        max_length=120, default="", allow_blank=True, help_text="A hash, or an agent's name."
    )
    sha256 = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text="Of the file, to be compared."
    )
    placement = OneOf(
        choices=Placement.choices, default="", allow_blank=True, help_text="Empty: as measured."
    )


class LinkSerializer(serializers.Serializer[Any]):
    """Where a file is fetched, without a login, for about a day."""

    href = serializers.CharField(help_text="Path and query on this server.")


class CheckpointView(mixins.ListModelMixin, mixins.RetrieveModelMixin, Endpoints[Checkpoint]):
    """Checkpoints by the SHA-256 of their sealed file: checking, then ready or refused."""

    queryset = Checkpoint.objects.prefetch_related("agents")
    serializer_class = CheckpointSerializer
    pagination_class = NewestFirst
    parser_classes = (MultiPartParser,)
    filterset_fields = ("game", "run", "state")
    lookup_field = "sha256"
    lookup_value_regex = "[0-9a-f]{64}"
    # A file is copied and hashed meanwhile: SQLite would let nobody else write.
    is_atomic = False

    def get_serializer_context(self) -> dict[str, Any]:
        """Return the context, in which what is missing is looked up once for all rows."""
        describe = cache(partial(selectors.describe_missing_for_check, now=db_now()))
        return {**super().get_serializer_context(), "describe_missing": describe}

    @extend_schema(
        request={"multipart/form-data": NewCheckpointSerializer},
        responses={201: CheckpointSerializer},
    )
    def create(self, request: Request) -> Response:
        """Add a checkpoint and its agent NAME, or NAME@STEP; control then has it checked."""
        form = NewCheckpointSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        values = dict(form.validated_data)
        upload: TemporaryUploadedFile = values.pop("file")
        new = New(source_name=upload.name or "", expected_sha256=values.pop("sha256"), **values)
        agent = add_checkpoint(Path(upload.temporary_file_path()), new, **read_actor(request))
        serializer = self.get_serializer(Checkpoint.objects.get(agents=agent))
        return Response(serializer.data, status=status.HTTP_201_CREATED)

    @extend_schema(responses=LinkSerializer, filters=False)
    @action(detail=True, filter_backends=[], pagination_class=None)
    def link(self, request: Request, sha256: str) -> Response:
        """Return a link to the sealed file."""
        del request, sha256
        path = signing.checkpoint_path(self.get_object().sha256)
        return Response({"href": signing.sign_link("GET", path, now=db_now())})
