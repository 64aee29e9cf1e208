"""The fast rules are those of the game that agents are rated in, and so is what a network sees."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.games import registry as games
from arena.games.base import OVER
from examples.connect_four import environment as rules
from examples.connect_four.environment import Positions

GAME = games.get("connect_four")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_whole_games_agree_with_the_arena(seed: int) -> None:
    rng = Random(seed)
    state, positions = GAME.start(seed, opening_plies=0), rules.start(1)
    while state.to_move() != OVER:
        for seat in (0, 1):
            np.testing.assert_array_equal(rules.observe(positions)[0], state.observation(seat))
        np.testing.assert_array_equal(rules.legal(positions)[0], state.legal_mask())
        action = rng.choice(state.legal_actions())
        state.apply(action)
        positions = rules.play(positions, np.array([action]))
        has_won = bool(rules.has_four(positions.waiting)[0])
        is_over = has_won or positions.n_plies[0] == rules.N_CELLS
        assert is_over == (state.to_move() == OVER)
        assert not is_over or has_won == (max(state.returns()) > 0)


def test_observations_have_the_shape_and_type_of_the_game() -> None:
    observations = rules.observe(rules.start(3))
    assert observations.shape == (3, *GAME.spec.observation_shape)
    assert observations.dtype == GAME.spec.observation_dtype
    assert GAME.spec.observation_shape == rules.OBSERVATION_SHAPE
    assert GAME.spec.n_actions == rules.N_COLUMNS


def test_positions_do_not_touch_each_other() -> None:
    one_by_one = [played([column, column]) for column in range(7)]
    together = Positions(*map(np.concatenate, zip(*one_by_one, strict=True)))
    for row, alone in enumerate(one_by_one):
        np.testing.assert_array_equal(rules.observe(together)[row], rules.observe(alone)[0])


def test_children_are_the_positions_after_each_column() -> None:
    before = played([3, 3, 2])
    after = rules.children(before)
    for column in range(7):
        alone = rules.play(before, np.array([column]))
        np.testing.assert_array_equal(
            rules.observe(after.at(slice(column, column + 1))), rules.observe(alone)
        )


@pytest.mark.parametrize(
    "line",
    [
        [0, 1, 0, 1, 0, 1],  # upwards
        [0, 0, 1, 1, 2, 2],  # along a row
        [0, 1, 1, 2, 2, 3, 2, 3, 3, 6],  # rising
        [6, 5, 5, 4, 4, 3, 4, 3, 3, 0],  # falling
    ],
)
def test_a_win_in_one_is_seen(line: list[int]) -> None:
    assert rules.can_win(played(line))[0]
    assert not rules.can_win(played(line[:-2]))[0]


def test_no_line_runs_over_the_edge_of_the_board() -> None:
    top_of_one_and_bottom_of_next = played([0, 0, 0, 0, 0, 0, 1]).waiting
    assert not rules.has_four(top_of_one_and_bottom_of_next)[0]
    assert not rules.has_four(np.array([0b0110000_0000011 | 0]))[0]


def played(line: list[int]) -> Positions:
    positions = rules.start(1)
    for column in line:
        positions = rules.play(positions, np.array([column]))
    return positions
