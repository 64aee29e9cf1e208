"""A piece is stored, tried again for a while, or refused for good: over real HTTP."""

from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from arena.messages import Ending, Reason
from workers.trajectory_upload import WAITS_S, TrajectorySite, UploadError

LINK = "/files/trajectories/00ff?until=9&signature=ab"
PIECE = b"rows"
NAME = sha256(PIECE).hexdigest()


class Store(ThreadingHTTPServer):
    """Answers with the next of its statuses, then 201."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses: list[int] = []
        self.got: list[tuple[str, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Store

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, body))
        status = self.server.statuses.pop(0) if self.server.statuses else 201
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"so it is")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def store() -> Iterator[Store]:
    server = Store()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_piece_goes_to_the_link_of_its_order_under_its_hash(store: Store) -> None:
    assert TrajectorySite(store.url, LINK).upload_piece(PIECE) == NAME
    assert store.got == [(f"/files/trajectories/00ff/{NAME}?until=9&signature=ab", PIECE)]


@pytest.mark.parametrize("status", [500, 503, 429, 507])
def test_what_may_pass_is_tried_again_after_a_growing_wait(store: Store, status: int) -> None:
    store.statuses = [status, status]
    waits: list[float] = []
    assert TrajectorySite(store.url, LINK, sleep=waits.append).upload_piece(PIECE) == NAME
    assert (len(store.got), tuple(waits)) == (3, WAITS_S[:2])


def test_a_server_that_stays_away_interrupts_the_matches() -> None:
    waits: list[float] = []
    with pytest.raises(UploadError, match=r"not stored at http://127\.0\.0\.1:9") as caught:
        TrajectorySite("http://127.0.0.1:9", LINK, sleep=waits.append).upload_piece(PIECE)
    assert (caught.value.ending, caught.value.reason) == (Ending.INTERRUPTED, Reason.SITE_LOST)
    assert tuple(waits) == WAITS_S


def _never(seconds: float) -> None:
    pytest.fail(f"it waited {seconds} s")


@pytest.mark.parametrize("status", [400, 403, 404, 410, 413])
def test_a_refusal_is_final_and_tells_why(store: Store, status: int) -> None:
    store.statuses = [status]
    with pytest.raises(UploadError, match=f"refused: {status} so it is") as caught:
        TrajectorySite(store.url, LINK, sleep=_never).upload_piece(PIECE)
    assert (caught.value.ending, caught.value.reason) == (Ending.FAILED, Reason.ERROR)
