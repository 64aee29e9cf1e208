"""The OpenSpiel adapter: chance and openings by the seed, parameters, and what it cannot play."""

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.conformance.base import run_check
from arena.conformance.games import CHECKS
from arena.errors import IllegalActionError, ParameterError, UnsupportedGameError
from arena.games import openspiel, registry
from arena.games.base import OVER, Game, State
from arena.games.openspiel import OpenSpielGame, native_of
from arena.parameters import Parameter

SEEDS = st.integers(0, 2**63 - 1)
N_HANDS = 240


def catalog(name: str) -> OpenSpielGame:
    game = registry.get(name)
    assert isinstance(game, OpenSpielGame)
    return game


def test_chance_and_openings_never_change() -> None:
    """Pin them: other ones would make every stored match another game."""
    assert list(catalog("connect_four").start(7, opening_plies=4).opening) == [5, 2, 5, 2]
    state = catalog("backgammon").start(7, opening_plies=0)
    while len(state.actions) < 4:
        state.apply(state.legal_actions()[0])
    assert state.actions == [137, 0, 1350, 37]


@pytest.mark.parametrize(("name", "n_cards"), [("kuhn_poker", 3), ("leduc_poker", 6)])
def test_a_seat_sees_its_own_card_only(name: str, n_cards: int) -> None:
    """As many different first observations as there are cards, each about as often."""
    game = catalog(name)
    starts = [game.start(seed, opening_plies=0) for seed in range(N_HANDS)]
    for seat in range(2):
        hands = Counter(state.observation(seat).tobytes() for state in starts)
        assert len(hands) == n_cards
        assert min(hands.values()) > N_HANDS / n_cards / 2


def test_a_seat_of_three_sees_its_own_card_only() -> None:
    starts = [catalog("kuhn_poker_3").start(seed, opening_plies=0) for seed in range(N_HANDS)]
    assert len({state.observation(2).tobytes() for state in starts}) == 4


def test_the_observation_is_the_tensor_of_the_engine() -> None:
    for name in registry.names():
        game = registry.get(name)
        if isinstance(game, OpenSpielGame):
            state = game.start(3, opening_plies=0)
            native: Any = state.native
            for seat in range(game.spec.n_seats):
                engine = np.array(native.observation_tensor(seat), dtype=np.float32)
                assert np.array_equal(state.observation(seat).ravel(), engine)


def test_chance_in_a_copy_is_open() -> None:
    state = catalog("backgammon").start(1, opening_plies=0)
    copy = native_of(state).child(state.legal_actions()[0])
    assert copy.is_chance_node()
    assert len(copy.chance_outcomes()) == 36


def test_dice_fall_by_their_probabilities() -> None:
    outcomes = [(0, 0.5), (1, 0.25), (2, 0.25)]
    drawn = Counter(openspiel._draw_outcome(outcomes, FixedRandom(i / 1000)) for i in range(1000))
    assert drawn == {0: 500, 1: 250, 2: 250}


def test_rounding_leaves_the_last_outcome() -> None:
    assert openspiel._draw_outcome([(4, 0.5), (5, 0.4999)], FixedRandom(0.99999)) == 5


class FixedRandom(Random):
    def __init__(self, value: float) -> None:
        super().__init__(0)
        self._value = value

    def random(self) -> float:
        return self._value


@given(SEEDS, st.integers(0, 8))
def test_an_opening_is_legal_and_leaves_a_game(seed: int, plies: int) -> None:
    state = catalog("tic_tac_toe").start(seed, opening_plies=plies)
    assert len(state.opening) == len(set(state.opening)) == plies
    assert state.to_move() == plies % 2
    assert set(state.legal_actions()) == set(range(9)) - set(state.opening)


def test_openings_are_spread_evenly() -> None:
    starts = (catalog("tic_tac_toe").start(seed, opening_plies=2) for seed in range(2880))
    openings = Counter(tuple(state.opening) for state in starts)
    assert len(openings) == 72
    assert all(15 < n < 80 for n in openings.values())  # 40 wanted, 4 standard deviations


def test_an_opening_that_must_end_the_game_is_refused() -> None:
    with pytest.raises(ParameterError, match="'opening_plies' is too large: 9 plies ended"):
        catalog("tic_tac_toe").start(1, opening_plies=9)


@pytest.mark.parametrize(
    ("name", "plies", "refusal"),
    [("leduc_poker", 2, "must be 0, as the game has chance: 2"), ("hex", -1, "0 or more: -1")],
)
def test_an_opening_that_cannot_be_is_refused(name: str, plies: int, refusal: str) -> None:
    with pytest.raises(ParameterError, match=refusal):
        catalog(name).start(1, opening_plies=plies)


