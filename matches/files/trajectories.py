"""Where players put pieces of trajectories: PUT under the signed link of their order."""

import re
from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from matches import links
from matches.clock import db_now
from matches.services import trajectories
from matches.services.trajectories import PieceError

_HASH = re.compile("[0-9a-f]{64}")


@csrf_exempt
@require_http_methods(["PUT"])
def piece(request: HttpRequest, order: str, sha256: str) -> HttpResponse:
    """Store the body, whose SHA-256 is the last part of the address; safe to repeat."""
    now = db_now()
    link = links.trajectories_path(order)
    refusal = links.check("PUT", link, request.GET, now=now)
    if refusal is not None:
        return _answer(HTTPStatus.FORBIDDEN, refusal)
    if not _HASH.fullmatch(sha256):
        return _answer(HTTPStatus.BAD_REQUEST, f"{sha256!r} is no SHA-256 in lower-case hex")
    try:
        n_bytes = _announced(request)
        is_new = trajectories.store(UUID(order), sha256, request, n_bytes=n_bytes, now=now)
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
