"""`arena.play`: matches without a server, the same for the same seed; who fails is charged."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import arena
from arena import local_play
from arena.errors import ArenaError
from arena.games import registry as games
from arena.games.base import Game, State, replay
from arena.pairing.base import PairingError
from arena.policies.base import Row


def first_legal(observation: object, mask: NDArray[np.bool_], rng: Random) -> int:
    del observation, rng
    return int(np.flatnonzero(mask)[0])


def test_what_is_loaded_later_is_listed_before() -> None:
    assert {"play", "rate", "__doc__"} <= set(dir(arena))


def test_the_same_seed_gives_the_same_matches_in_all_seats() -> None:
    agents = ("random", "mcts:5", "greedy")
    matches = arena.play("tic_tac_toe", agents, 19, 7)
    assert matches == arena.play("tic_tac_toe", agents, 19, 7)
    assert matches != arena.play("tic_tac_toe", agents, 19, 8)
    # Whole blocks: two matches of one game seed with the seats swapped.
    assert len(matches) == 20
    for one, other in zip(matches[::2], matches[1::2], strict=True):
        assert one.lineup == other.lineup[::-1]
        assert one.game_seed == other.game_seed
    played = Counter(name for match in matches for name in match.lineup)
    assert set(played) == set(agents)


def test_a_match_is_replayed_from_its_seed_and_actions() -> None:
    game = games.get("connect_four")
    for match in arena.play(game, ("random", "greedy"), 4, 1):
        plies = game.spec.opening_plies
        state = replay(game, match.game_seed, match.actions, opening_plies=plies)
        assert tuple(state.returns()) == match.returns
        assert match.guilty_seat is None


def test_blocks_of_rows_play_what_single_rows_play(monkeypatch: pytest.MonkeyPatch) -> None:
    together = arena.play("tic_tac_toe", ("random", "mcts:5"), 10, 3)
    monkeypatch.setattr(local_play, "N_TOGETHER", 1)
    assert arena.play("tic_tac_toe", ("random", "mcts:5"), 10, 3) == together


def test_a_function_is_an_agent_and_so_is_a_policy() -> None:
    class Last:
        def act(self, rows: Sequence[Row]) -> list[int]:
            return [row.state.legal_actions()[-1] for row in rows]

    agents = {"first": first_legal, "last": Last(), "mine": "random"}
    matches = arena.play("tic_tac_toe", agents, 12, 1)
    assert {name for match in matches for name in match.lineup} == set(agents)
    assert not any(match.problem for match in matches)


def test_an_agent_that_fails_loses_and_the_others_play_on() -> None:
    def odd(observation: object, mask: NDArray[np.bool_], rng: Random) -> object:
        if mask.sum() % 2:
            raise ValueError("odd")
        return first_legal(observation, mask, rng)

    def illegal(observation: object, mask: NDArray[np.bool_], rng: Random) -> int:
        del observation, rng
        return int(np.flatnonzero(~mask)[0]) if not mask.all() else 0

    agents = {"odd": odd, "illegal": illegal, "fair": first_legal}
    matches = arena.play("tic_tac_toe", agents, 30, 1)
    failed = Counter(
        match.lineup[match.guilty_seat] for match in matches if match.guilty_seat is not None
    )
    assert set(failed) == {"odd", "illegal"}
    for match in matches:
        if match.guilty_seat is not None:
            assert match.ranks[match.guilty_seat] == 1
            assert match.problem.startswith(("ValueError: odd", "IllegalActionError: "))
            assert match.returns == ()


class Hurried:
    """Tic-tac-toe that declares too few steps."""

    def __init__(self) -> None:
        self._game = games.get("tic_tac_toe")
        self.spec = replace(self._game.spec, max_steps=2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)


def test_a_game_without_end_is_the_fault_of_no_agent() -> None:
    with pytest.raises(ArenaError, match="tic_tac_toe: not over after 2 steps"):
        arena.play(cast(Game, Hurried()), ("random", "greedy"), 4, 1)


class BlindState:
    """A state that cannot be seen."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def observation(self, seat: int) -> NDArray[np.generic]:
        raise RuntimeError(f"nothing to see for seat {seat}")


class Blind:
    """Tic-tac-toe that cannot be seen."""

    def __init__(self) -> None:
        self._game = games.get("tic_tac_toe")
        self.spec = self._game.spec

    def start(self, game_seed: int, *, opening_plies: int) -> State:
        return cast(State, BlindState(self._game.start(game_seed, opening_plies=opening_plies)))


def test_what_a_game_raises_is_the_fault_of_no_agent() -> None:
    with pytest.raises(RuntimeError, match="nothing to see for seat 0"):
        arena.play(cast(Game, Blind()), {"one": first_legal, "other": first_legal}, 4, 1)


def test_too_few_answers_are_the_fault_of_the_agent() -> None:
    class Silent:
        def act(self, rows: Sequence[Row]) -> list[int]:
            del rows
            return []

    matches = arena.play("tic_tac_toe", {"silent": Silent(), "fair": first_legal}, 2, 1)
    assert {match.problem for match in matches} == {"ValueError: 0 actions for 1 rows"}


def test_what_cannot_be_played_is_refused() -> None:
    with pytest.raises(PairingError, match="n_agents must be 2 or more"):
        arena.play("tic_tac_toe", ("random",), 4, 1)
    with pytest.raises(ArenaError, match="unknown game 'chequers'"):
        arena.play("chequers", ("random", "greedy"), 4, 1)
    with pytest.raises(AttributeError, match="no attribute 'rake'"):
        arena.rake  # noqa: B018
