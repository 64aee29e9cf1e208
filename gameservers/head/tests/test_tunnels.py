import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
from starlette.responses import Response
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from arena.passes import make_pass
from gameservers.head.access import Door
from gameservers.head.servers import ServerBoard
from gameservers.head.serving import ServingLines
from gameservers.head.tests.running import (
    PASS_KEY,
    WITHIN_S,
    Running,
    hello,
    running_head,
    wait_until,
)
from gameservers.head.tunnels import Channel

FAR = {"X-Forwarded-For": "10.0.0.7"}
FOR_EVER = 4_000_000_000


@pytest.fixture(scope="module")
def head() -> Iterator[Running]:
    with running_head() as running:
        yield running


def open_channel(head: Running, standing: ClientConnection) -> ClientConnection:
    """Do what a server does that is asked for one more line."""
    request = json.loads(standing.recv(WITHIN_S))
    assert request["kind"] == "dial"
    return connect(f"{head.ws}/serve/{request['channel']}", legacy=True)


def play(head: Running, standing: ClientConnection) -> tuple[ClientConnection, ClientConnection]:
    """Return both ends of a tunnel: the player's and the server's."""
    ends: list[ClientConnection] = []
    server = threading.Thread(target=lambda: ends.append(open_channel(head, standing)))
    server.start()
    player = connect(f"{head.ws}/play/sim-1", max_size=None, legacy=True)
    server.join()
    return player, ends[0]


def test_frames_pass_both_ways_as_they_are(head: Running) -> None:
    with head.dial_in() as standing:
        player, server = play(head, standing)
        with player, server:
            player.send("[1]")
            assert server.recv(WITHIN_S) == "[1]"
            for frame in ("[2]", b"\x00\x01", "x" * 3_000_000):
                server.send(frame)
                assert player.recv(WITHIN_S) == frame


def test_an_end_that_hangs_up_takes_the_other_along(head: Running) -> None:
    with head.dial_in() as standing:
        player, server = play(head, standing)
        with player, server:
            server.close()
            with pytest.raises(ConnectionClosed):
                player.recv(WITHIN_S)
        player, server = play(head, standing)
        with player, server:
            player.close()
            with pytest.raises(ConnectionClosed):
                server.recv(WITHIN_S)


def test_a_player_that_does_not_read_slows_the_server_and_fills_no_memory(head: Running) -> None:
    with head.dial_in() as standing:
        player, server = play(head, standing)
        with player, server:
            sent = []

            def flood() -> None:
                for number in range(200):
                    server.send(bytes(1 << 20))
                    sent.append(number)

            sender = threading.Thread(target=flood)
            sender.start()
            sender.join(0.5)
            # Of 200 MiB what sockets and one frame at each end hold.
            assert len(sent) < 60
            for _ in range(200):
                assert len(player.recv(WITHIN_S)) == 1 << 20
            sender.join()


def test_a_server_is_known_while_it_is_there(head: Running) -> None:
    with head.dial_in("sim-2", labels={"class": "spot"}) as standing:
        row = head.rows()["sim-2"]
        assert (row["state"], row["game"], row["playing"]) == ("healthy", "connect_four", 3)
        assert row["address"] == f"{head.ws}/play/sim-2"
        standing.send(json.dumps(hello("sim-2", load={"playing": 9})))
        wait_until(lambda: head.rows()["sim-2"]["playing"] == 9, "the load is renewed")
        standing.send(json.dumps({"kind": "leaving"}))
        wait_until(lambda: head.rows()["sim-2"]["state"] == "leaving", "it leaves")
        with pytest.raises(InvalidStatus) as refused:
            connect(f"{head.ws}/play/sim-2", legacy=True)
        assert b"takes no new line" in (refused.value.response.body or b"")
    wait_until(lambda: head.rows()["sim-2"]["state"] == "gone", "it is gone")
    assert head.rows()["sim-2"]["reason"] == "it stopped"
    with head.dial_in("sim-2"):
        assert head.rows()["sim-2"]["state"] == "healthy"
    wait_until(lambda: "broke" in head.rows()["sim-2"]["reason"], "its line broke")


