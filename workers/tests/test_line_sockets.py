"""A WebSocket at the other end of a line, served by a thread of the test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import ServerConnection, serve

from arena.games.line_messages import MAX_FRAME
from workers.lines import sockets
from workers.lines.sockets import SocketTransport
from workers.lines.transport import FrameError, LineClosedError, LineSilentError


@contextmanager
def serving(handle: Callable[[ServerConnection], Any], **options: Any) -> Iterator[str]:
    with serve(handle, "127.0.0.1", 0, max_size=None, compression=None, **options) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)
        connection.send(b"raw")


def test_a_text_comes_back_and_bytes_behind_it() -> None:
    with serving(echo) as address:
        transport = SocketTransport(address)
        transport.send(b"[1]")
        assert transport.receive(5) == "[1]"
        assert transport.receive_bytes(3, 5) == b"raw"
        transport.close()


def test_bytes_in_the_place_of_a_text_are_no_frame() -> None:
    with (
        serving(lambda connection: connection.send(b"raw")) as address,
        pytest.raises(FrameError, match="3 bytes where a text was due"),
    ):
        SocketTransport(address).receive(5)


def test_other_bytes_than_announced_are_no_frame() -> None:
    with (
        serving(lambda connection: connection.send(b"raw")) as address,
        pytest.raises(FrameError, match="4 bytes were announced, 3 came"),
    ):
        SocketTransport(address).receive_bytes(4, 5)


def test_a_server_that_hangs_up_at_once_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect_late(address: str, **options: Any) -> ClientConnection:
        connection: ClientConnection = connect(address, **options)
        connection.recv_events_thread.join()
        return connection

    monkeypatch.setattr(sockets, "connect", connect_late)
    with serving(lambda connection: connection.send("[1]")) as address:
        transport = SocketTransport(address)
        assert transport.receive(5) == "[1]"
        with pytest.raises(LineClosedError, match="has closed the line"):
            transport.receive(5)


def test_a_message_that_is_too_large_is_no_frame() -> None:
    with (
        serving(lambda connection: connection.send("x" * (10 << 20))) as address,
        pytest.raises(FrameError, match=f"over {MAX_FRAME} bytes"),
    ):
        SocketTransport(address).receive(5)


def test_a_text_that_is_no_text_is_no_frame() -> None:
    def send_no_text(connection: ServerConnection) -> None:
        connection.send(b"\xff", text=True)
        with suppress(ConnectionClosed):
            connection.recv()

    with (
        serving(send_no_text) as address,
        pytest.raises(FrameError, match="a text that is no UTF-8"),
    ):
        SocketTransport(address).receive(5)


def test_what_came_while_this_machine_stood_still_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(echo) as address:
        transport = SocketTransport(address)
        receive, limits, came = transport._socket.recv, list[float](), list[str | bytes]()

        def time_out_first(limit_s: float) -> str | bytes:
            limits.append(limit_s)
            if len(limits) == 1:
                came.append(receive(limit_s))
                raise TimeoutError
            return came.pop()

        monkeypatch.setattr(transport._socket, "recv", time_out_first)
        transport.send(b"[1]")
        assert transport.receive(5) == "[1]"
        assert limits == [5, 0]
        transport.close()


def test_a_server_that_closes_is_gone() -> None:
    with serving(lambda connection: connection.close(1001, "bye")) as address:
        transport = SocketTransport(address)
        with pytest.raises(LineClosedError, match="has closed the line"):
            transport.receive(5)
        with pytest.raises(LineClosedError, match="has closed the line"):
            transport.send(b"[]")


def test_a_silent_server_that_answers_pings_is_silent() -> None:
    done = Event()
    with serving(lambda connection: done.wait(20)) as address:
        with pytest.raises(LineSilentError, match=r"has said nothing for 0\.1 s"):
            SocketTransport(address).receive(0.1)
        done.set()


def test_nobody_at_an_address_is_named_without_its_pass() -> None:
    with serving(echo) as address:
        pass
    with pytest.raises(LineClosedError, match=f"^{address} does not answer") as caught:
        SocketTransport(f"{address}?token=secret")
    assert "secret" not in str(caught.value)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(LineClosedError, match="http://x does not answer"):
        SocketTransport("http://x")


def send_much(transport: SocketTransport) -> None:
    for _ in range(30):
        transport.send(b"x" * (1 << 20))


def test_a_server_that_reads_nothing_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "SEND_S", 0.2)
    done, waits = Event(), list[bool]()
    # Nothing is taken from its socket once as many messages wait as may.
    with serving(
        lambda connection: waits.append(done.wait(20)), max_queue=1, close_timeout=0.1
    ) as address:
        transport = SocketTransport(address)
        with pytest.raises(LineClosedError, match="has closed the line"):
            send_much(transport)
        assert not waits, "it has hung up by itself"
        done.set()
        transport.close()


def test_a_redirect_leads_nowhere() -> None:
    with serving(echo) as elsewhere:

        def redirect(connection: ServerConnection, request: Request) -> Response:
            return Response(302, "Found", Headers({"Location": elsewhere}))

        with (
            serving(echo, process_request=redirect) as address,
            pytest.raises(LineClosedError, match="rejected WebSocket connection: HTTP 302"),
        ):
            SocketTransport(address)


def test_a_line_whose_server_has_gone_is_not_open() -> None:
    with serving(lambda connection: connection.recv()) as address:
        transport = SocketTransport(address)
        assert transport.is_open()
        transport.send(b"[]")
        with pytest.raises(LineClosedError):
            transport.receive(5)
        assert not transport.is_open()
        transport.close()


@pytest.mark.parametrize("address", ["ws://sim:99999", "ws://[::1", "ws://sim..org:80"])
def test_an_address_that_cannot_be_one_does_not_answer(address: str) -> None:
    with pytest.raises(LineClosedError, match="does not answer"):
        SocketTransport(address)


def test_a_connection_is_given_up_without_the_farewell_of_a_server_that_hangs() -> None:
    done, ended = Event(), Event()

    def hang(connection: ServerConnection) -> None:
        done.wait(20)
        with suppress(ConnectionClosed):
            connection.recv()
        ended.set()

    with serving(hang) as address:
        transport = SocketTransport(address)
        began = monotonic()
        transport.hang_up(0.1)
        assert 0.1 <= monotonic() - began < 0.9
        assert not transport.is_open()
        done.set()
        assert ended.wait(5)
