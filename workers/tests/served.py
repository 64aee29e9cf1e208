"""A game server inside the test: a transport that answers by the rules of a game, or lies."""

from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from arena.errors import IllegalActionError
from arena.games.base import OVER, Game, State
from arena.games.catalog import connect_four
from arena.games.line_messages import PROTOCOL, PlayerMessage
from arena.games.served import ServedGame, serve_rules
from workers.lines.game_line import GameLine
from workers.lines.transport import LineSilentError

GAME = serve_rules(connect_four.GAME, id="served_four", title="Connect Four elsewhere")
_players: msgspec.json.Decoder[list[PlayerMessage]] = msgspec.json.Decoder(list[PlayerMessage])
Lie = Callable[[dict[str, Any]], dict[str, Any] | None]


def tell_the_truth(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message as it is."""
    return message


class FakeServer:
    """Answers each frame at once; `lie` changes or swallows messages. `frames`: those received."""

    def __init__(self, rules: Game, *, lie: Lie = tell_the_truth, is_raw: bool = True) -> None:
        self._rules, self._lie, self._is_raw = rules, lie, is_raw
        self._episodes: dict[int, State] = {}
        self.frames: list[list[PlayerMessage]] = []
        self.answers: deque[bytes] = deque()
        self.raw: deque[bytes] = deque()
        self.is_closed = False

    def send(self, text: bytes) -> None:
        messages = _players.decode(text)
        self.frames.append(messages)
        raw = bytearray()
        answers = [self._answer(msgspec.to_builtins(message), raw) for message in messages]
        replies = [lied for answer in answers if answer and (lied := self._lie(answer))]
        if raw:
            replies.append({"kind": "bytes", "n": len(raw)})
            self.raw.append(bytes(raw))
        if replies:
            self.answers.append(msgspec.json.encode(replies))

    def receive(self, limit_s: float) -> bytes:
        if not self.answers:
            raise LineSilentError(f"nothing for {limit_s:g} s")
        return self.answers.popleft()

    def receive_bytes(self, n: int, limit_s: float) -> bytes:
        return self.raw.popleft()

    def close(self) -> None:
        self.is_closed = True

    def is_open(self) -> bool:
        return not self.is_closed

    @property
    def n_episodes(self) -> int:
        return len(self._episodes)

    def _answer(self, message: dict[str, Any], raw: bytearray) -> dict[str, Any] | None:
        match message["kind"]:
            case "hello":
                return self._hello(message["game"])
            case "end":
                self._episodes.pop(message["episode"])
                return None
            case "start":
                plies = message.get("opening_plies", 0)
                state = self._rules.start(message["seed"], opening_plies=plies)
                actions = message.get("actions", [])
            case _:
                state, actions = self._episodes[message["episode"]], [message["action"]]
        episode = message["episode"]
        self._episodes[episode] = state
        try:
            for action in actions:
                state.apply(action)
        except IllegalActionError as error:
            return {
                "kind": "error", "episode": episode, "reason": "illegal", "detail": str(error)
            }  # fmt: skip
        return self._tell_state(episode, state, raw)

    def _hello(self, game: str) -> dict[str, Any]:
        spec = self._rules.spec
        return {
            "kind": "hello", "protocol": PROTOCOL, "name": "sim", "game": game, "slots": 64,
            "rules_version": spec.rules_version, "n_seats": spec.n_seats,
            "n_actions": spec.n_actions, "observation_shape": list(spec.observation_shape),
            "observation_dtype": spec.observation_dtype,
        }  # fmt: skip

    def _tell_state(self, episode: int, state: State, raw: bytearray) -> dict[str, Any]:
        seat, step = state.to_move(), len(state.actions)
        message = {"kind": "state", "episode": episode, "step": step, "seat": seat}
        if seat == OVER:
            del self._episodes[episode]
            return message | {"returns": list(state.returns())}
        observation = np.asarray(state.observation(seat))
        if not self._is_raw:
            return message | {
                "legal": list(state.legal_actions()),
                "observation": observation.tolist(),
            }
        raw += observation.tobytes()
        return message | {"legal": list(state.legal_actions()), "at": len(raw) - observation.nbytes}


def open_line(
    server: FakeServer, game: ServedGame = GAME, *, clock: Callable[[], float] = lambda: 0.0
) -> GameLine:
    """Return a line to a server."""
    return GameLine(
        lambda: server,
        game.spec,
        server="sim",
        answer_s=1.0,
        show_waiting=nullcontext,
        clock=clock,
    )


def with_spec(game: ServedGame, **changed: Any) -> ServedGame:
    """Return the same game with another spec."""
    return ServedGame(replace(game.spec, **changed), rules=game.rules)
