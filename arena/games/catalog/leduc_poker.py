"""Leduc poker: six cards, two rounds of betting, one public card."""

from typing import Any, Final

from arena.games.cards import HIDDEN, Hand, draw_table
from arena.games.looks import Look
from arena.games.openspiel import OpenSpielGame
from arena.games.pictures import SEAT_TINTS, Picture

RANKS, SUITS = ("J", "Q", "K"), ("♠", "♥")
NAMES: Final = {"J": "jack", "Q": "queen", "K": "king", "♠": "spades", "♥": "hearts"}
STAKE: Final = 100
"""The chips that a seat begins with."""
WORDS: Final = ("fold", "call", "raise")
CALL, RAISE = 1, 2


def draw_position(native: Any, seat: int | None) -> Picture:
    """Return the table: the public card, each seat's card if it is seen, and its chips."""
    mover = -1 if native.is_terminal() else native.current_player()
    hands = [
        Hand(
            f"seat {n}",
            [name_face(card) if seat in (None, n) else HIDDEN],
            [_tell_stack(native, n)],
            is_to_move=n == mover,
            tint=SEAT_TINTS[n],
        )
        for n, card in enumerate(native.get_private_cards())
    ]
    shared = [name_face(native.public_card())] if native.public_card() >= 0 else [HIDDEN]
    return draw_table(hands, shared, [text for text in list_rounds(native) if text])


def describe_position(native: Any, seat: int | None) -> str:
    """Return who holds what, as far as the seat sees it, and what was bet."""
    sentences = [
        f"Seat {n} holds the {name_card(card)}."
        for n, card in enumerate(native.get_private_cards())
        if seat in (None, n)
    ]
    public = native.public_card()
    sentences.append(f"The public card is the {name_card(public)}." if public >= 0 else "")
    sentences += [f"{text.capitalize()}." for text in list_rounds(native) if text]
    sentences += [f"Seat {n}: {_tell_stack(native, n)}." for n in range(len(native.money()))]
    return " ".join(text for text in sentences if text)


def list_rounds(native: Any) -> list[str]:
    """Return what was said in each round of betting; empty where nothing was."""
    rounds = (native.round1(), native.round2())
    return [
        f"round {n}: {', '.join(_name_call(actions[: at + 1]) for at in range(len(actions)))}"
        if actions
        else ""
        for n, actions in enumerate(rounds, 1)
    ]


def _name_call(actions: list[int]) -> str:
    """Return the last action of a round in words: who calls before anybody raised checks."""
    return "check" if actions[-1] == CALL and RAISE not in actions else WORDS[actions[-1]]


def name_face(card: int) -> str:
    """Return a card as its corner shows it."""
    return RANKS[card // 2] + SUITS[card % 2]


def name_card(card: int) -> str:
    """Return a card in words."""
    return f"{NAMES[RANKS[card // 2]]} of {NAMES[SUITS[card % 2]]}"


def _tell_stack(native: Any, seat: int) -> str:
    change = native.money()[seat] - STAKE
    if native.is_terminal():
        return f"{'won' if change > 0 else 'lost'} {abs(change):.0f} chips" if change else "even"
    return f"{-change:.0f} in the pot"


def name_action(native: Any, seat: int, action: int) -> str:
    """Return fold, call or raise; a call that costs nothing is a check."""
    del seat
    actions = native.round1() if native.round() == 1 else native.round2()
    return _name_call([*actions, action])


GAME = OpenSpielGame(
    "leduc_poker",
    title="Leduc poker",
    opening_plies=0,
    look=Look(draw_position, describe_position, name_action),
)
