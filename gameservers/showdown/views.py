"""The process of views.js: what a seat sees and may choose, by the lines that it has heard."""

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from base64 import b64decode
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from gameservers.showdown.errors import BattleError, SetUpError

SCRIPT: Final = Path(__file__).with_name("views.js")
# A line holds one position.
MAX_LINE: Final = 4 << 20
START_S: Final = 60.0
ANSWER_S: Final = 20.0


class Look(NamedTuple):
    """A position as the seat that is asked sees it; texts: how Showdown is told each action."""

    legal: list[int]
    texts: list[str]
    names: list[str]
    turn: int
    observation: bytes


class Views:
    """Keeps the views of all battles in one process of Node.js."""

    def __init__(self, process: Process, size: int) -> None:
        """size: the numbers of an observation. Begin with `open_views`."""
        self.size = size
        self._process = process
        self._numbers, self._keys = count(1), count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading = asyncio.create_task(self._read_answers())

    def new_key(self) -> int:
        """Return the key of a view that nothing was told yet."""
        return next(self._keys)

    async def look(self, key: int, seat: int, lines: Sequence[str], request: Any) -> Look:
        """Return what a seat sees after further lines of its battle, asked this.

        Raises BattleError.
        """
        number = next(self._numbers)
        self._asked[number] = answer = asyncio.get_running_loop().create_future()
        question = {"number": number, "view": key, "seat": seat, "lines": lines, "request": request}
        self._send_message({"kind": "look", **question})
        try:
            async with asyncio.timeout(ANSWER_S):
                reply = await answer
        except TimeoutError as error:
            raise BattleError(f"views.js has not answered within {ANSWER_S:g} s") from error
        finally:
            self._asked.pop(number, None)
        if "error" in reply:
            raise BattleError(f"views.js does not understand the battle: {reply['error']}")
        observation = b64decode(reply["observation"])
        return Look(reply["legal"], reply["texts"], reply["names"], reply["turn"], observation)

    def end(self, key: int) -> None:
        """Forget a view."""
        self._send_message({"kind": "end", "view": key})

    async def close(self) -> None:
        """End the process."""
        self._reading.cancel()
        if self._process.returncode is None:
            self._process.kill()
        # One that was not waited for complains when the loop is gone.
        await self._process.wait()

    def _send_message(self, message: dict[str, Any]) -> None:
        if self._process.returncode is not None:
            raise BattleError("views.js has ended: start this game server again")
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read_answers(self) -> None:
        assert self._process.stdout
        while line := await self._process.stdout.readline():
            reply = json.loads(line)
            if (answer := self._asked.get(reply["number"])) and not answer.done():
                answer.set_result(reply)
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(BattleError("views.js has ended"))


async def open_views(node: str, battle_format: str, version: str) -> Views:
    """Start the process. Raises SetUpError saying what is missing, in the process's own words."""
    command = (node, str(SCRIPT), battle_format, version)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MAX_LINE
    )
    assert process.stdout
    assert process.stderr
    try:
        async with asyncio.timeout(START_S):
            hello = await process.stdout.readline()
    except TimeoutError as error:
        process.kill()
        raise SetUpError(f"views.js has said nothing for {START_S:g} s") from error
    if not hello:
        error_lines = (await process.stderr.read()).decode(errors="replace").strip().splitlines()
        raise SetUpError(
            error_lines[-1][:300] if error_lines else "views.js has ended without a word"
        )
    return Views(process, json.loads(hello)["size"])
