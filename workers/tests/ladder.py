"""A small environment of OpenEnv inside the test, with every fault that a server can have."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Any

from websockets.sync.server import ServerConnection, serve

from arena.games.openenv.game import OpenEnvGame
from arena.games.openenv.numbers import Log

N_STEPS = 3
GAME = OpenEnvGame(
    "ladder",
    title="A ladder",
    action={"up": (False, True), "by": (1, 2, 5)},
    observation={"height": Log(2), "mood": ("low", "high")},
    max_steps=N_STEPS,
    score="metadata.score",
    reset={"start": 0},
    seed_bits=63,
    is_replayable=True,
)
STATE_GAME = OpenEnvGame(
    "ladder",
    title="A ladder whose state has the score",
    action=GAME.layout.fields,
    observation={"height": Log(2)},
    max_steps=N_STEPS,
    score="state.height",
    reset={"start": 0},
)
HANG_UP, SILENCE, TWICE = "hang up", "silence", "twice"


class Ladder:
    """An episode: up and down from where it starts; the seed is part of its score."""

    def __init__(self) -> None:
        self.seed, self.height, self.n_steps = 0, 0, 0

    def answer(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        if kind == "state":
            return {"type": "state", "data": {"height": self.height}}
        return self.reset(data) if kind == "reset" else self.step(data)

    def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        self.seed, self.height, self.n_steps = data["seed"], data["start"], 0
        return self._show(None)

    def step(self, data: Mapping[str, Any]) -> dict[str, Any]:
        if type(data["up"]) is not bool:
            return refuse("VALIDATION_ERROR", "Invalid message", errors=[{"loc": ["up"]}])
        self.n_steps += 1
        by = data["by"] if data["up"] else -data["by"]
        self.height += by
        return self._show(by / 10)

    def _show(self, reward: float | None) -> dict[str, Any]:
        is_over = self.n_steps == N_STEPS
        mood = "high" if self.height > 0 else "low"
        metadata = {"score": self.height + self.seed / 7} if is_over else {}
        fields = {"height": self.height, "mood": mood, "metadata": metadata}
        return {
            "type": "observation",
            "data": {"observation": fields, "reward": reward, "done": is_over},
        }


def refuse(code: str, message: str, **more: Any) -> dict[str, Any]:
    """Return an error as a server says it."""
    return {"type": "error", "data": {"message": message, "code": code, **more}}


class LadderServer:
    """Serves ladders; `spoilt`: by type of message, what is said instead of the answer."""

    def __init__(self, *, capacity: int = 64) -> None:
        self.capacity, self.n_open, self.n_most, self.n_begun = capacity, 0, 0, 0
        self.spoilt: dict[str, str | bytes] = {}
        self.address = ""
        self.heard: list[str] = []
        self._lock, self._over, self.both_came = Lock(), Event(), Event()

    @contextmanager
    def running(self) -> Iterator["LadderServer"]:
        with serve(self._talk, "127.0.0.1", 0, compression=None) as server:
            thread = Thread(target=server.serve_forever)
            thread.start()
            self.address = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/ws"
            try:
                yield self
            finally:
                self._over.set()
                server.shutdown()
                thread.join()

    def _talk(self, connection: ServerConnection) -> None:
        with self._lock:
            has_room = self.n_open < self.capacity
            self.n_open += has_room
            self.n_begun += has_room
            self.n_most = max(self.n_most, self.n_open)
        if not has_room:
            connection.send(json.dumps(refuse("CAPACITY_REACHED", "Server at capacity: 1/1")))
            return
        try:
            self._serve(connection, Ladder())
        finally:
            with self._lock:
                self.n_open -= 1

    def _serve(self, connection: ServerConnection, ladder: Ladder) -> None:
        for text in connection:
            message = json.loads(text)
            kind = message["type"]
            self.heard.append(kind)
            if kind == "close":
                return
            match self.spoilt.get(kind):
                case "hang up":
                    return
                case "silence":
                    self._over.wait(30)
                    return
                case None:
                    connection.send(json.dumps(ladder.answer(kind, message.get("data", {}))))
                case "twice":
                    answer = json.dumps(ladder.answer(kind, message.get("data", {})))
                    connection.send(answer)
                    connection.send(answer)
                    # Its second pong comes after it has put away all before the first one.
                    if connection.ping().wait(5) and connection.ping().wait(5):
                        self.both_came.set()
                case said:
                    connection.send(said)
