"""The skill game of two against two."""

from arena.games.base import OVER, forfeit_ranks, ranks
from arena.games.catalog.skill_game import GAME as SINGLE
from arena.games.catalog.skill_teams import GAME, TEAMS, TeamGame


def played(game_seed: int, *levels: int) -> list[int]:
    state = GAME.start(game_seed, opening_plies=0)
    for level in levels:
        assert state.to_move() == len(state.actions)
        state.apply(level)
    assert state.to_move() == OVER
    return ranks(state.returns(), 4, TEAMS)


def test_the_higher_sum_wins_where_no_coin_turns() -> None:
    for seed in range(50):
        assert played(seed, 99, 30, 40, 10) == [0, 2, 0, 2]
        assert played(seed, 5, 99, 10, 0) == [2, 0, 2, 0]


def test_sums_that_are_close_are_decided_by_the_coin_of_the_single_game() -> None:
    outcomes = [played(seed, 60, 45, 40, 45) for seed in range(4_000)]
    gap = 10 / 200
    upset, tie = 0.3 - gap, 0.2 - gap
    assert abs(outcomes.count([0, 2, 0, 2]) / 4_000 - (1 - upset)) < 0.03
    assert abs(outcomes.count([0, 0, 0, 0]) / 4_000 - upset * tie) < 0.02


def test_nobody_has_won_before_the_last_level() -> None:
    assert GAME.start(1, opening_plies=0).returns() == (0.0,) * 4


def test_it_has_the_parameters_of_the_single_game() -> None:
    slow = GAME.configured({"duration_s": 2.0})
    assert isinstance(slow, TeamGame)
    assert (slow.duration_s, slow.spec.id) == (2.0, "skill_teams")
    assert slow.spec.parameters == SINGLE.spec.parameters


def test_who_forfeits_takes_its_mate_along() -> None:
    assert forfeit_ranks(3, 4, TEAMS) == [0, 2, 0, 2]