def test_a_parameter_changes_the_game_and_leaves_the_original() -> None:
    small = catalog("hex").configured({"board_size": "5"})
    assert (small.spec.n_actions, small.spec.observation_shape) == (25, (9, 5, 5))
    assert small.parameters == {"board_size": 5}
    state = small.start(1, opening_plies=0)
    assert state.legal_actions() == tuple(range(25))
    assert state.observation(0).shape == (9, 5, 5)
    assert catalog("hex").spec.n_actions == 121


@pytest.mark.parametrize("size", [2, 20, 5.5, "big"])
def test_a_parameter_out_of_range_is_refused(size: object) -> None:
    with pytest.raises(ParameterError, match="hex: parameter 'board_size' must be"):
        catalog("hex").configured({"board_size": size})


def test_an_illegal_action_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    state = catalog("chess").start(1, opening_plies=0)
    with pytest.raises(IllegalActionError):
        state.apply(4673)
    assert capfd.readouterr() == ("", "")


def test_what_was_played_is_in_the_engine() -> None:
    state = catalog("connect_four").start(1, opening_plies=2)
    state.apply(3)
    native: Any = state.native
    assert native.history() == [*state.opening, 3]


def test_a_legal_match_never_exceeds_the_bound_of_its_game() -> None:
    assert catalog("chess").spec.max_steps == 17695
    assert catalog("go_9x9").spec.max_steps == 162


def test_moves_of_backgammon_are_written_with_their_dice() -> None:
    moves = set()
    for seed in range(4):
        state, rng = catalog("backgammon").start(seed, opening_plies=0), Random(seed)
        while state.to_move() != OVER:
            action = rng.choice(list(state.legal_actions()))
            moves.add(state.action_name(action))
            state.apply(action)
    point = r"(bar|\d+)(/(\d+|off)\*?)+(\(2\))?"
    form = re.compile(rf"[1-6]-[1-6]: (cannot move|{point}( {point})?)")
    assert all(map(form.fullmatch, moves))
    assert {"1-1: cannot move", "2-1: bar/23", "2-1: bar/23 22/21"} & moves


def test_backgammon_ends_in_a_draw_when_nobody_gets_home() -> None:
    short = OpenSpielGame(
        "backgammon", title="Short", opening_plies=0, fixed={"max_player_turns": 5}
    )
    state = short.start(1, opening_plies=0)
    while state.to_move() != OVER:
        state.apply(state.legal_actions()[0])
    assert len(state.actions) <= short.spec.max_steps
    assert state.returns() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("engine_name", "reason"),
    [
        ("ludo", "has no game 'ludo'"),
        ("stones_and_gems", "draws chance itself"),
        ("coin_game", "no observation tensor"),
    ],
)
def test_a_game_it_cannot_play_is_refused(engine_name: str, reason: str) -> None:
    with pytest.raises(UnsupportedGameError, match=f"mine: .*{reason}"):
        OpenSpielGame("mine", engine_name=engine_name, title="Mine", opening_plies=0)


def test_a_game_of_its_own_is_a_few_lines() -> None:
    size = Parameter("num_rows", 2, "rows", 1, 5)
    game = OpenSpielGame("dots_and_boxes", title="Dots", opening_plies=2, parameters=[size])
    assert game.spec.is_zero_sum
    assert not game.spec.has_chance
    assert game.start(1, opening_plies=2).to_move() in (0, 1)


def test_a_name_alone_is_a_game() -> None:
    pentago, pig = OpenSpielGame("pentago"), OpenSpielGame("pig")
    assert (pentago.spec.title, pentago.spec.opening_plies) == ("Pentago", 2)
    assert (pig.spec.title, pig.spec.opening_plies) == ("Pig", 0)
    # The whole game is two decisions: an opening of two would end it.
    assert OpenSpielGame("matrix_pd").spec.opening_plies == 1


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_seats_that_move_at_once_are_asked_in_turn(check: Callable[[Game], None]) -> None:
    assert run_check(check, OpenSpielGame("goofspiel", fixed={"num_cards": 4})) == ""


def test_a_state_of_another_engine_has_no_native_one() -> None:
    state: State = registry.get("skill_game").start(1, opening_plies=0)
    with pytest.raises(UnsupportedGameError, match="SkillState is no state of an OpenSpiel game"):
        native_of(state)


def test_the_engine_has_no_other_chance_modes() -> None:
    """What is neither deterministic nor drawn by us must be refused: look at a new mode first."""
    modes = pyspiel.GameType.ChanceMode.__members__
    assert set(modes) == {"DETERMINISTIC", "EXPLICIT_STOCHASTIC", "SAMPLED_STOCHASTIC"}
