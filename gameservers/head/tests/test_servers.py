import msgspec
import pytest

from arena.games.line_messages import ServerHello
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

FIRST = FoundServer("game-1", "ws://10.0.0.1:8081", "dns")
SECOND = FoundServer("game-2", "ws://10.0.0.2:8081", "dns")


def made_hello(**changes: object) -> ServerHello:
    return msgspec.convert({**hello(), **changes}, ServerHello)


def find(board: ServerBoard, found: FoundServer) -> KnownServer:
    known = board.find(found.address)
    assert known
    return known


def test_a_server_is_found_then_healthy_then_gone_with_times() -> None:
    board = ServerBoard()
    board.note_found([FIRST], now=10)
    known = find(board, FIRST)
    assert (known.state, known.name) == (State.FOUND, "game-1")
    board.note_hello(known, made_hello(), now=12, latency_ms=1.5)
    assert (known.state, known.name, known.since) == (State.HEALTHY, "sim-1", 12)
    assert board.list_healthy() == [known]
    board.note_found([], now=20)
    row = known.as_row(now=25)
    assert (row["state"], row["reason"], row["since_s"]) == ("gone", "dns names it no more", 5)
    assert (row["cpu"], row["episodes"], row["seen_s"]) == (0.5, 40, 13)
    board.note_found([], now=21 + SHOWN_S)
    assert board.list_all() == []


def test_a_server_that_comes_back_has_another_incarnation() -> None:
    board = ServerBoard()
    board.note_found([FIRST], now=1)
    known = find(board, FIRST)
    board.note_hello(known, made_hello(), now=2)
    first = known.incarnation
    board.note_hello(known, made_hello(), now=3)
    assert (known.incarnation, known.since) == (first, 2)
    known.become(State.UNREACHABLE, "refuses the line", now=4)
    board.note_hello(known, made_hello(), now=5)
    assert known.incarnation != first
    board.note_found([], now=6)
    board.note_found([FIRST], now=7)
    assert known.state == State.FOUND


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"protocol": 2}, "version 2 of the protocol, the head 1"), ({"name": "a b"}, "'a b'")],
)
def test_a_server_that_players_could_not_use_is_unreachable(
    changes: dict[str, object], reason: str
) -> None:
    board = ServerBoard()
    board.note_found([FIRST], now=1)
    known = find(board, FIRST)
    board.note_hello(known, made_hello(**changes), now=2)
    assert known.state == State.UNREACHABLE
    assert reason in known.reason


def test_of_two_servers_with_one_name_the_first_is_kept() -> None:
    board = ServerBoard()
    board.note_found([FIRST, SECOND], now=1)
    board.note_hello(find(board, FIRST), made_hello(), now=2)
    board.note_hello(find(board, SECOND), made_hello(), now=3)
    assert [known.address for known in board.list_healthy()] == [FIRST.address]
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
