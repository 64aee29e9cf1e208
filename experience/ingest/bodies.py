"""What the body of an upload holds: its media type and its encoding decide how it is read."""

import zlib
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest

from arena.experience.wire import Form
from experience.errors import BodyError

MOST_SENT: Final = 2**20
MOST_INFLATED: Final = 2**23
FORMS: Final[dict[str, Form]] = {"application/msgpack": "msgpack", "application/json": "json"}
_GZIP_WINDOW = 31


def read_body(request: HttpRequest) -> tuple[bytes, Form]:
    """Return the body as it was before it was packed, and its form. Raises BodyError."""
    form = FORMS.get(request.content_type or "")
    if form is None:
        choice = " or ".join(FORMS)
        raise BodyError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"Content-Type is {request.content_type!r:.80}: send {choice}",
        )
    announced = request.headers.get("Content-Length", "")
    # Before it is read: Django refuses long bodies with another answer.
    if announced.isdecimal() and int(announced) > MOST_SENT:
        raise _make_error(int(announced))
    if len(request.body) > MOST_SENT:
        raise _make_error(len(request.body))
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return request.body, form
    if encoding == "gzip":
        return inflate(request.body), form
    raise BodyError(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        f"Content-Encoding is {encoding!r:.80}: send gzip, or none",
    )


def inflate(packed: bytes) -> bytes:
    """Return what a gzip file holds, never more than MOST_INFLATED bytes. Raises BodyError."""
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = inflater.decompress(packed, MOST_INFLATED + 1)
    except zlib.error as error:
        raise BodyError(HTTPStatus.BAD_REQUEST, f"the body is no gzip: {error}") from error
    if len(content) > MOST_INFLATED:
        raise BodyError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body inflates to more than {MOST_INFLATED} bytes: send fewer steps at once",
        )
    if not inflater.eof or inflater.unused_data:
        raise BodyError(HTTPStatus.BAD_REQUEST, "the body is no gzip: it is not one whole file")
    return content


def _make_error(n_bytes: int) -> BodyError:
    return BodyError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the body has {n_bytes} bytes: at most {MOST_SENT} are taken, send fewer steps at once",
    )
