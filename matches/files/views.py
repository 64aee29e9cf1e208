"""Files under signed links: checkpoints for gpu workers and play nodes, pieces of trajectories."""

import re
from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods

from matches.artifacts import trajectories
from matches.artifacts.trajectories import PieceError
from matches.models import Checkpoint, TrajectoryPiece
from matches.store import blobs, signing
from matches.store.clock import db_now

_HASH = re.compile("[0-9a-f]{64}")


@require_GET
def serve_checkpoint(request: HttpRequest, sha256: str) -> HttpResponseBase:
    """Answer the sealed file of that hash; its content never changes."""
    link = signing.checkpoint_path(sha256)
    refusal = signing.find_link_problem("GET", link, request.GET, now=db_now())
    if refusal is not None:
        return _answer_text(HTTPStatus.FORBIDDEN, refusal)
    checkpoint = Checkpoint.objects.filter(sha256=sha256).first()
    file = blobs.open_file(checkpoint.path) if checkpoint else None
    if file is None:
        reason = f"there is no file of checkpoint {sha256}: it may be refused"
        return _answer_text(HTTPStatus.NOT_FOUND, reason)
    return blobs.stream_file(request, file, sha256, content_type="application/octet-stream")


# Players are no browsers and have no session: the signed link is what lets them in.
@csrf_exempt
@require_http_methods(["GET", "PUT"])
def serve_piece(request: HttpRequest, order: str, sha256: str) -> HttpResponseBase:
    """Store or answer the piece whose SHA-256 is the last part of the address."""
    if request.method == "PUT":
        return _store_piece(request, order, sha256)
    # Its link is of its own, not that of its order: who may put one may not read all.
    link = signing.piece_path(order, sha256)
    refusal = signing.find_link_problem("GET", link, request.GET, now=db_now())
    if refusal is not None:
        return _answer_text(HTTPStatus.FORBIDDEN, refusal)
    piece = TrajectoryPiece.objects.filter(order=UUID(order), sha256=sha256).first()
    file = blobs.open_file(piece.path, storage=trajectories.STORAGE) if piece else None
    if file is None:
        reason = f"there is no piece {sha256}: its time may be over"
        return _answer_text(HTTPStatus.NOT_FOUND, reason)
    return blobs.stream_file(request, file, sha256, content_type="application/vnd.apache.parquet")


def _store_piece(request: HttpRequest, order: str, sha256: str) -> HttpResponse:
    """Store the body; safe to repeat."""
    now = db_now()
    link = signing.trajectories_path(order)
    refusal = signing.find_link_problem("PUT", link, request.GET, now=now)
    if refusal is not None:
        return _answer_text(HTTPStatus.FORBIDDEN, refusal)
    if not _HASH.fullmatch(sha256):
        reason = f"{sha256!r} is no SHA-256 in lower-case hex"
        return _answer_text(HTTPStatus.BAD_REQUEST, reason)
    length = request.headers.get("Content-Length", "")
    # Announced before it is read: what is too long is refused without a byte of it.
    if not (length.isascii() and length.isdecimal()):
        return _answer_text(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
    try:
        is_new = trajectories.store_piece(
            UUID(order), sha256, request, n_bytes=int(length), now=now
        )
    except PieceError as error:
        return _answer_text(error.status, str(error))
    except OSError as error:
        return _answer_text(HTTPStatus.INSUFFICIENT_STORAGE, f"not stored: {error}")
    return _answer_text(HTTPStatus.CREATED if is_new else HTTPStatus.OK, "stored")


def _answer_text(status: int, text: str) -> HttpResponse:
    return HttpResponse(f"{text}\n", content_type="text/plain; charset=utf-8", status=status)
