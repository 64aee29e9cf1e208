"""Tiny bridge: eight cards, two partnerships (seats 0 and 2 against 1 and 3), the bidding only."""

from typing import Final

from arena.games.cards import HIDDEN, Hand, draw_table
from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import SEAT_TINTS, Picture

PLACES: Final = ("west", "north", "east", "south")
SUITS: Final = {"S": "♠", "H": "♥"}
NAMES: Final = {
    **{"S": "spades", "H": "hearts"},
    **{"A": "ace", "K": "king", "Q": "queen", "J": "jack"},
}
CALLS: Final = (
    ("Pass", "pass"),
    ("Dbl", "double"),
    ("RDbl", "redouble"),
    *((f"{n}{letter}", f"{n} {word}") for n in "12" for letter, word in (("H", "♥"), ("S", "♠"))),
    *((f"{n}NT", f"{n} no trump") for n in "12"),
)
SPOKEN: Final = dict(CALLS)
N_DEALS: Final = 4


def draw_position(native: NativeState, seat: int | None) -> Picture:
    """Return the four hands, those that the seat sees face up, and what each has called."""
    mover = -1 if native.is_terminal() else native.current_player()
    calls = list_calls(native)
    hands = [
        Hand(
            f"{PLACES[n]} (seat {n})",
            [card[1] + SUITS[card[0]] if seat in (None, n) else HIDDEN for card in cards],
            [call for at, call in enumerate(calls) if at % N_DEALS == n] or [""],
            is_to_move=n == mover,
            tint=SEAT_TINTS[n],
        )
        for n, cards in enumerate(read_hands(native))
    ]
    return draw_table(hands)


def describe_position(native: NativeState, seat: int | None) -> str:
    """Return the hands that the seat sees and the calls in their order."""
    cards = [
        f"{PLACES[n].capitalize()} (seat {n}) holds the {' and the '.join(map(_name_card, cards))}."
        for n, cards in enumerate(read_hands(native))
        if seat in (None, n)
    ]
    calls = list_calls(native)
    return " ".join((*cards, f"Calls: {', '.join(calls)}." if calls else "Nobody has called yet."))


def read_hands(native: NativeState) -> list[list[str]]:
    """Return the two cards of each seat, as the engine spells them: suit and rank."""
    hands = [text.partition(":")[2] for text in str(native).split()[:N_DEALS]]
    return [[hand[:2], hand[2:]] for hand in hands]


def list_calls(native: NativeState) -> list[str]:
    """Return the calls so far, in words."""
    spelled = [
        native.action_to_string(n % N_DEALS, action)
        for n, action in enumerate(native.history()[N_DEALS:])
    ]
    return [SPOKEN[call] for call in spelled]


def name_action(native: NativeState, seat: int, action: int) -> str:
    """Return the call in words."""
    return SPOKEN[native.action_to_string(seat, action)]


def _name_card(card: str) -> str:
    return f"{NAMES[card[1]]} of {NAMES[card[0]]}"


GAME = OpenSpielGame(
    "tiny_bridge",
    engine_name="tiny_bridge_4p",
    title="Tiny bridge in pairs",
    opening_plies=0,
    teams=(0, 1, 0, 1),
    look=Look(draw_position, describe_position, name_action),
    observation_parts=parts(
        ("the hand: HJ HQ HK HA SJ SQ SK SA", 8),
        ("who bid last: oneself, left, partner, right", 4),
        ("who doubled it, likewise", 4),
        ("who redoubled it, likewise", 4),
        ("who dealt, likewise", 4),
        ("the last bid: 1H 1S 1N 2H 2S 2N", 6),
    ),
    observation_note="As the seat sees it.",
)
