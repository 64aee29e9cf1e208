"""What all files under signed links share: how they are asked for, put and refused."""

import re
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus

from django.core.files import File
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from matches.store import blobs, signing
from matches.store.staging import UploadError

_HASH = re.compile("[0-9a-f]{64}")


def answer_text(status: int, text: str) -> HttpResponse:
    """Return an answer of one line."""
    return HttpResponse(f"{text}\n", content_type="text/plain; charset=utf-8", status=status)


def answer_file(
    request: HttpRequest,
    link: str,
    sha256: str,
    open_file: Callable[[], "File[bytes] | None"],
    *,
    missing: str,
    content_type: str,
    now: datetime,
) -> HttpResponseBase:
    """Return the file where the link is signed for it; missing: said where there is none."""
    refusal = signing.find_link_problem("GET", link, request.GET, now=now)
    if refusal is not None:
        return answer_text(HTTPStatus.FORBIDDEN, refusal)
    file = open_file()
    if file is None:
        return answer_text(HTTPStatus.NOT_FOUND, missing)
    return blobs.stream_file(request, file, sha256, content_type=content_type)


def answer_upload(
    request: HttpRequest, link: str, sha256: str, store: Callable[[int], bool], *, now: datetime
) -> HttpResponse:
    """Store the body where the link is signed for that; safe to repeat.

    store: keeps so many bytes and says whether they were not there yet. It raises UploadError.
    """
    refusal = signing.find_link_problem("PUT", link, request.GET, now=now)
    if refusal is not None:
        return answer_text(HTTPStatus.FORBIDDEN, refusal)
    if not _HASH.fullmatch(sha256):
        return answer_text(HTTPStatus.BAD_REQUEST, f"{sha256!r} is no SHA-256 in lower-case hex")
    length = request.headers.get("Content-Length", "")
    # Announced before it is read: what is too long is refused without a byte of it.
    if not (length.isascii() and length.isdecimal()):
        return answer_text(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
    try:
        is_new = store(int(length))
    except UploadError as error:
        return answer_text(error.status, str(error))
    except OSError as error:
        return answer_text(HTTPStatus.INSUFFICIENT_STORAGE, f"not stored: {error}")
    return answer_text(HTTPStatus.CREATED if is_new else HTTPStatus.OK, "stored")
