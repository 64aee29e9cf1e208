"""Which columns of a file hold what, and how a result is spelled in them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from matches.errors import BadInputError

FIRST_WINS, DRAW, SECOND_WINS = 0, 1, 2
RANKS: Final = ("0,1", "0,0", "1,0")
"""Of a result, as an outcome has them."""
CSV, PARQUET, PGN = FORMS = ("csv", "parquet", "pgn")

# By part of a row: names of columns that need not be mapped, in the order of preference.
_OFTEN: Final[Mapping[str, Sequence[str]]] = {
    "first": ("first", "white", "player1", "player_1", "agent1", "agent_a", "player_a", "a"),
    "second": ("second", "black", "player2", "player_2", "agent2", "agent_b", "player_b", "b"),
    "result": ("result", "score", "outcome"),
    "key": ("key",),
}
PARTS: Final = tuple(_OFTEN)
_SPELLINGS: Final = {
    FIRST_WINS: ("1-0", "1", "1.0", "win", "won", "w"),
    DRAW: ("1/2-1/2", "1/2", "0.5", ".5", "0.5-0.5", "½-½", "½", "draw", "drawn", "d"),
    SECOND_WINS: ("0-1", "0", "0.0", "loss", "lost", "l"),
}
RESULTS: Final = {text: result for result, texts in _SPELLINGS.items() for text in texts}
RESULT_HINT: Final = "must be 1-0, 0-1 or 1/2-1/2, or the points of the first: 1, 0 or 0.5"


class Columns(NamedTuple):
    """The names of the columns that a file is read by; no key: its rows are known by place."""

    first: str
    second: str
    result: str
    key: str = ""


def choose_columns(column_names: Sequence[str], mapped: Mapping[str, str]) -> Columns:
    """Return the columns of a file that hold the parts of a row.

    mapped: what the caller says, by part; what is not mapped goes by its usual names. Raises
    BadInputError naming the part.
    """
    for part in mapped:
        if part not in PARTS:
            names = ", ".join(PARTS)
            raise BadInputError("columns", f"{part!r} is no part of a row: choose of {names}")
    twice = min((name for name, times in Counter(column_names).items() if times > 1), default=None)
    if twice is not None:
        raise BadInputError("file", f"line 1, column {twice!r}: it is there twice")
    return Columns(*(_choose_column(part, column_names, mapped.get(part, "")) for part in PARTS))


def _choose_column(part: str, column_names: Sequence[str], mapped: str) -> str:
    if mapped:
        if mapped not in column_names:
            columns_text = ", ".join(map(repr, column_names[:20]))
            raise BadInputError("columns", f"{part}={mapped}: the columns are {columns_text}")
        return mapped
    plain = {name.strip().lower().replace(" ", "_"): name for name in column_names}
    for name in _OFTEN[part]:
        if name in plain:
            return plain[name]
    if part == "key":
        return ""
    usual_names = " or ".join(map(repr, _OFTEN[part][:3]))
    raise BadInputError(
        "columns",
        f"line 1: no column {usual_names} holds the {part}: say which one does, as "
        f"--column {part}=NAME of evalsite or as {part} of `columns`; "
        f"the columns are {', '.join(map(repr, column_names[:20]))}",
    )


def read_result(text: str) -> int | None:
    """Return the result that a text stands for; None where it does not count."""
    result = RESULTS.get(text)
    if result is None:
        result = RESULTS.get(text.strip().lower())
    return result
