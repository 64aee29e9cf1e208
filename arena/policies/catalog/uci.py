"""Chess engines that speak UCI, such as Stockfish.

The position goes over as its start and the moves since, so that the engine sees repetitions; a new
match is said to be one, so that nothing that was searched before helps in it.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any

import pyspiel

from arena.errors import (
    IllegalActionError,
    InvalidOutputError,
    ParameterError,
    UnusableProgramError,
)
from arena.games.base import Game, GameSpec, State
from arena.games.openspiel import native_of
from arena.parameters import Parameter
from arena.policies.base import Row, accepted
from arena.policies.line_policy import (
    HELLO_S,
    RELEASE,
    LineKind,
    LinePolicy,
    declare_program,
    read_program,
)

_UNSET = -1
# Lines before an engine is ready: they have some hundred options at most.
_MAX_GREETING = 2_000
_NODES = Parameter("nodes", 10_000, "positions to search per move; 0: no limit", 0, 10**9)
_DEPTH = Parameter("depth", 0, "plies to look ahead; 0: no limit", 0, 200)
_MOVETIME = Parameter("movetime_ms", 0, "milliseconds per move; 0: no limit", 0, 3_600_000)
_SKILL = Parameter("skill", _UNSET, "of its option Skill Level; -1: as it is", _UNSET, 20)
_HASH = Parameter("hash_mb", 16, "of its option Hash", 1, 4_096)
_OPTIONS = Parameter("options", "", "more of its options, as in UCI_Elo:1500;Contempt:0")
_GO = {"nodes": _NODES, "depth": _DEPTH, "movetime": _MOVETIME}
_SCORE = re.compile(r" score (cp|mate) (-?[0-9]{1,9})\b")
# A pawn and a half is worth two thirds of a point by this curve, as ratings have it.
_PAWNS = 400


class UciPolicy(LinePolicy):
    """Has an engine search each position."""

    def __init__(
        self, program: str, *, release: str, go: str, options: Mapping[str, str | int]
    ) -> None:
        """go: the limits of a search, as the engine is told; options: by their names."""
        super().__init__(program, release=release)
        self._go, self._options = go, options
        # The match of its last decision: a new one is announced.
        self._last: tuple[State, int] | None = None

    def greet(self) -> str:
        """Set the options; return the engine's name. Raises UnusableProgramError without them."""
        self._last, offered, release = None, set[str](), ""
        self.line.send("uci")
        for line in self._read_until("uciok", within_s=HELLO_S):
            if line.startswith("id name "):
                release = line.removeprefix("id name ").strip()
            elif line.startswith("option name "):
                offered.add(line.removeprefix("option name ").split(" type ")[0].lower())
        for name, value in self._options.items():
            if name.lower() not in offered:
                raise UnusableProgramError(
                    f"program {self.program!r} ({release:.80}) has no option {name!r:.80}"
                )
            self.line.send(f"setoption name {name} value {value}")
        self._await_ready(within_s=HELLO_S)
        return release

    def ask(self, row: Row) -> tuple[int, float | None]:
        """Return the best move. Raises IllegalActionError for one that is none here."""
        state = row.state
        if self._last is None or self._last[0] is not state or self._last[1] != row.seat:
            self.line.send("ucinewgame")
            self._await_ready()
            self._last = (state, row.seat)
        native: Any = native_of(state)
        moves = " ".join(move.to_lan() for move in native.moves_history())
        self.line.send(f"position fen {native.start_fen()}" + (f" moves {moves}" if moves else ""))
        self.line.send(f"go {self._go}")
        value: float | None = None
        line = ""
        for line in self._read_until("bestmove"):
            if score := _SCORE.search(line):
                value = _read_value(score[1], int(score[2]))
        best = (line.split()[1:] or [""])[0]
        actions = {
            pyspiel.chess.action_to_move(action, native.board()).to_lan(): action
            for action in state.legal_actions()
        }
        if best not in actions:
            raise IllegalActionError(f"bestmove {best!r:.40} is not legal here")
        return actions[best], value

    def _await_ready(self, *, within_s: float | None = None) -> None:
        self.line.send("isready")
        for _ in self._read_until("readyok", within_s=within_s):
            pass

    def _read_until(self, last: str, *, within_s: float | None = None) -> Iterator[str]:
        """Yield what the engine says, up to the line that begins with this word."""
        # While it starts nobody's time runs: one that only chatters must end by itself.
        for _ in range(_MAX_GREETING) if within_s is not None else repeat(None):
            line = self.line.receive(within_s=within_s)
            yield line
            if line.split(maxsplit=1)[:1] == [last]:
                return
        raise InvalidOutputError(f"no {last} within {_MAX_GREETING:,} lines")


class UciKind(LineKind):
    """Plays chess with an engine that the play nodes list."""

    id = "uci"
    title = "UCI engine"
    version = 1
    parameters = (
        declare_program("stockfish"), _SKILL, _NODES, _DEPTH, _MOVETIME, _HASH, _OPTIONS, RELEASE,
    )  # fmt: skip

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why the game is none for such engines, or None for chess."""
        return None if spec.id == "chess" else "UCI is a protocol of chess engines"

    def build(self, game: Game, parameters: Mapping[str, object]) -> UciPolicy:
        """Return the policy. Raises ParameterError or UnsupportedGameError."""
        values = accepted(self, game, parameters)
        go = " ".join(
            f"{word} {values[parameter.name]}"
            for word, parameter in _GO.items()
            if values[parameter.name]
        )
        if not go:
            raise ParameterError(self.id, _NODES.name, "must be above 0, or depth or movetime_ms")
        options: dict[str, str | int] = {"Hash": int(values[_HASH.name])}
        if values[_SKILL.name] != _UNSET:
            options["Skill Level"] = int(values[_SKILL.name])
        options |= _read_options(str(values[_OPTIONS.name]))
        program, release = read_program(self.id, values), str(values[RELEASE.name])
        return UciPolicy(program, release=release, go=go, options=options)


def _read_options(text: str) -> dict[str, str]:
    """Return options by name. Raises ParameterError for what is no name and value."""
    options = {}
    for piece in filter(None, map(str.strip, text.split(";"))):
        name, colon, value = (part.strip() for part in piece.partition(":"))
        if not (name and colon and value and piece.isprintable()):
            raise ParameterError("uci", _OPTIONS.name, f"has {piece!r:.80}: name:value is needed")
        options[name] = value
    return options


def _read_value(unit: str, score: int) -> float:
    """Return what a score says of the return of the seat to move, -1..1."""
    if unit == "mate":
        return 1.0 if score > 0 else -1.0
    return 2 / (1 + 10 ** (-max(-9_999, min(score, 9_999)) / _PAWNS)) - 1


POLICY = UciKind()
