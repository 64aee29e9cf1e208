"""The file of a checkpoint, for gpu workers and play nodes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_safe

from matches import links, vault
from matches.clock import db_now
from matches.models import Checkpoint

FOREVER = "public, max-age=31536000, immutable"
PIECE_BYTES = 2**20


class Streamed(FileResponse):
    """A file of which only a piece is in memory, also under ASGI, where Django reads it whole."""

    block_size = PIECE_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces, read in a thread."""
        file = self.file_to_stream
        while file and (piece := await asyncio.to_thread(file.read, PIECE_BYTES)):
            yield piece


@require_safe
def checkpoint_file(request: HttpRequest, sha256: str) -> HttpResponseBase:
    """Answer the sealed file of that hash; its content never changes."""
    refusal = links.check("GET", links.checkpoint_path(sha256), request.GET, now=db_now())
    if refusal is not None:
        return _text(refusal, status=403)
    found = Checkpoint.objects.filter(sha256=sha256).first()
    file = vault.opened(found.path) if found else None
    if file is None:
        return _text(f"there is no file of checkpoint {sha256}: it may be refused", status=404)
    headers: dict[str, Any] = {"Cache-Control": FOREVER, "ETag": f'"{sha256}"'}
    return Streamed(file, content_type="application/octet-stream", headers=headers)


def _text(reason: str, *, status: int) -> HttpResponse:
    return HttpResponse(f"{reason}\n", content_type="text/plain; charset=utf-8", status=status)
