"""Endpoints of results that were played elsewhere: a file of them goes to a leaderboard."""

from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import TemporaryUploadedFile
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from matches.api.base import ID, Endpoints, read_body
from matches.api.fields import AnyJson, BoardField, JsonParser, OneOf
from matches.api.filters import RowsOfBoard
from matches.api.operating import ReasonSerializer, read_actor, read_reason
from matches.api.pagination import NewestFirst
from matches.errors import ForbiddenError
from matches.ledger.imported import importing, striking
from matches.ledger.imported.columns import FORMS, PARTS
from matches.ledger.imported.importing import SentFile
from matches.models import ImportBatch, Leaderboard

ADDS_AGENTS = "matches.add_agent"
"""The right to add agents, by this call as by their own."""


class ImportSerializer(serializers.ModelSerializer[ImportBatch]):
    """A file of results on a leaderboard; its matches are those of its tournament."""

    leaderboard = serializers.SlugRelatedField[Leaderboard](slug_field="name", read_only=True)
    columns = serializers.DictField(read_only=True, help_text="By part of a row.")
    state = serializers.CharField(read_only=True, help_text="importing, imported or struck.")

    class Meta:
        # Everything
        model = ImportBatch
        fields: tuple[str, ...] = (
            *("id", "leaderboard", "tournament", "file_name", "sha256", "columns", "state"),
            *("n_rows", "n_known", "n_new_agents"),
            *("actor", "created_at", "finished_at", "struck_at"),
        )


class MadeImportSerializer(ImportSerializer):
    """The same, and what this call has added."""

    n_new = serializers.SerializerMethodField(help_text="Rows that were not here before.")

    class Meta(ImportSerializer.Meta):
        fields: tuple[str, ...] = (*ImportSerializer.Meta.fields, "n_new")

    def get_n_new(self, batch: ImportBatch) -> int:
        """Return how many rows this call wrote."""
        del batch
        return int(self.context["n_new"])


class NewImportSerializer(serializers.Serializer[Any]):
    """A file of results of two, one a row."""

    file = serializers.FileField()
    leaderboard = BoardField(slug_field="name", queryset=Leaderboard.objects.all())
    form = OneOf(
        choices=FORMS, default="", allow_blank=True, help_text="Empty: as the file's name ends."
    )
    columns = AnyJson(
        default=dict,
        help_text=f"Names of columns by part of a row ({', '.join(PARTS)}), if they are not usual.",
    )
    adds_agents = serializers.BooleanField(
        default=False, help_text="Names that are no agents become imported ones, never played."
    )

    def validate_columns(self, value: Any) -> dict[str, str]:
        """Refuse what does not name columns."""
        if not isinstance(value, dict) or not all(isinstance(of, str) for of in value.values()):
            raise serializers.ValidationError('must be an object such as {"first": "White"}')
        return value


class StruckImportSerializer(ImportSerializer):
    """The same, and what became void."""

    n_struck = serializers.SerializerMethodField(help_text="Matches that count no more.")

    class Meta(ImportSerializer.Meta):
        fields: tuple[str, ...] = (*ImportSerializer.Meta.fields, "n_struck")

    def get_n_struck(self, batch: ImportBatch) -> int:
        """Return how many matches this call struck."""
        del batch
        return int(self.context["n_struck"])


class ImportView(mixins.ListModelMixin, mixins.RetrieveModelMixin, Endpoints[ImportBatch]):
    """Imports of results that were played elsewhere."""

    queryset = ImportBatch.objects.select_related("leaderboard")
    serializer_class = ImportSerializer
    pagination_class = NewestFirst
    parser_classes = (MultiPartParser,)
    filterset_class = RowsOfBoard
    lookup_value_regex = ID
    # Rows are written in many transactions: one would keep all others from writing for a minute.
    is_atomic = False

    @extend_schema(
        request={"multipart/form-data": NewImportSerializer},
        responses={201: MadeImportSerializer},
    )
    def create(self, request: Request) -> Response:
        """Put the results of a file on a leaderboard; the same file again changes nothing."""
        values = read_body(NewImportSerializer, request)
        if values["adds_agents"] and not request.user.has_perm(ADDS_AGENTS):
            name = request.user.get_username()
            raise ForbiddenError(f"{name} lacks the right {ADDS_AGENTS!r}: adds_agents needs it")
        upload: TemporaryUploadedFile = values["file"]
        sent_file = SentFile(
            path=Path(upload.temporary_file_path()),
            name=upload.name or "",
            form=values["form"],
            columns=values["columns"],
            adds_agents=values["adds_agents"],
        )
        imported = importing.import_results(values["leaderboard"], sent_file, **read_actor(request))
        serializer = MadeImportSerializer(imported.batch, context={"n_new": imported.n_new})
        return Response(serializer.data, status=status.HTTP_201_CREATED)

    @extend_schema(request=ReasonSerializer, responses=StruckImportSerializer)
    @action(detail=True, methods=["post"], parser_classes=[JsonParser])
    def strike(self, request: Request, pk: str) -> Response:
        """Let all results of an import count no more."""
        del pk
        batch = self.get_object()
        struck = striking.strike_import(batch, **read_reason(request))
        return Response(
            StruckImportSerializer(struck.batch, context={"n_struck": struck.n_struck}).data
        )
