"""A battle drawn: both teams with names, types, HP bars, status and moves."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from arena.games.pictures import SEAT_TINTS, Line, Picture, Rect, Shape, Text
from arena.games.showdown.layout import N_MOVES, N_POKEMON
from arena.games.showdown.words import name_boosts, name_effects

TYPE_TINTS: Final = {
    **{"Fire": "red", "Fighting": "red", "Dragon": "red", "Water": "blue", "Ice": "blue"},
    **{"Flying": "blue", "Electric": "yellow", "Ground": "yellow", "Rock": "wood"},
    **{"Grass": "green", "Bug": "green", "Psychic": "heart", "Ghost": "back", "Poison": "back"},
}
"""A mark beside the name of a type, which alone tells types apart."""
_WIDTH, _COLUMN, _GAP = 208.0, 100.0, 8.0
_TOP, _ACTIVE_TOP, _MOVES_TOP, _BENCH_TOP = 14.0, 27.0, 92.0, 167.0
_MOVE_HEIGHT, _CARD_WIDTH, _CARD_HEIGHT = 18.0, 49.0, 25.0
_HEIGHT = _BENCH_TOP + N_POKEMON / 2 * _CARD_HEIGHT + 1
_SMALL, _PLAIN, _LARGE = 6.8, 7.2, 9.0
# The width of a letter as a share of its height, of those that are common in names.
_LETTER = 0.54
_HALF, _LOW = 0.5, 0.2
"""Above the half a bar of HP is green, and red when there is little left."""


def draw_battle(view: Mapping[str, Any]) -> Picture:
    """Return the drawing of a view of show.js."""
    shapes: list[Shape] = [Text(_WIDTH / 2, 6, f"Turn {view['turn']}", _LARGE)]
    for seat, side in enumerate(view["sides"]):
        shapes += _draw_side(seat, side, seat * (_COLUMN + _GAP))
    return Picture(_WIDTH, _HEIGHT, tuple(shapes))


def _draw_side(seat: int, side: Mapping[str, Any], left: float) -> Iterator[Shape]:
    middle = left + _COLUMN / 2
    yield Rect(left, _TOP, _COLUMN, 2, SEAT_TINTS[seat])
    yield Text(middle, _TOP + 8, f"Seat {seat}: {side['left']} of {side['size']} left", _PLAIN)
    yield Rect(left, _ACTIVE_TOP, _COLUMN, _MOVES_TOP - _ACTIVE_TOP - 2, "paper", 2)
    active = [pokemon for pokemon in side["pokemon"] if pokemon["is_active"]]
    for pokemon in active:
        yield from _draw_active(pokemon, left, middle)
    if not active:  # who has fainted has left, and nobody has come for it yet
        yield Text(middle, _ACTIVE_TOP + 30, "nobody is out", _PLAIN, "muted")
    cards = [*side["pokemon"], *[None] * N_POKEMON][:N_POKEMON]
    for n, pokemon in enumerate(cards):
        x = left + n % 2 * (_CARD_WIDTH + 2)
        yield from _draw_card(pokemon, x, _BENCH_TOP + n // 2 * _CARD_HEIGHT, n < side["size"])


def _draw_active(pokemon: Mapping[str, Any], left: float, middle: float) -> Iterator[Shape]:
    yield _fit_text(
        middle, _ACTIVE_TOP + 8, f"{pokemon['name']}  L{pokemon['level']}", _LARGE, _COLUMN
    )
    yield from _draw_types(pokemon["types"], middle, _ACTIVE_TOP + 15)
    yield from _draw_hp(pokemon, left + 4, _ACTIVE_TOP + 29, _COLUMN - 8, 6)
    yield _fit_text(middle, _ACTIVE_TOP + 41, _tell_hp(pokemon), _PLAIN, _COLUMN)
    marks = (", ".join(name_boosts(pokemon["boosts"])), ", ".join(name_effects(pokemon["effects"])))
    for n, text in enumerate(text for text in marks if text):
        yield _fit_text(middle, _ACTIVE_TOP + 50 + 8 * n, text, _SMALL, _COLUMN)
    moves = [*pokemon["moves"], *[None] * N_MOVES][:N_MOVES]
    for n, move in enumerate(moves):
        yield from _draw_move(move, left, middle, _MOVES_TOP + n * _MOVE_HEIGHT)


def _draw_types(types: Sequence[str], middle: float, top: float) -> Iterator[Shape]:
    width, gap = 38.0, 3.0
    left = middle - (len(types) * (width + gap) - gap) / 2
    for n, name in enumerate(types):
        x = left + n * (width + gap)
        yield Rect(x, top, width, 10, "line", 3)
        yield Rect(x + 2, top + 2, 4, 6, TYPE_TINTS.get(name, "muted"), 1)
        yield Text(x + width / 2 + 2.5, top + 5.2, name, _SMALL)


def _draw_hp(
    pokemon: Mapping[str, Any], left: float, top: float, width: float, height: float
) -> Iterator[Shape]:
    yield Rect(left, top, width, height, "line", height / 2)
    share = pokemon["hp"]
    if share > 0:
        tint = "green" if share > _HALF else "yellow" if share > _LOW else "red"
        yield Rect(left, top, max(width * share, height / 2), height, tint, height / 2)


def _draw_move(
    move: Mapping[str, Any] | None, left: float, middle: float, top: float
) -> Iterator[Shape]:
    yield Rect(left, top, _COLUMN, _MOVE_HEIGHT - 2, "paper", 2)
    if move is None:
        yield Text(middle, top + 8, "move not seen yet", _SMALL, "muted")
        return
    yield Rect(left + 2, top + 2, 3, _MOVE_HEIGHT - 6, TYPE_TINTS.get(move["type"], "muted"), 1)
    spent = move.get("left") == 0
    yield _fit_text(
        middle, top + 5, move["name"], _PLAIN, _COLUMN - 12, "muted" if spent else "ink"
    )
    yield _fit_text(middle, top + 11.8, _tell_move(move), _SMALL, _COLUMN - 12, "muted")


def _tell_move(move: Mapping[str, Any]) -> str:
    points = f", {move['left']} of {move['most']}" if "left" in move else ""
    return f"{move['type']}{points}"


def _draw_card(
    pokemon: Mapping[str, Any] | None, left: float, top: float, is_there: bool
) -> Iterator[Shape]:
    middle, height = left + _CARD_WIDTH / 2, _CARD_HEIGHT - 2
    if pokemon is None:
        yield Rect(left, top, _CARD_WIDTH, height, "line", 2)
        text = "not seen yet" if is_there else "no Pokemon"
        yield Text(middle, top + height / 2, text, _SMALL, "muted")
        return
    is_out, has_fainted = pokemon["is_active"], pokemon["has_fainted"]
    yield Rect(left, top, _CARD_WIDTH, height, "new" if is_out else "paper", 2)
    tint = "muted" if has_fainted else "ink"
    yield _fit_text(middle, top + 5.5, pokemon["name"], _SMALL, _CARD_WIDTH, tint)
    if has_fainted:
        # Struck out below its name, which stays legible.
        yield Line(left + 5, top + 10.6, left + _CARD_WIDTH - 5, top + 10.6, "red", 1.2)
        yield Text(middle, top + 17, "fainted", _SMALL, "muted")
        return
    yield from _draw_hp(pokemon, left + 3, top + 9.5, _CARD_WIDTH - 6, 3)
    yield _fit_text(middle, top + 17.5, _tell_hp(pokemon), _SMALL, _CARD_WIDTH)


def _tell_hp(pokemon: Mapping[str, Any]) -> str:
    return " ".join(part for part in (pokemon["hp_text"], pokemon["status"].upper()) if part)


def _fit_text(x: float, y: float, text: str, size: float, width: float, tint: str = "ink") -> Text:
    """Return a text in letters as large as the width allows."""
    return Text(x, y, text, min(size, (width - 4) / (_LETTER * len(text))), tint)
