"""Chunks to `POST /api/v1/experience/`, each until it is answered."""

import gzip
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

PATH: Final = "/api/v1/experience/"
CALL_S: Final = 30.0
WAIT_S: Final = 2.0
# What chunk and server say about each other; all else is a wrong setting, which nothing cures.
_REFUSALS: Final = (400, 409, 413)
_BUSY: Final = (408, 429, 502, 503, 504)


@dataclass
class Tally:
    """What became of the records of a shard."""

    n_waiting: int = 0
    n_broken: int = 0
    steps: Counter[str] = field(default_factory=Counter)

    def count(self, outcome: str, n_steps: int) -> None:
        """Count the steps of a chunk."""
        self.steps[outcome] += n_steps

    def add(self, other: "Tally") -> None:
        """Add what another one has counted."""
        self.n_waiting += other.n_waiting
        self.n_broken += other.n_broken
        self.steps += other.steps


@dataclass(frozen=True)
class Site:
    """The platform, and a token that may upload. limit_s: how long a chunk is sent again."""

    url: str
    token: str = field(repr=False)
    limit_s: float = 600.0

    def send(self, chunk: dict[str, Any], *, refused: Path) -> str:
        """Return accepted, duplicate or refused, whose chunk is written to a file.

        Raises RuntimeError where the platform stays away or the token is not taken.
        """
        until_s = time.monotonic() + self.limit_s
        try:
            # NaN is no JSON: what is not known is null.
            content = json.dumps(chunk, allow_nan=False).encode()
        except ValueError as error:
            _keep(chunk, str(error), refused)
            return "refused"
        while True:
            try:
                return self._send_once(content)
            except HTTPError as error:
                why = error.read(2_000).decode(errors="replace")
                if error.code in _REFUSALS:
                    _keep(chunk, why, refused)
                    return "refused"
                if error.code not in _BUSY:
                    raise RuntimeError(f"{self.url}{PATH} answers {error.code}: {why}") from error
                # May be a date, too.
                asked = error.headers.get("Retry-After", "")
                wait_s = min(60.0, float(asked)) if asked.isdecimal() else WAIT_S
            except (URLError, OSError) as error:
                why, wait_s = str(error), WAIT_S
            if time.monotonic() + wait_s > until_s:
                raise RuntimeError(f"{self.url} took no chunk for {self.limit_s:g} s: {why}")
            time.sleep(wait_s)

    def _send_once(self, content: bytes) -> str:
        body = gzip.compress(content, 1, mtime=0)
        headers = {
            "Authorization": f"Token {self.token}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
        }
        request = Request(f"{self.url.rstrip('/')}{PATH}", data=body, headers=headers)
        with urlopen(request, timeout=CALL_S) as answer:
            return "accepted" if answer.status == HTTPStatus.ACCEPTED else "duplicate"


def _keep(chunk: dict[str, Any], why: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"why": why, "chunk": chunk})
    (folder / f"{chunk['chunk_id']}.json").write_text(text)
