"""The skill game: the formula of seed document 1, fair coins, hidden levels and its duration."""

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, ranks
from arena.games.catalog.skill_game import (
    GAME,
    MAX_RAND_PROB,
    MAX_TIE_PROB,
    RATING_RANGE,
    SkillGame,
)
from arena.seeding import derive_uniforms

LEVELS = st.integers(0, RATING_RANGE - 1)


def played(game_seed: int, first: int, second: int, game: SkillGame = GAME) -> tuple[float, ...]:
    state = game.start(game_seed, opening_plies=0)
    state.apply(first)
    state.apply(second)
    assert state.to_move() == OVER
    return state.returns()


def document(first: int, second: int, draws: list[float]) -> int | None:
    """Return the result as the seed document writes it, with its random numbers given."""
    res = int(first - second < 0)
    if draws[0] < MAX_RAND_PROB - float(abs(first - second)) / RATING_RANGE:
        if draws[1] < MAX_TIE_PROB - float(abs(first - second)) / RATING_RANGE:
            return None
        return 1 - res
    return res


def test_the_result_is_that_of_the_document_for_all_levels() -> None:
    for first in range(RATING_RANGE):
        for second in range(RATING_RANGE):
            seed = RATING_RANGE * first + second
            winner = document(first, second, derive_uniforms(2, "skill_game", seed, first, second))
            returns = {0: (1.0, -1.0), 1: (-1.0, 1.0), None: (0.0, 0.0)}[winner]
            assert played(seed, first, second) == returns


@pytest.mark.parametrize(("first", "second"), [(50, 50), (50, 45), (45, 50), (80, 60), (10, 41)])
def test_results_come_at_the_rates_of_the_document(first: int, second: int) -> None:
    n, gap = 4000, abs(first - second) / RATING_RANGE
    p_random, p_tie = max(0.0, MAX_RAND_PROB - gap), max(0.0, MAX_TIE_PROB - gap)
    better = 1 if first < second else 0  # of equal levels the first counts as better
    outcomes = [ranks(played(seed, first, second), 2) for seed in range(n)]
    for rate, expected_rate in (
        (outcomes.count([0, 0]) / n, p_random * p_tie),
        (outcomes.count([better, 1 - better]) / n, 1 - p_random),
        (outcomes.count([1 - better, better]) / n, p_random * (1 - p_tie)),
    ):
        assert abs(rate - expected_rate) <= 4 * sqrt(expected_rate * (1 - expected_rate) / n)


def test_the_two_seat_orders_of_a_block_toss_two_coins() -> None:
    """The worse level wins in both orders as often as two independent coins say."""
    n, upset = 4000, (MAX_RAND_PROB - 0.01) * (1 - (MAX_TIE_PROB - 0.01))
    both = sum(played(s, 51, 50)[1] == played(s, 50, 51)[0] == 1.0 for s in range(n))
    assert both / n == pytest.approx(upset**2, abs=4 * sqrt(upset**2 / n))


@given(LEVELS, LEVELS)
def test_a_seat_learns_nothing_of_the_other_level(first: int, other: int) -> None:
    observations = []
    for level in (first, other):
        state = GAME.start(1, opening_plies=0)
        before = state.observation(1).tolist()
        state.apply(level)
        observations.append(state.observation(1).tolist())
        assert state.observation(1).tolist() == before
    assert observations[0] == observations[1] == [0.0, 1.0]


def test_no_returns_before_the_second_level() -> None:
    state = GAME.start(1, opening_plies=0)
    state.apply(99)
    assert state.returns() == (0.0, 0.0)


@pytest.mark.parametrize("level", [-1, 100, 5.0, True, "5"])
def test_a_level_out_of_range_is_refused(level: int) -> None:
    state = GAME.start(1, opening_plies=0)
    with pytest.raises(IllegalActionError, match=r"skill_game: .* is not in 0\.\.99"):
        state.apply(level)
    assert state.actions == []


def test_a_third_level_is_refused() -> None:
    state = GAME.start(1, opening_plies=0)
    state.apply(1)
    state.apply(2)
    with pytest.raises(IllegalActionError, match="it is over"):
        state.apply(3)
    assert state.actions == [1, 2]


def test_a_match_takes_its_duration_once() -> None:
    slept: list[float] = []
    game = SkillGame(sleep=slept.append).configured({"duration_s": "1.5"})
    state = game.start(1, opening_plies=0)
    state.apply(1)
    assert slept == []
    state.apply(2)
    assert slept == [1.5]
    assert game.parameters == {"duration_s": 1.5}


def test_a_match_without_duration_does_not_sleep() -> None:
    slept: list[float] = []
    played(1, 2, 3, SkillGame(sleep=slept.append))
    assert slept == []


@pytest.mark.parametrize("duration", [-1, 3601, "long", float("nan")])
def test_an_impossible_duration_is_refused(duration: object) -> None:
    with pytest.raises(ParameterError, match="skill_game: parameter 'duration_s' must be"):
        GAME.configured({"duration_s": duration})


def test_it_has_no_openings() -> None:
    with pytest.raises(ParameterError, match="'opening_plies' must be 0"):
        GAME.start(1, opening_plies=2)
