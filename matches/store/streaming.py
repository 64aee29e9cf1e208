"""Answers that are sent in pieces, whichever way the server of a request takes them.

Django gathers what comes the other way into a list, with a warning: of an iterator under ASGI, as
web does, and of an asynchronous one under WSGI, as the client of the tests does.
"""

from collections.abc import AsyncIterator, Iterable, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest


def stream_pieces(
    request: HttpRequest, pieces: Iterable[bytes], *, reads_database: bool = False
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Return the pieces for a StreamingHttpResponse; each is made when the one before was sent.

    reads_database: they are made in the thread of the database; else none waits for that.
    """
    if isinstance(request, ASGIRequest):
        return _stream_later(iter(pieces), reads_database=reads_database)
    return iter(pieces)


async def _stream_later(pieces: Iterator[bytes], *, reads_database: bool) -> AsyncIterator[bytes]:
    def make_piece() -> bytes | None:
        return next(pieces, None)

    make_later = sync_to_async(make_piece, thread_sensitive=reads_database)
    while (piece := await make_later()) is not None:
        yield piece
