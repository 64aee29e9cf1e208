"""The line to an address: a real server in a thread that answers as it is told."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from arena.errors import AgentDiedError, InvalidOutputError
from workers.programs import http_line
from workers.programs.child import MAX_LINE
from workers.programs.http_line import HttpLine


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    status, body, thinks_s, trickles_s = 200, b"", 0.0, 0.0
    requests: list[str] = []

    def do_POST(self) -> None:
        cls = type(self)
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        cls.requests.append(f"{self.path} {self.client_address[1]} {text}")
        threading.Event().wait(cls.thinks_s)
        body = cls.body or text.upper().encode()
        self.send_response(cls.status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        if not cls.trickles_s:
            self.wfile.write(body)
            return
        with suppress(OSError):
            for letter in body:
                self.wfile.write(bytes([letter]))
                threading.Event().wait(cls.trickles_s)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def usual_answers() -> None:
    """Forget what the test before had them say."""
    Answers.status, Answers.body, Answers.requests = 200, b"", []


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def line_to(server: ThreadingHTTPServer) -> HttpLine:
    line = HttpLine(f"http://127.0.0.1:{server.server_port}/decide?as=me")
    line.open()
    return line


def test_each_message_is_posted_over_one_connection(server: ThreadingHTTPServer) -> None:
    line = line_to(server)
    for text in ("one", "two"):
        line.send(text)
        assert line.receive(within_s=5) == text.upper()
    line.close()
    (first, second) = (request.split() for request in Answers.requests)
    assert first[:2] == second[:2]
    assert first[0] == "/decide?as=me"


@pytest.mark.parametrize(
    ("status", "is_own"), [(500, True), (302, True), (404, True), (503, False)]
)
def test_another_status_is_a_death_and_nothing_is_followed(
    server: ThreadingHTTPServer, status: int, is_own: bool
) -> None:
    Answers.status, Answers.body = status, b"out of\norder"
    # Not opened for an order: nothing is waited for.
    line = HttpLine(f"http://127.0.0.1:{server.server_port}/")
    line.send("one")
    with pytest.raises(AgentDiedError, match=f"answers {status}: out of order") as died:
        line.receive()
    assert died.value.is_own_doing is is_own
    assert len(Answers.requests) == 1
    line.close()


@pytest.mark.parametrize(
    ("body", "why"), [(b"x" * (MAX_LINE + 1), "more than"), (b"\xff", "no UTF-8")]
)
def test_an_answer_that_is_none_is_refused(
    server: ThreadingHTTPServer, body: bytes, why: str
) -> None:
    Answers.body = body
    line = line_to(server)
    line.send("one")
    with pytest.raises(InvalidOutputError, match=why):
        line.receive()
    line.close()


def test_an_agent_that_hangs_up_after_each_answer_may_think_longer_than_a_connection_takes(
    server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_line, "CONNECT_S", 0.1)
    monkeypatch.setattr(Answers, "protocol_version", "HTTP/1.0")
    monkeypatch.setattr(Answers, "thinks_s", 0.2)
    line = line_to(server)
    for text in ("one", "two"):
        line.send(text)
        assert line.receive(within_s=20) == text.upper()
    line.close()


def test_an_answer_that_comes_letter_by_letter_takes_no_longer_than_the_limit(
    server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answers, "trickles_s", 0.05)
    line = line_to(server)
    line.send("x" * 40)
    began = time.monotonic()
    with pytest.raises(AgentDiedError, match="timed out"):
        line.receive(within_s=0.3)
    assert time.monotonic() - began < 1.5
    line.close()


def test_an_answer_whose_chunks_have_no_size_is_a_death_of_its_agent(
    server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send_chunk(answers: Answers) -> None:
        answers.send_response(200)
        answers.send_header("Transfer-Encoding", "chunked")
        answers.end_headers()
        answers.wfile.write(b"-5\r\n")

    monkeypatch.setattr(http_line, "AWAY_S", 0.0)
    monkeypatch.setattr(Answers, "do_POST", send_chunk)
    line = line_to(server)
    line.send("one")
    with pytest.raises(AgentDiedError, match="must be non-negative"):
        line.receive()
    line.close()


def test_an_address_that_does_not_answer_may_be_somebody_elses_doing() -> None:
    line = HttpLine("https://127.0.0.1:1")
    line.send("one")
    with pytest.raises(AgentDiedError, match=r"https://127.0.0.1:1: .*refused") as died:
        line.receive()
    assert died.value.is_own_doing is False


def test_an_address_is_waited_for_as_an_order_begins_and_never_later() -> None:
    now_s = 0.0

    def sleep(pause_s: float) -> None:
        nonlocal now_s
        now_s += pause_s

    line = HttpLine("http://127.0.0.1:1", clock=lambda: now_s, sleep=sleep)
    for _ in range(2):
        line.open()
        line.send("one")
        with pytest.raises(AgentDiedError, match="refused"):
            line.receive()
        assert now_s == http_line.AWAY_S


def test_what_a_proxy_has_behind_it_is_waited_for_until_it_has_answered_once(
    server: ThreadingHTTPServer,
) -> None:
    n_waits = 0

    def come_back(_: float) -> None:
        nonlocal n_waits
        n_waits, Answers.status = n_waits + 1, 200

    Answers.status = 503
    line = HttpLine(f"http://127.0.0.1:{server.server_port}/", sleep=come_back)
    line.open()
    line.send("one")
    assert line.receive() == "ONE"
    Answers.status = 503
    with pytest.raises(AgentDiedError, match="answers 503"):
        line.receive()
    assert n_waits == 1
    line.close()


def test_an_address_that_comes_back_as_an_order_begins_is_asked() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers, bind_and_activate=False) as late:
        late.server_bind()
        address = f"http://127.0.0.1:{late.server_port}/"

        def start(_: float) -> None:
            late.server_activate()
            threading.Thread(target=late.handle_request, daemon=True).start()

        line = HttpLine(address, sleep=start)
        line.open()
        line.send("one")
        assert line.receive() == "ONE"
        line.close()
