"""A real web server in a thread that answers what a test told it to."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

LINK = "/files/checkpoints/"


class FileServer(ThreadingHTTPServer):
    """Serves `bodies` by hash; `statuses` and `headers` overrule; `paths` are those asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: dict[str, bytes] = {}
        self.status = 200
        self.location = ""
        self.announced: int | None = None
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        body = self.server.bodies.get(self.path.removeprefix(LINK).partition("?")[0])
        status = self.server.status if body is not None else 404
        body = body if body is not None else b""
        self.send_response(status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        announced = self.server.announced
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[FileServer]:
    """Run a server until the end of the block."""
    server = FileServer()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
