"""A form with a file, sent as it is read: the file is never in memory as a whole."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import file_digest
from io import BufferedReader
from os import fstat
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from urllib3 import encode_multipart_formdata

from evalsite_client.errors import InputError

CHUNK: Final = 1 << 20
# Told of bytes so far and in all; begins again from 0 when the call is sent again.
Sent = Callable[[int, int], None]


@dataclass(frozen=True)
class Form:
    """The body of a multipart/form-data request; every iteration reads the file anew."""

    # Not requests-toolbelt's encoder: that can be read once, and a call may be sent again.

    path: Path
    n_bytes: int
    head: bytes
    tail: bytes
    content_type: str
    progress: Sent | None

    def __len__(self) -> int:
        """Return the length of the body in bytes."""
        return len(self.head) + self.n_bytes + len(self.tail)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body in pieces. Raises InputError if the file has changed its length."""
        yield self.head
        n_sent = 0
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK):
                n_sent += len(chunk)
                # Content-Length is out already: more would be read as the next request.
                if n_sent > self.n_bytes:
                    break
                yield chunk
                if self.progress is not None:
                    self.progress(n_sent, self.n_bytes)
        if n_sent != self.n_bytes:
            raise InputError("file", f"{self.path} changed while it was sent: send it again")
        yield self.tail


def make_form(path: Path, fields: Mapping[str, Any], *, progress: Sent | None = None) -> Form:
    """Return the form of a file with further fields; None is left out. Raises InputError."""
    with open_file(path) as file:
        n_bytes = fstat(file.fileno()).st_size
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in fields.items()
        if value is not None
    }
    mark = uuid4().bytes
    # urllib3 writes the form around a mark; its own streaming needs the whole file in memory.
    body, content_type = encode_multipart_formdata({**texts, "file": (path.name, mark)})
    head, tail = body.split(mark)
    return Form(path, n_bytes, head, tail, content_type, progress)


def open_file(path: Path) -> BufferedReader:
    """Return a file, open for reading. Raises InputError when there is none to read."""
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError("file", f"{path} cannot be read: {error.strerror}") from error


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raises InputError."""
    with open_file(path) as file:
        return file_digest(file, "sha256").hexdigest()