def test_a_living_server_keeps_its_name(head: Running) -> None:
    with head.dial_in("sim-3"), connect(f"{head.ws}/serve") as second:
        second.send(json.dumps([hello("sim-3")]))
        answer = json.loads(second.recv(WITHIN_S))
        assert (answer["kind"], answer["reason"]) == ("error", "refused")
        assert "serves here already" in answer["detail"]
        assert head.rows()["sim-3"]["state"] == "healthy"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ("{", "no message of a server that dials in"),
        ('[{"kind":"state"}]', "Invalid value 'state'"),
        (json.dumps([hello("sim-4", slots=0)]), "slots"),
        (json.dumps([hello("sim 4")]), "must be 1 to 60"),
        (b"\x00", "bytes, where a text message is needed"),
    ],
)
def test_what_is_no_hello_is_refused_with_the_reason(
    head: Running, frame: str | bytes, reason: str
) -> None:
    with connect(f"{head.ws}/serve") as line:
        line.send(frame)
        assert reason in json.loads(line.recv(WITHIN_S))["detail"]
        with pytest.raises(ConnectionClosed):
            line.recv(WITHIN_S)
    assert "sim-4" not in head.rows()


def test_from_elsewhere_a_server_needs_a_pass_of_its_own(head: Running) -> None:
    def answer(token: str) -> dict[str, str]:
        with connect(f"{head.ws}/serve", additional_headers=FAR) as line:
            line.send(json.dumps([hello("sim-5", token=token)]))
            answer_message: dict[str, str] = json.loads(line.recv(WITHIN_S))
            return answer_message

    assert "a pass for serve:sim-5 is needed" in answer("")["detail"]
    wrong = make_pass(PASS_KEY, "serve:sim-6", until=FOR_EVER)
    assert "not for serve:sim-5" in answer(wrong)["detail"]
    assert answer(make_pass(PASS_KEY, "serve:sim-5", until=FOR_EVER)) == {"kind": "accepted"}


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("/play/nobody", 404, b"no server nobody has dialled in"),
        ("/play/sim-1?token=sim-1.4000000000.00", 403, b"not made here"),
        ("/serve/0123", 404, b"nobody waits"),
    ],
)
def test_a_line_that_cannot_be_had_is_refused_with_the_reason(
    head: Running, path: str, status: int, reason: bytes
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(head.ws + path, legacy=True)
    assert refused.value.response.status_code == status
    assert reason in (refused.value.response.body or b"")


def test_a_server_that_opens_no_line_is_not_waited_for_long(
    head: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gameservers.head.tunnels.DIAL_S", 0.1)
    with head.dial_in("sim-7"), pytest.raises(InvalidStatus) as refused:
        connect(f"{head.ws}/play/sim-7", legacy=True)
    assert refused.value.response.status_code == 503


def test_a_server_that_repeated_its_hello_and_falls_silent_is_gone(
    head: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gameservers.head.serving.SILENCE_S", 0.1)
    with head.dial_in("sim-8") as standing:
        standing.send(json.dumps(hello("sim-8")))
        wait_until(lambda: head.rows()["sim-8"]["state"] == "gone", "it is gone")
    assert head.rows()["sim-8"]["reason"] == "silent for 0.1 s"


class SlowSocket:
    """A socket of a server whose handshake takes until it is let."""

    def __init__(self, channel: str, is_let: asyncio.Event) -> None:
        self.path_params, self.is_let, self.answers = {"channel": channel}, is_let, list[str]()

    async def accept(self) -> None:
        self.answers.append("accepted")
        await self.is_let.wait()

    async def send_denial_response(self, response: Response) -> None:
        self.answers.append(bytes(response.body).decode())


def test_of_two_that_race_for_one_channel_the_second_is_refused() -> None:
    async def race() -> None:
        lines = ServingLines(ServerBoard(), play_address="ws://head", door=Door(PASS_KEY))
        channel, is_let = Channel(), asyncio.Event()
        lines._channels["c1"] = channel
        sockets = [SlowSocket("c1", is_let) for _ in range(2)]
        ways = [asyncio.create_task(lines.serve_channel(cast(Any, one))) for one in sockets]
        await asyncio.sleep(0)
        is_let.set()
        first: object = await channel.socket
        channel.is_done.set()
        await asyncio.gather(*ways)
        assert first is sockets[0]
        refusal = "nobody waits for this line any more\n"
        assert [one.answers for one in sockets] == [["accepted"], [refusal]]

    asyncio.run(race())
