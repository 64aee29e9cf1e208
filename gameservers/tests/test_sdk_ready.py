"""Games of the SDK that ask others for their state: `ready` is awaited, nobody else waits."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from gameservers import sdk
from gameservers.tests.games import WordyNim

LIMIT_S = 10
HELLO = json.dumps([{"kind": "hello", "protocol": 1, "game": "nim"}])


class AskingNim(WordyNim):
    """Waits until its number of stones is in `heard`."""

    condition: asyncio.Condition
    heard: set[int]
    closed: list[int]

    async def ready(self) -> None:
        async with self.condition:
            await self.condition.wait_for(lambda: self.left in self.heard)
        if self.left == 13:
            raise sdk.RefusalError("fault", "nobody knows")

    def close(self) -> None:
        self.closed.append(self.left)


class Table:
    """A server of the game, and a player's connection to it."""

    def __init__(self, kind: type[AskingNim], server: sdk.Server, socket: ClientConnection) -> None:
        self.kind, self.server, self.socket = kind, server, socket

    async def say(self, **message: Any) -> None:
        await self.socket.send(json.dumps([message]))

    async def hear(self) -> Any:
        async with asyncio.timeout(LIMIT_S):
            ((answer),) = json.loads(await self.socket.recv())
            return answer

    async def tell(self, left: int) -> None:
        async with self.kind.condition:
            self.kind.heard.add(left)
            self.kind.condition.notify_all()


@asynccontextmanager
async def playing() -> AsyncIterator[Table]:
    fields = {"condition": asyncio.Condition(), "heard": set[int](), "closed": list[int]()}
    kind = type("Kind", (AskingNim,), fields)
    server, stop = sdk.Server(kind, name="sim-1", slots=4), asyncio.Event()
    sockets = sdk.Sockets(server)
    listener = await sdk.start_listener(sockets, "127.0.0.1:0")
    port = listener.sockets[0].getsockname()[1]
    try:
        async with connect(f"ws://127.0.0.1:{port}") as socket:
            await socket.send(HELLO)
            await socket.recv()
            yield Table(kind, server, socket)
    finally:
        stop.set()
        listener.close()
        await listener.wait_closed()


def test_an_episode_that_ends_in_the_frame_in_which_it_began_is_not_awaited() -> None:
    kind = type("Kind", (AskingNim,), {"closed": list[int]()})
    line = sdk.Line(sdk.Server(kind, name="sim-1"))
    line.receive(HELLO)
    starts = [{"kind": "start", "episode": number, "seed": 7} for number in (1, 2)]
    line.receive(json.dumps([*starts, {"kind": "end", "episode": 1}]))
    assert line.awaited == [2]


async def test_an_episode_that_waits_holds_up_no_other_one() -> None:
    async with playing() as table:
        await table.say(kind="start", episode=1, seed=7)
        await table.tell(15)
        first = await table.hear()
        assert (first["episode"], first["step"], first["seat"]) == (1, 0, 0)
        await table.say(kind="act", episode=1, step=0, action=2)
        await table.say(kind="start", episode=2, seed=7)
        assert (await table.hear())["episode"] == 2
        await table.tell(12)
        later = await table.hear()
        assert (later["episode"], later["step"], later["seat"]) == (1, 1, 1)


async def test_what_it_waits_for_in_vain_is_a_fault_and_frees_its_slot() -> None:
    async with playing() as table:
        await table.tell(15)
        await table.tell(13)
        await table.say(kind="start", episode=1, seed=7)
        await table.hear()
        await table.say(kind="act", episode=1, step=0, action=1)
        fault = await table.hear()
        assert (fault["kind"], fault["reason"], fault["detail"]) == (
            "error",
            "fault",
            "nobody knows",
        )
        assert table.server.n_running == 0
        assert table.kind.closed == [13]


async def test_while_it_waits_nothing_is_legal() -> None:
    async with playing() as table:
        await table.say(kind="start", episode=1, seed=7)
        await table.say(kind="act", episode=1, step=0, action=0)
        assert (await table.hear())["reason"] == "illegal"


async def test_who_gives_it_up_waits_no_longer() -> None:
    async with playing() as table:
        await table.say(kind="start", episode=1, seed=7)
        await table.say(kind="end", episode=1)
        await table.tell(15)
        await table.say(kind="start", episode=2, seed=7)
        assert (await table.hear())["episode"] == 2
        assert table.server.n_running == 1
        assert table.kind.closed == [15]


async def test_a_line_that_breaks_ends_what_waits() -> None:
    async with playing() as table:
        await table.say(kind="start", episode=1, seed=7)
        await table.say(kind="start", episode=1, seed=7)  # answered, so that the first is begun
        await table.hear()
        await table.socket.close()
        await wait_until(lambda: table.server.n_running == 0)
        assert table.kind.closed == [15]


async def wait_until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_it_begins_without_actions_and_is_no_child_process(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with playing() as table:
        await table.say(kind="start", episode=1, seed=7, actions=[1])
        refusal = await table.hear()
        assert (refusal["reason"], table.server.n_running) == ("bad_message", 0)
        with pytest.raises(SystemExit):
            sdk.serve_pipes(table.kind)
    assert "cannot be a child process" in capfd.readouterr().err
