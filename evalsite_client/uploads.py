"""A form with a file, sent as it is read: the file is never in memory as a whole."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from evalsite_client.errors import InputError

CHUNK: Final = 1 << 20
Sent = Callable[[int, int], None]
"""Told of bytes so far and in all; begins again from 0 when the call is sent again."""


@dataclass(frozen=True)
class Form:
    """The body of a multipart/form-data request; every iteration reads the file anew."""

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
                if n_sent > self.n_bytes:
                    break
                yield chunk
                if self.progress is not None:
                    self.progress(n_sent, self.n_bytes)
        if n_sent != self.n_bytes:
            raise InputError("file", f"{self.path} changed while it was sent: send it again")
        yield self.tail


def form(path: Path, fields: Mapping[str, Any], *, progress: Sent | None = None) -> Form:
    """Return the form of a file with further fields; None is left out. Raises InputError."""
    n_bytes = length(path)
    boundary = uuid4().hex
    texts = {name: _text(value) for name, value in fields.items() if value is not None}
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
        for name, text in texts.items()
    ]
    parts.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; '
        f'filename="{_quoted(path.name)}"\r\nContent-Type: application/octet-stream\r\n\r\n'
    )
    return Form(
        path=path,
        n_bytes=n_bytes,
        head="".join(parts).encode(errors="surrogateescape"),
        tail=f"\r\n--{boundary}--\r\n".encode(),
        content_type=f"multipart/form-data; boundary={boundary}",
        progress=progress,
    )


def length(path: Path) -> int:
    """Return the bytes of a file. Raises InputError when there is none to read."""
    try:
        with path.open("rb"):
            return path.stat().st_size
    except OSError as error:
        raise InputError("file", f"{path} cannot be read: {error.strerror}") from error


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _quoted(name: str) -> str:
    """Return a file name as browsers write it in a form."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
