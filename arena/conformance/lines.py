"""Somebody at the other end of a line, so that policies of lines can be checked."""

import json

import pyspiel


class FirstMove:
    """Answers messages and UCI alike, always with the first legal action."""

    def __init__(self) -> None:
        """Begin with nothing to say."""
        self.said: list[str] = []
        self.heard: list[str] = []
        self.n_opened = 0

    def open(self) -> None:
        """Forget what was to be said."""
        self.said = []
        self.n_opened += 1

    def send(self, text: str) -> None:
        """Hear a line, and know what to say to it."""
        self.said += _answer_message(text) if text.startswith("{") else self._answer_uci(text)
        self.heard.append(text)

    def receive(self, *, within_s: float | None = None) -> str:
        """Return the next line."""
        del within_s
        return self.said.pop(0)

    def close(self) -> None:
        """End nothing, as nothing was started."""

    def _answer_uci(self, text: str) -> list[str]:
        match text.split(maxsplit=1)[0]:
            case "uci":
                options = [f"option name {name} type spin" for name in ("Hash", "Skill Level")]
                return ["id name First 1", *options, "uciok"]
            case "isready":
                return ["readyok"]
            case "go":
                return [
                    "info depth 1 score cp 20 nodes 1",
                    f"bestmove {_find_move(self.heard[-1])}",
                ]
        return []


def _answer_message(text: str) -> list[str]:
    message = json.loads(text)
    if message["type"] == "hello":
        wants = ["observation", "description", "action_names"]
        return [json.dumps({"type": "hello", "name": "First", "version": "1", "wants": wants})]
    action = message["legal_actions"][0]
    return [json.dumps({"type": "action", "id": message["id"], "action": action, "value": 0.5})]


def _find_move(position: str) -> str:
    """Return the first legal move of a position as UCI has it."""
    start, _, moves = position.removeprefix("position fen ").partition(" moves ")
    state = pyspiel.load_game("chess").new_initial_state(start)
    for move in moves.split():
        state.apply_action(state.parse_move_to_action(move))
    move = pyspiel.chess.action_to_move(state.legal_actions()[0], state.board())
    return str(move.to_lan())
