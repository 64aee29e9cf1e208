import pytest

from arena.errors import ParameterError
from arena.games.showdown import served


def test_of_two_seats_it_is_played_elsewhere_and_never_again_the_same() -> None:
    game = served.make_server_game("battles", "Battles", n_seats=2)
    assert (game.spec.n_seats, game.spec.served, game.spec.is_replayable) == (2, "server", False)
    assert game.configured({}).parameters == {}


def test_of_one_seat_it_is_against_a_player_of_poke_env() -> None:
    game = served.make_server_game("battles", "Battles", n_seats=1)
    assert game.spec.score_range == (0, 1)
    assert game.parameters == {"opponent": "heuristics"}
    assert game.configured({}).parameters == {"opponent": "heuristics"}
    other = game.configured({"opponent": "random"})
    assert other.parameters == {"opponent": "random"}
    assert other.configured({"opponent": "max_power"}).parameters == {"opponent": "max_power"}
    with pytest.raises(ParameterError, match=r"opponent' must be one of .*got 'nobody'"):
        game.configured({"opponent": "nobody"})
