"""The results of a leaderboard as a file, for other programs."""

from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from django.conf import settings
from django.core.files import File
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request

from arena.checkpoints import hash_file
from matches.api.base import read_query
from matches.api.fields import OneOf
from matches.models import Leaderboard
from matches.ratings.results_files import ALL_FORMS, PGN, write_results
from matches.store import blobs
from matches.store.table_files import CSV, TYPES

MEDIA_TYPES: Final = {**TYPES, PGN: "application/vnd.chess-pgn; charset=utf-8"}


class ResultsFormSerializer(serializers.Serializer[Any]):
    """In which form the results are wanted."""

    form = OneOf(
        choices=ALL_FORMS,
        default=CSV,
        help_text="pgn: tags and result of each game of two, as BayesElo and Ordo read them.",
    )


class ExportsResults(GenericAPIView[Leaderboard]):
    """Offers what the ratings of a leaderboard count; each file is made anew."""

    @extend_schema(
        parameters=[ResultsFormSerializer],
        responses={
            (200, kind.partition(";")[0]): OpenApiTypes.BINARY for kind in MEDIA_TYPES.values()
        },
        filters=False,
    )
    @action(detail=True, filter_backends=[], pagination_class=None)
    def results(self, request: Request, name: str) -> HttpResponseBase:
        """Return all results that the ratings of the present season count, in planned order."""
        del name
        form = read_query(ResultsFormSerializer, request)["form"]
        board = self.get_object()
        # The folder goes with this call; an open file stays readable until it is closed.
        with TemporaryDirectory(prefix="results-", dir=settings.VAR) as folder:
            path = Path(folder) / "results"
            write_results(board, form, path)
            sha256 = hash_file(path)
            unchanged = get_conditional_response(request._request, etag=f'"{sha256}"')
            if unchanged is not None and unchanged.status_code == HTTPStatus.NOT_MODIFIED:
                return unchanged
            file = File(path.open("rb"))
            answer = blobs.stream_file(
                request._request, file, sha256, content_type=MEDIA_TYPES[form]
            )
        del answer.headers["Cache-Control"]  # not for everybody, and not for ever
        answer["Content-Disposition"] = f'attachment; filename="{board.name}.{form}"'
        return answer
