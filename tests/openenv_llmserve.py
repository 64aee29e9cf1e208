"""LLMServe over OpenEnv's WebSocket without OpenEnv: `python -m tests.openenv_llmserve PORT SLOTS`.

What it says is what the server of environments/llmserve says on openenv-core 0.3.0; it needs
nothing but what the platform needs, so that the bridge is tested wherever the platform is.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from arena.games.llmserve.grading import Grader, reward
from arena.games.llmserve.settings import TIERS, Settings
from arena.games.llmserve.simulator import Server, Sight
from arena.games.llmserve.workload import TASKS

FIELDS = (
    "batch_cap", "kv_budget_fraction", "speculation_depth", "quantization_tier",
    "prefill_decode_split", "priority_routing",
)  # fmt: skip
SEEN = (*Sight._fields, "step_index", "task_id")


def make_schema() -> dict[str, Any]:
    """Return what GET /schema says."""
    fields: dict[str, Any] = {field: {} for field in FIELDS}
    return {
        "action": {"properties": fields, "additionalProperties": False},
        "observation": {"properties": {field: {} for field in SEEN}},
        "state": {"properties": {"score": {}}},
    }


class Environment:
    """One session: an episode once it is reset."""

    server: Server
    grader: Grader

    def answer(self, kind: str, data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        if kind == "state":
            over = self.server.is_over
            return "state", {"done": over, "score": self.grader.score() if over else None}
        return "observation", self._reset(data) if kind == "reset" else self._step(data)

    def _reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        self.server, self.grader = Server(TASKS[data["task_id"]], data["seed"]), Grader()
        return self._show(0.0)

    def _step(self, data: Mapping[str, Any]) -> dict[str, Any]:
        batch, kv, depth, tier, is_split, is_prioritised = (data[field] for field in FIELDS)
        settings = Settings(batch, kv, depth, TIERS.index(tier), is_split, is_prioritised)
        window = self.server.run_window(settings)
        self.grader.add(window)
        return self._show(reward(window))

    def _show(self, earned: float) -> dict[str, Any]:
        server = self.server
        observation = {**server.sight._asdict(), "step_index": server.n_windows}
        return {"observation": observation, "reward": earned, "done": server.is_over}


class Sessions:
    """As many at once as there are slots."""

    def __init__(self, slots: int) -> None:
        self._free = slots

    async def talk(self, socket: ServerConnection) -> None:
        if not self._free:
            full = {"message": "Server at capacity", "code": "CAPACITY_REACHED"}
            await socket.send(json.dumps({"type": "error", "data": full}))
            return
        self._free -= 1
        try:
            await self._play(socket)
        except ConnectionClosed:
            pass
        finally:
            self._free += 1

    async def _play(self, socket: ServerConnection) -> None:
        environment = Environment()
        async for text in socket:
            message = json.loads(text)
            if message["type"] == "close":
                return
            try:
                kind, data = environment.answer(message["type"], message.get("data", {}))
            except Exception as error:  # as OpenEnv does: the session goes on
                kind, data = "error", {"message": str(error), "code": "EXECUTION_ERROR"}
            await socket.send(json.dumps({"type": kind, "data": data}))


def show_schema(socket: ServerConnection, request: Request) -> Response | None:
    """Answer GET /schema; whatever else is asked is a WebSocket."""
    if request.path != "/schema":
        return None
    return socket.respond(HTTPStatus.OK, json.dumps(make_schema()))


async def main(port: int, slots: int) -> None:
    """Serve until it is killed."""
    talk = Sessions(slots).talk
    async with serve(talk, "127.0.0.1", port, process_request=show_schema, compression=None):
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
