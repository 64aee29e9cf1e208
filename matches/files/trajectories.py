"""Where players put pieces of trajectories, and where clients of the API fetch them again."""

import re
from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from matches.artifacts import trajectories
from matches.artifacts.trajectories import PieceError
from matches.files.checkpoints import streamed
from matches.models import TrajectoryPiece
from matches.store import blobs, signing
from matches.store.clock import db_now

_HASH = re.compile("[0-9a-f]{64}")


@csrf_exempt
@require_http_methods(["GET", "PUT"])
def piece(request: HttpRequest, order: str, sha256: str) -> HttpResponseBase:
    """Store or answer the piece whose SHA-256 is the last part of the address."""
    return _get(request, order, sha256) if request.method == "GET" else _put(request, order, sha256)


def _get(request: HttpRequest, order: str, sha256: str) -> HttpResponseBase:
    """Answer a piece; its link is of its own, not that of its order."""
    link = signing.piece_path(order, sha256)
    refusal = signing.find_link_problem("GET", link, request.GET, now=db_now())
    if refusal is not None:
        return _answer(HTTPStatus.FORBIDDEN, refusal)
    found = TrajectoryPiece.objects.filter(order=UUID(order), sha256=sha256).first()
    file = blobs.open_file(found.path, storage=trajectories.STORAGE) if found else None
    if file is None:
        return _answer(HTTPStatus.NOT_FOUND, f"there is no piece {sha256}: its time may be over")
    return streamed(file, sha256, content_type="application/vnd.apache.parquet")


def _put(request: HttpRequest, order: str, sha256: str) -> HttpResponse:
    """Store the body; safe to repeat."""
    now = db_now()
    link = signing.trajectories_path(order)
    refusal = signing.find_link_problem("PUT", link, request.GET, now=now)
    if refusal is not None:
        return _answer(HTTPStatus.FORBIDDEN, refusal)
    if not _HASH.fullmatch(sha256):
        return _answer(HTTPStatus.BAD_REQUEST, f"{sha256!r} is no SHA-256 in lower-case hex")
    try:
        n_bytes = _announced(request)
        is_new = trajectories.store_piece(UUID(order), sha256, request, n_bytes=n_bytes, now=now)
    except PieceError as error:
        return _answer(error.status, str(error))
    except OSError as error:
        return _answer(HTTPStatus.INSUFFICIENT_STORAGE, f"not stored: {error}")
    return _answer(HTTPStatus.CREATED if is_new else HTTPStatus.OK, "stored")


def _announced(request: HttpRequest) -> int:
    """Return the length of the body. Raises PieceError when it is not announced."""
    text = request.headers.get("Content-Length", "")
    if not (text.isascii() and text.isdecimal()):
        raise PieceError(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
    return int(text)


def _answer(status: HTTPStatus, text: str) -> HttpResponse:
    return HttpResponse(f"{text}\n", content_type="text/plain; charset=utf-8", status=status)
