"""A server of one run in memory, which reads chunks as the real one does; over HTTP if need be."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from requests import Response

from arena.experience.checking import check_chunk
from arena.experience.chunks import Chunk
from arena.experience.tests.made import SPEC
from arena.experience.wire import read_chunk
from evalsite_client.experience.tests.made import GAME, make_run, make_version
from evalsite_client.tests.fakes import Seen, answer, problem, raw

ANSWERS = {"games": {"next": None, "results": [asdict(GAME)]}, "poles": make_run()}
"""What it answers of its game and its run."""


@dataclass
class Platform:
    """Publishes version n as the file `versions[n]`, and keeps each chunk once."""

    versions: list[bytes] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    n_uploads: int = 0
    n_looks: int = 0
    keep_fraction: float = 1.0
    publish_after: dict[int, bytes] = field(default_factory=dict)
    """After so many chunks: a next version."""
    busy_at: tuple[int, ...] = ()
    """The uploads to which it answers that it is busy."""
    pages: Path | None = None
    """A folder whose files it serves."""

    def __call__(self, request: Seen) -> Response:
        """Answer a request."""
        path = request.url.partition("://")[2].partition("/")[2].partition("?")[0]
        match path.strip("/").split("/")[-2:]:
            case ["v1", "games" as name] | ["runs", "poles" as name]:
                return answer(ANSWERS[name])
            case [_, "latest"]:
                return self._tell_latest(request)
            case ["files", number]:
                return raw(self.versions[int(number)])
            case ["v1", "experience"]:
                return self._take_chunk(request)
            case [*_, name] if self.pages and (self.pages / name).is_file():
                kind = "text/html" if name.endswith(".html") else "text/javascript"
                return raw((self.pages / name).read_bytes(), kind=kind)
        return problem(404, path)

    def _tell_latest(self, request: Seen) -> Response:
        self.n_looks += 1
        if not self.versions:
            return problem(404, "run poles has no published version")
        content = self.versions[-1]
        digest = sha256(content).hexdigest()
        if request.headers.get("If-None-Match") == f'"{digest}"':
            return answer(None, 304)
        version = len(self.versions) - 1
        latest = make_version(content, version=version, url=f"/files/{version}")
        return answer(latest, ETag=f'"{digest}"')

    def _take_chunk(self, request: Seen) -> Response:
        self.n_uploads += 1
        if self.n_uploads in self.busy_at:
            return problem(503, "full", Retry_After="0")
        is_json = "json" in request.headers["Content-Type"]
        chunk = read_chunk(request.body, spec=SPEC, form="json" if is_json else "msgpack")
        check_chunk(chunk, SPEC)
        is_new = chunk.chunk_id not in {kept.chunk_id for kept in self.chunks}
        if is_new:
            self.chunks.append(chunk)
            if len(self.chunks) in self.publish_after:
                self.versions.append(self.publish_after[len(self.chunks)])
        accepted: dict[str, Any] = {
            "accepted": len(chunk) if is_new else 0,
            "duplicate": not is_new,
            "latest_policy_version": len(self.versions) - 1,
            "keep_fraction": self.keep_fraction,
        }
        return answer(accepted, 202 if is_new else 200)


@contextmanager
def serve(platform: Platform) -> Iterator[str]:
    """Serve it on loopback; give its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            address = f"http://{self.headers['Host']}{self.path}"
            response = platform(Seen(self.command, address, dict(self.headers), body))
            self.send_response(response.status_code)
            for name, text in response.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(response.content)))
            self.end_headers()
            self.wfile.write(response.content)

        do_POST = do_GET  # noqa: N815 - the name that is looked for

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
