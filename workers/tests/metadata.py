"""A metadata address on loopback that answers as it is told."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple


class Reply(NamedTuple):
    """What is sent back; close: the connection ends without any answer."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


Key = tuple[str, str]
NOT_FOUND = Reply(404, b"<html>404 - Not Found</html>")


class MetadataStub:
    """Answers by method and path; remembers what it was asked with which headers."""

    def __init__(self) -> None:
        self.replies: dict[Key, Reply] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.address = ""

    def find_reply(self, method: str, path: str, headers: Mapping[str, str]) -> Reply:
        self.requests.append((method, path, {k.lower(): v for k, v in headers.items()}))
        return self.replies.get((method, path), NOT_FOUND)


@contextmanager
def run_metadata() -> Iterator[MetadataStub]:
    stub = MetadataStub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply = stub.find_reply(self.command, self.path, dict(self.headers.items()))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_PUT = do_GET  # noqa: N815 - as the base class spells it

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stub.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()
