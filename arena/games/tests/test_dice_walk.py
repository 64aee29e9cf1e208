"""The dice walk: a game of one seat whose score follows from seed and levels."""

from dataclasses import replace
from statistics import fmean

import pytest

from arena.errors import IllegalActionError, ParameterError, UnsupportedGameError
from arena.games import registry
from arena.games.base import OVER
from arena.games.catalog.dice_walk import GAME, N_THROWS, DiceWalk


def walk(game_seed: int, level: int) -> float:
    state = GAME.start(game_seed, opening_plies=0)
    for _ in range(N_THROWS):
        state.apply(level)
    assert state.to_move() == OVER
    (score,) = state.returns()
    return score


def test_the_mean_score_grows_with_the_level() -> None:
    means = [fmean(walk(seed, level) for seed in range(300)) for level in (0, 50, 99)]
    assert means == pytest.approx([4, 10, 16], abs=0.4)


def test_a_seed_is_easy_or_hard_for_all() -> None:
    gaps = [walk(seed, 55) - walk(seed, 50) for seed in range(200)]
    apart = [walk(seed, 55) - walk(seed + 1_000, 50) for seed in range(200)]
    assert fmean(gap**2 for gap in gaps) < 0.75 * fmean(gap**2 for gap in apart)


def test_it_goes_on_until_the_last_throw_and_takes_its_time_then() -> None:
    slept: list[float] = []
    slow = DiceWalk(sleep=slept.append).configured({"duration_s": 2.0})
    state = slow.start(1, opening_plies=0)
    for _ in range(N_THROWS):
        assert not slept
        state.apply(3)
    assert slept == [2.0]
    with pytest.raises(IllegalActionError, match="3 is not in"):
        state.apply(3)


def test_an_opening_is_refused() -> None:
    with pytest.raises(ParameterError, match="opening_plies"):
        GAME.start(1, opening_plies=2)


@pytest.mark.parametrize("score_range", [(1.0, 1.0), (2.0, 1.0), (0.0, float("inf"))])
def test_a_range_of_scores_that_is_none_is_refused(score_range: tuple[float, float]) -> None:
    with pytest.raises(UnsupportedGameError, match="dice_walk: score_range must be two finite"):
        replace(GAME.spec, score_range=score_range)


@pytest.mark.parametrize("suite", ["two words", "-", "a/b", "ends-", " "])
def test_a_suite_that_makes_no_address_is_refused(suite: str) -> None:
    assert replace(GAME.spec, suite="Walks-2").suite == "Walks-2"
    with pytest.raises(UnsupportedGameError, match="dice_walk: suite must be a word of letters"):
        replace(GAME.spec, suite=suite)


def test_a_suite_of_games_that_compare_no_scores_is_refused() -> None:
    spec = registry.get("connect_four").spec
    with pytest.raises(UnsupportedGameError, match="connect_four: suite must be a word"):
        replace(spec, suite="Boards")


@pytest.mark.parametrize("margin", [-0.1, float("nan")])
def test_a_margin_that_is_none_is_refused(margin: float) -> None:
    with pytest.raises(UnsupportedGameError, match="score_margin must be 0 or more"):
        replace(GAME.spec, score_margin=margin)
