"""Looks: what is said of a game that draws nothing, and whose turn it is."""

from random import Random

import pytest

from arena.games.base import OVER
from arena.games.catalog.go_9x9 import GAME as GO
from arena.games.catalog.go_9x9 import KOMI, count_areas
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


@pytest.mark.parametrize("game_seed", range(12))
def test_the_points_of_go_name_the_winner_that_the_engine_does(game_seed: int) -> None:
    rng, state = Random(game_seed), GO.start(game_seed, opening_plies=4)
    n_free = rng.randrange(40)
    while state.to_move() != OVER:
        # Then both pass, so that games of every length end.
        legal = state.legal_actions()
        state.apply(rng.choice(legal) if len(state.actions) < n_free else legal[-1])
    black, white = count_areas(state.native)
    assert (black > white + KOMI) == (state.returns()[0] > 0)
    assert f"black has {black} points, white {white + KOMI}" in state.describe()
