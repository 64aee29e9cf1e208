"""Files named by the hash of their content, in the storages of the settings, and their uploads."""

import os
from pathlib import Path

from django.core.files import File
from django.core.files.storage import storages
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest, StreamingHttpResponse

from arena.checkpoints import MAX_BYTES
from matches.store.streaming import stream_pieces

CHECKPOINTS = "checkpoints"
FOREVER = "public, max-age=31536000, immutable"
PIECE_BYTES = 2**20


class StagedFile(File):  # type: ignore[type-arg]  # generic for the type checker only
    """A whole file that a storage on the same file system may take over by renaming it."""

    def temporary_file_path(self) -> str:
        """Return where it is: Django's storages then move it instead of copying."""
        return os.fspath(self.name or "")


def store_file(staged: Path, name: str, *, storage: str = CHECKPOINTS) -> None:
    """Move a whole file into the storage; one that is there with this size stays."""
    shelf = storages[storage]
    # The name is the hash of the content: a file of another size was cut off while it was written.
    if shelf.exists(name):
        if shelf.size(name) == staged.stat().st_size:
            return
        shelf.delete(name)
    with staged.open("rb") as file:
        stored_as = shelf.save(name, StagedFile(file, os.fspath(staged)))
    if stored_as != name:
        # Another process has put the same content meanwhile.
        shelf.delete(stored_as)


def open_file(name: str, *, storage: str = CHECKPOINTS) -> "File[bytes] | None":
    """Return the file to read, or None when it is not there."""
    try:
        file: File[bytes] = storages[storage].open(name)
    except FileNotFoundError:
        return None
    return file


def delete_file(name: str, *, storage: str = CHECKPOINTS) -> None:
    """Delete a file; one that is not there is no error."""
    storages[storage].delete(name)


def stream_file(
    request: HttpRequest, file: "File[bytes]", sha256: str, *, content_type: str
) -> StreamingHttpResponse:
    """Return the answer that sends a file of that hash and then closes it."""
    headers = {
        "Cache-Control": FOREVER,
        "Content-Length": str(file.size),
        "ETag": f'"{sha256}"',
    }
    # Not FileResponse: under ASGI, Django reads a file that is no asynchronous iterator whole.
    pieces = stream_pieces(request, iter(lambda: file.read(PIECE_BYTES), b""))
    answer = StreamingHttpResponse(pieces, content_type=content_type, headers=headers)
    # As FileResponse does: also where the client is gone before the last piece.
    answer._resource_closers.append(file.close)  # type: ignore[attr-defined]  # not in the stubs
    return answer


class BoundedUpload(TemporaryFileUploadHandler):
    """Writes every file of a form to disk, at most one byte more than a checkpoint may have.

    That byte lets the check of the file refuse it, with its reason, in the form that was sent.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Write what there is room for."""
        room = MAX_BYTES + 1 - start
        if room > 0:
            super().receive_data_chunk(raw_data[:room], start)
