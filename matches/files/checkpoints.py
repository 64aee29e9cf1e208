"""The file of a checkpoint, for gpu workers and play nodes."""

import asyncio
from collections.abc import AsyncIterator

from django.core.files import File
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_GET

from matches.models import Checkpoint
from matches.store import blobs, signing
from matches.store.clock import db_now

FOREVER = "public, max-age=31536000, immutable"
PIECE_BYTES = 2**20


@require_GET
def checkpoint_file(request: HttpRequest, sha256: str) -> HttpResponseBase:
    """Answer the sealed file of that hash; its content never changes."""
    refusal = signing.find_link_problem(
        "GET", signing.checkpoint_path(sha256), request.GET, now=db_now()
    )
    if refusal is not None:
        return _text(refusal, status=403)
    found = Checkpoint.objects.filter(sha256=sha256).first()
    file = blobs.open_file(found.path) if found else None
    if file is None:
        return _text(f"there is no file of checkpoint {sha256}: it may be refused", status=404)
    return streamed(file, sha256, content_type="application/octet-stream")


def streamed(file: "File[bytes]", sha256: str, *, content_type: str) -> StreamingHttpResponse:
    """Return the answer that sends a file of that hash, piece by piece."""
    headers = {
        "Cache-Control": FOREVER,
        "Content-Length": str(file.size),
        "ETag": f'"{sha256}"',
    }
    # Not FileResponse: under ASGI, Django reads a file that is no asynchronous iterator whole.
    return StreamingHttpResponse(_pieces(file), content_type=content_type, headers=headers)


async def _pieces(file: "File[bytes]") -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece


def _text(reason: str, *, status: int) -> HttpResponse:
    return HttpResponse(f"{reason}\n", content_type="text/plain; charset=utf-8", status=status)
