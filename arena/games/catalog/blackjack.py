"""Blackjack: draw cards up to 21 and beat the dealer; a point won or lost, nothing for a draw."""

from typing import Any

from arena.games.cards import HIDDEN, Hand, draw_table
from arena.games.gymnasium import GymnasiumGame
from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.pictures import Picture

NAMES = ("stick", "hit")
FACES = ("A", *map(str, range(2, 11)))
MAX_CARDS = 30
N_DEALT, MOST, SOFT = 2, 21, 10


def draw_position(env: Any, seat: int | None) -> Picture:
    """Return both hands; the dealer's second card lies face down until it plays."""
    del seat
    dealer = _list_faces(env.dealer)
    dealer_cards = [dealer[0], *([HIDDEN] if len(dealer) == N_DEALT else dealer[1:])]
    return draw_table(
        [
            Hand("dealer", dealer_cards),
            Hand("player", _list_faces(env.player), [_tell_sum(env.player)]),
        ]
    )


def describe_position(env: Any, seat: int | None) -> str:
    """Return the cards that can be seen."""
    del seat
    cards = ", ".join(_list_faces(env.player))
    dealer_card = FACES[env.dealer[0] - 1]
    return f"The player holds {cards} ({_tell_sum(env.player)}); the dealer shows {dealer_card}."


def name_action(env: Any, seat: int, action: int) -> str:
    """Return whether another card is drawn."""
    del env, seat
    return NAMES[action]


def _list_faces(cards: list[int]) -> list[str]:
    return [FACES[card - 1] for card in cards]


def _tell_sum(cards: list[int]) -> str:
    is_soft = 1 in cards and sum(cards) + SOFT <= MOST
    return f"{'soft ' if is_soft else ''}{sum(cards) + SOFT * is_soft}"


GAME = GymnasiumGame(
    "blackjack",
    "Blackjack-v1",
    title="Blackjack",
    score_range=(-1, 1),
    max_steps=MAX_CARDS,
    observation_parts=parts(
        ("sum of the player", 32),
        ("the dealer's open card", 11),
        ("whether an ace counts 11: no, yes", 2),
    ),
    look=Look(draw_position, describe_position, name_action),
)
