"""Kuhn poker: three cards, one round of betting."""

from arena.games.cards import HIDDEN, Hand, draw_table
from arena.games.looks import Look
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import SEAT_TINTS, Picture

FACES, NAMES = "JQKA", ("jack", "queen", "king", "ace")
PASS = 0


def draw_position(native: NativeState, seat: int | None) -> Picture:
    """Return the table: each seat's card if it is seen, its chips and what it did."""
    cards, paid, deeds = read_table(native)
    mover = -1 if native.is_terminal() else native.current_player()
    hands = [
        Hand(
            f"seat {n}",
            [FACES[card] if seat in (None, n) else HIDDEN],
            [_count_chips(paid[n]), ", ".join(deeds[n])],
            is_to_move=n == mover,
            tint=SEAT_TINTS[n],
        )
        for n, card in enumerate(cards)
    ]
    return draw_table(hands, lines=(f"pot: {_count_chips(sum(paid))}",))


def describe_position(native: NativeState, seat: int | None) -> str:
    """Return who holds what, as far as the seat sees it, and what each did."""
    cards, paid, deeds = read_table(native)
    holdings = [
        f"Seat {n} holds the {NAMES[card]}." for n, card in enumerate(cards) if seat in (None, n)
    ]
    deeds_told = [f"Seat {n}: {', '.join(words)}." for n, words in enumerate(deeds) if words]
    return " ".join((*holdings, *deeds_told, f"In the pot: {_count_chips(sum(paid))}."))


def read_table(native: NativeState) -> tuple[list[int], list[int], list[list[str]]]:
    """Return the card of each seat, the chips it has paid, and what it did in words."""
    history, n_seats = native.history(), len(native.returns())
    paid, deeds = [1] * n_seats, [list[str]() for _ in range(n_seats)]
    has_bet = False
    for n, action in enumerate(history[n_seats:]):
        seat = n % n_seats
        if action == PASS:
            deeds[seat].append("folds" if has_bet else "checks")
        else:
            deeds[seat].append("calls" if has_bet else "bets")
            paid[seat] += 1
            has_bet = True
    return history[:n_seats], paid, deeds


def name_action(native: NativeState, seat: int, action: int) -> str:
    """Return what passing and betting are called after what came before."""
    del seat
    has_bet = any(native.history()[len(native.returns()) :])
    if action == PASS:
        return "fold" if has_bet else "check"
    return "call" if has_bet else "bet"


def _count_chips(n: int) -> str:
    return f"{n} chip{'s' if n > 1 else ''}"


LOOK = Look(draw_position, describe_position, name_action)
GAME = OpenSpielGame("kuhn_poker", title="Kuhn poker", opening_plies=0, look=LOOK)
