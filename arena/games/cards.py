"""A table of cards as it is drawn: the hand of each seat, what it did, and what all see."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from arena.games.pictures import Picture, Rect, Shape, Text

HIDDEN: Final = ""
"""A card whose face is not seen."""
_WIDTH, _HEIGHT, _GAP, _COLUMN = 15.0, 21.0, 2.0, 44.0
_TOP, _LINE = 8.0, 6.5
_IN_A_ROW: Final = 3
_RED: Final = ("♥", "♦")


class Hand(NamedTuple):
    """What lies in front of a seat: cards by their faces, and lines of words below them.

    tint: the colour of the seat, empty for who is none.
    """

    title: str
    cards: Sequence[str]
    notes: Sequence[str] = ()
    is_to_move: bool = False
    tint: str = ""


def draw_table(
    hands: Sequence[Hand], shared: Sequence[str] = (), lines: Sequence[str] = ()
) -> Picture:
    """Return the hands side by side, of four two and two; shared cards above, words below."""
    n_columns = len(hands) if len(hands) <= _IN_A_ROW else 2
    most = max(len(hand.cards) for hand in hands)
    column_width = max(_COLUMN, most * (_WIDTH + _GAP) + 2 * _GAP)
    width = column_width * n_columns
    hands_top = _TOP + (_HEIGHT + 8 if shared else 0)
    hand_height = _HEIGHT + 14 + max(len(hand.notes) for hand in hands) * _LINE
    lines_top = hands_top + -(-len(hands) // n_columns) * hand_height + 3
    height = lines_top + len(lines) * _LINE + 2
    shapes: list[Shape] = [Rect(0, 0, width, height, "felt", 3)]
    shapes += _draw_cards(shared, width / 2, _TOP)
    for n, hand in enumerate(hands):
        row, column = divmod(n, n_columns)
        left, top = column * column_width, hands_top + row * hand_height
        shapes += _draw_hand(hand, left, top, column_width, hand_height)
    shapes += [Text(width / 2, lines_top + at * _LINE, line, 4.6) for at, line in enumerate(lines)]
    return Picture(width, height, tuple(shapes))


def _draw_hand(hand: Hand, left: float, top: float, width: float, height: float) -> list[Shape]:
    middle = left + width / 2
    shapes: list[Shape] = []
    if hand.is_to_move:
        shapes.append(Rect(left + 2, top - 3, width - 4, height - 2, "new", 2))
    if hand.tint:
        shapes.append(Rect(left + 2, top - 3, width - 4, 1.6, hand.tint))
    shapes.append(Text(middle, top + 2, hand.title, 5))
    shapes += _draw_cards(hand.cards, middle, top + 6)
    notes_top = top + _HEIGHT + 11
    notes = enumerate(hand.notes)
    return [*shapes, *(Text(middle, notes_top + at * _LINE, note, 4.6) for at, note in notes)]


def _draw_cards(cards: Sequence[str], middle: float, top: float) -> list[Shape]:
    shapes: list[Shape] = []
    left = middle - (len(cards) * (_WIDTH + _GAP) - _GAP) / 2
    for n, face in enumerate(cards):
        x = left + n * (_WIDTH + _GAP)
        shapes.append(Rect(x, top, _WIDTH, _HEIGHT, "card" if face else "back", 1.5))
        if face:
            tint = "heart" if face.endswith(_RED) else "black"
            size = 9 if len(face) == 1 else 7
            shapes.append(Text(x + _WIDTH / 2, top + _HEIGHT / 2, face, size, tint))
    return shapes
