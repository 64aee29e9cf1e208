from ipaddress import ip_address

import msgspec
import pytest

from arena.addresses import read_address
from arena.games.line_messages import ServerHello
from gameservers.discovery.merging import Place
from gameservers.head.servers import (
    DIALLED_IN,
    MAX_SERVERS,
    SHOWN_S,
    FoundServer,
    KnownServer,
    ServerBoard,
    State,
)
from gameservers.head.tests.running import hello


def made_found(name: str, ip: str) -> FoundServer:
    address = read_address(f"{ip}:8081")
    return FoundServer(name, address.url(), "dns", Place(address, ip_address(ip)))


FIRST, SECOND = made_found("game-1", "10.0.0.1"), made_found("game-2", "10.0.0.2")


def made_hello(**changes: object) -> ServerHello:
    return msgspec.convert({**hello(), **changes}, ServerHello)


def find(board: ServerBoard, server: FoundServer) -> KnownServer:
    entry = board.find(server.address)
    assert entry
    return entry


def test_a_server_is_found_then_healthy_then_gone_with_times() -> None:
    board = ServerBoard()
    board.note_found([FIRST], now=10)
    server = find(board, FIRST)
    assert (server.state, server.name) == (State.FOUND, "game-1")
    board.note_hello(server, made_hello(), now=12, latency_ms=1.5)
    assert (server.state, server.name, server.since) == (State.HEALTHY, "sim-1", 12)
    assert board.list_healthy() == [server]
    board.note_found([], now=20)
    row = server.as_row(now=25)
    assert (row["state"], row["reason"], row["since_s"]) == ("gone", "no longer named by dns", 5)
    assert (row["cpu"], row["episodes"], row["seen_s"]) == (0.5, 40, 13)
    board.note_found([], now=21 + SHOWN_S)
    assert board.list_all() == []


def test_a_server_that_comes_back_has_another_incarnation() -> None:
    board = ServerBoard()
    board.note_found([FIRST], now=1)
    server = find(board, FIRST)
    board.note_hello(server, made_hello(), now=2)
    first = server.incarnation
    board.note_hello(server, made_hello(), now=3)
    assert (server.incarnation, server.since) == (first, 2)
    server.become(State.UNREACHABLE, "refuses the line", now=4)
    board.note_hello(server, made_hello(), now=5)
    assert server.incarnation != first
    board.note_found([], now=6)
    board.note_found([FIRST], now=7)
    assert server.state == State.FOUND


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"protocol": 2}, "version 2 of the protocol, the head 1"),
        ({"name": "a b"}, "'a b'"),
    ],
)
def test_a_server_that_players_could_not_use_is_unreachable(
    changes: dict[str, object], reason: str
) -> None:
    board = ServerBoard()
    board.note_found([FIRST], now=1)
    server = find(board, FIRST)
    board.note_hello(server, made_hello(**changes), now=2)
    assert server.state == State.UNREACHABLE
    assert reason in server.reason


def test_of_two_servers_with_one_name_the_first_is_kept() -> None:
    board = ServerBoard()
    board.note_found([FIRST, SECOND], now=1)
    board.note_hello(find(board, FIRST), made_hello(), now=2)
    board.note_hello(find(board, SECOND), made_hello(), now=3)
    assert [server.address for server in board.list_healthy()] == [FIRST.address]
    assert FIRST.address in find(board, SECOND).reason
    refused = board.note_dialled_in(made_hello(), "ws://head/play/sim-1", now=4)
    assert (refused.state, refused.source) == (State.UNREACHABLE, DIALLED_IN)
    assert len(board.list_all()) == 2


def test_no_more_servers_are_known_than_can_be_looked_at() -> None:
    board = ServerBoard()
    board.note_found((FIRST._replace(address=f"ws://a:{n}") for n in range(2_000)), now=1)
    assert len(board.list_all()) == MAX_SERVERS
    refused = board.note_dialled_in(made_hello(), "ws://head/play/sim-1", now=4)
    assert "no more" in refused.reason


def test_what_may_not_be_dialled_is_shown_with_the_reason() -> None:
    board = ServerBoard()
    refused = FoundServer("game-1", "10.0.0.9:1", "list", None, State.UNREACHABLE, "is outside")
    nameless = FoundServer("game-9", "", "skypilot", None, State.FOUND, "is starting")
    board.note_found([refused, nameless], now=1)
    rows = [server.as_row(now=1) for server in board.list_all()]
    assert [(row["state"], row["reason"]) for row in rows] == [
        ("unreachable", "is outside"),
        ("found", "is starting"),
    ]
    assert board.list_listening() == []
