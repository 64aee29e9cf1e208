"""Looks: what is said of a game that draws nothing, and whose turn it is."""

import pytest

from arena.games.base import OVER
from arena.games.looks import tell_turn
from arena.games.openspiel import OpenSpielGame


def test_a_game_without_a_look_is_told_and_not_drawn() -> None:
    game = OpenSpielGame("pig", title="Pig", opening_plies=0)
    state = game.start(1, opening_plies=0)
    assert game.picture(state) is None
    assert state.describe() == ("Seat 0 is to move. 0 moves were made, those of chance included.")
    assert [state.action_name(action) for action in state.legal_actions()] == ["roll", "stop"]


def test_an_action_without_a_name_of_its_own_is_no_bare_number() -> None:
    game = OpenSpielGame("mancala", title="Mancala", opening_plies=0)
    state = game.start(1, opening_plies=0)
    assert state.action_name(1) == "action 1"


@pytest.mark.parametrize(
    ("to_move", "returns", "words"),
    [
        (1, (), "South is to move."),
        (OVER, (1.0, -1.0, -1.0), "The game is over: north has won."),
        (OVER, (1.0, 1.0, -2.0), "The game is over: north and south have won."),
        (OVER, (0.0, 0.0, 0.0), "The game is over: a draw."),
    ],
)
def test_whose_turn_it_is_or_who_has_won(
    to_move: int, returns: tuple[float, ...], words: str
) -> None:
    assert tell_turn(to_move, returns, ("north", "south", "east")) == words
