"""Replays as files: PGN and SGF for the games that have such a form, JSON for every game.

Written here and not by a library: the engine already names moves as PGN wants them, python-chess is
under the GPL, and sgfmill writes Go alone.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final, NamedTuple

from arena.games import registry as games
from arena.move_notes import NOTHING, MoveNote
from pages.replays import Move, Replay

PGN_WIDTH: Final = 79
_COLUMNS: Final = "ABCDEFGHJ"  # of a go board: without I
_SIZE: Final = 9
# A space that no line is broken at: programs that look for the time expect it whole.
_UNBROKEN: Final = "\0"
_PGN_SPECIAL, _SGF_SPECIAL = '"\\', "]\\"


class Heading(NamedTuple):
    """What a file says of the match besides its moves; agents and ranks by seat."""

    match: int
    game_seed: int
    event: str
    round: int
    date: str
    agents: Sequence[str]
    ranks: Sequence[int]
    reason: str


Notes = Mapping[int, MoveNote]
"""What is known of each move of a replay beside its action, by its number."""


def write_pgn(replay: Replay, heading: Heading, notes: Notes) -> str:
    """Return a game of chess in Portable Game Notation; seat 1 is white.

    The time of a move follows it as `[%emt 0:00:01.250]`, as chess programs read it.
    """
    black, white = heading.ranks
    result = "1/2-1/2" if white == black else "1-0" if white < black else "0-1"
    tags = {
        "Event": heading.event,
        "Site": "evalsite",
        "Date": heading.date.replace("-", "."),
        "Round": str(heading.round),
        "White": heading.agents[1],
        "Black": heading.agents[0],
        "Result": result,
        "Termination": heading.reason or "normal",
    }
    lines = [f'[{name} "{_escape_special(text, _PGN_SPECIAL)}"]' for name, text in tags.items()]
    words = []
    for n, move in enumerate((*replay.opening, *replay.moves)):
        words += [f"{n // 2 + 1}."] if n % 2 == 0 else []
        words.append(move.name)
        took_s = notes.get(move.number, NOTHING).took_s
        words += [] if took_s is None else [f"{{[%emt{_UNBROKEN}{format_clock(took_s)}]}}"]
        if n + 1 == len(replay.opening):
            words.append("{the opening, drawn from the game seed}")
    text = "\n".join((*lines, "", *wrap(" ".join((*words, result)), PGN_WIDTH), ""))
    return text.replace(_UNBROKEN, " ")


def format_clock(seconds: float) -> str:
    """Return hours, minutes and seconds with thousandths."""
    # Rounded first: 59.9996 seconds are a minute.
    minutes, rest_ms = divmod(round(1000 * seconds), 60_000)
    return f"{minutes // 60}:{minutes % 60:02}:{rest_ms / 1000:06.3f}"


def write_sgf(replay: Replay, heading: Heading, notes: Notes) -> str:
    """Return a game of go, othello or hex in Smart Game Format; seat 0 is black, or red."""
    del notes  # the format has the time that is left, not the time that was taken
    number, size, point = _SGF[replay.game]
    black, white = heading.ranks
    properties = {
        "FF": "4",
        "CA": "UTF-8",
        "AP": "evalsite",
        "GM": number,
        "SZ": size or str(replay.parameters["board_size"]),
        "EV": heading.event,
        "RO": str(heading.round),
        "DT": heading.date,
        "PB": heading.agents[0],
        "PW": heading.agents[1],
        "RE": "0" if black == white else f"{'B' if black < white else 'W'}+",
    }
    if replay.game == "go_9x9":
        properties["KM"] = "7.5"
    root = "".join(
        f"{name}[{_escape_special(text, _SGF_SPECIAL)}]" for name, text in properties.items()
    )
    moves = (*replay.opening, *replay.moves)
    nodes = "".join(f";{'BW'[move.seat]}[{point(move)}]" for move in moves)
    return f"(;{root}\n{nodes})\n"


def write_json(replay: Replay, heading: Heading, notes: Notes) -> str:
    """Return any match: who played, every move with its name, and how it ended.

    took_s: seconds, to within 5 %; value: what the seat expected of its return; null: not known.
    """
    document: dict[str, Any] = {
        "game": replay.game,
        "parameters": dict(replay.parameters),
        **heading._asdict(),
        "opening": [_list_move(move) for move in replay.opening],
        "moves": [
            {**_list_move(move), **_list_note(notes.get(move.number, NOTHING))}
            for move in replay.moves
        ],
        "returns": list(replay.returns),
        "problem": replay.problem,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _list_move(move: Move) -> dict[str, Any]:
    return {"seat": move.seat, "action": move.action, "name": move.name}


def _list_note(note: MoveNote) -> dict[str, Any]:
    return {
        "took_s": note.took_s and float(f"{note.took_s:.3g}"),
        "value": None if note.value is None else round(note.value, 4),
    }


def _escape_special(text: str, special: str) -> str:
    """Return the text with a backslash before what would end it, on one line."""
    safe = "".join(f"\\{letter}" if letter in special else letter for letter in text)
    return " ".join(safe.split())


def _go_point(move: Move) -> str:
    if move.name == "pass":
        return ""
    return chr(97 + _COLUMNS.index(move.name[0])) + chr(97 + _SIZE - int(move.name[1:]))


def _name_othello_point(move: Move) -> str:
    return "" if move.name == "pass" else move.name[0] + chr(96 + int(move.name[1:]))


_SGF: Final[dict[str, tuple[str, str, Callable[[Move], str]]]] = {
    "go_9x9": ("1", "9", _go_point),
    "othello": ("2", "8", _name_othello_point),
    "hex": ("11", "", lambda move: move.name),
}
WRITERS: Final[dict[str, tuple[Callable[[Replay, Heading, Notes], str], str]]] = {
    "pgn": (write_pgn, "application/x-chess-pgn"),
    "sgf": (write_sgf, "application/x-go-sgf"),
    "json": (write_json, "application/json"),
}


def write_match(form: str, replay: Replay, heading: Heading, notes: Notes) -> tuple[str, str]:
    """Return a match as a file of this form, and its media type. Raises ArenaError."""
    if form in WRITERS:
        write, kind = WRITERS[form]
        return write(replay, heading, notes), kind
    state: Any = replay.last_state
    return state.write_file(form, heading.agents), "text/plain"


def list_forms(game: str) -> list[str]:
    """Return the forms in which a match of the game can be had, the usual one first."""
    if game == "chess":
        return ["pgn", "json"]
    if game in _SGF:
        return ["sgf", "json"]
    own = getattr(games.get(game), "file_forms", ()) if game in games.names() else ()
    return [*own, "json"]
