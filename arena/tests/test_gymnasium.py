"""Gymnasium's environments as games of one seat: kept to all checks, the same as a plain loop."""

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import arena
from arena.conformance.base import run_check
from arena.conformance.games import CHECKS
from arena.errors import ParameterError, UnsupportedGameError
from arena.games import registry
from arena.games.base import OVER
from arena.games.gymnasium import SEED_BITS, GymnasiumGame
from arena.ratings.base import RatingError
from arena.seeding import derive

SHIPPED = {
    "acrobot": "Acrobot-v1",
    "blackjack": "Blackjack-v1",
    "cart_pole": "CartPole-v1",
    "frozen_lake": "FrozenLake-v1",
    "mountain_car": "MountainCar-v0",
    "taxi": "Taxi-v4",
}


class Corridor(gymnasium.Env[Any, Any]):
    """Walk from 0 to 3, without chance and without end for who never gets there."""

    def __init__(self) -> None:
        self.action_space = spaces.MultiDiscrete([2, 2])
        self.observation_space = spaces.Dict({"at": spaces.Discrete(4), "t": spaces.Box(0, 99)})

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        del options
        super().reset(seed=seed)
        self.at = self.n_steps = 0
        return self._see(), {}

    def action_masks(self) -> list[bool]:
        """Return which actions do something: at the start nobody steps back."""
        return [True, True, self.at > 0, self.at > 0]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at = max(self.at + (-1 if action[0] else int(action[1])), 0)
        self.n_steps += 1
        return self._see(), -0.5, self.at == 3, False, {}

    def _see(self) -> dict[str, Any]:
        return {"at": self.at, "t": np.array([self.n_steps], np.float32)}


CORRIDOR = GymnasiumGame(
    "corridor",
    Corridor,
    title="Corridor",
    score_range=(-10, 0),
    max_steps=20,
    opening_plies=1,
    has_chance=False,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_to_what_every_game_must(check: Callable[..., None]) -> None:
    assert run_check(check, CORRIDOR) == ""


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_one_scores_as_a_plain_loop_does(name: str) -> None:
    game = registry.get(name)
    for game_seed in range(3):
        state, rng = game.start(game_seed, opening_plies=0), Random(1)
        env = gymnasium.make(SHIPPED[name], disable_env_checker=True)
        env.reset(seed=derive("environment", game_seed) >> (63 - SEED_BITS))
        total, is_over = 0.0, False
        while not is_over:
            action = rng.randrange(game.spec.n_actions)
            state.apply(action)
            _, reward, is_terminated, is_truncated, _ = env.step(action)
            total += float(reward)
            is_over = is_terminated or is_truncated
            assert (state.to_move() == OVER) == is_over
        assert state.returns() == [total]
        assert game.spec.score_range is not None
        assert game.spec.score_range[0] <= total <= game.spec.score_range[1]


def test_an_end_and_a_limit_are_told_apart() -> None:
    state = CORRIDOR.start(1, opening_plies=0)
    for _ in range(20):
        state.apply(0)
    assert state.is_truncated
    assert not state.is_terminated
    assert state.describe() == (
        "The episode is over, cut at the limit of its steps: the score is -10 after 20 steps."
    )
    state = CORRIDOR.start(1, opening_plies=0)
    for _ in range(3):
        state.apply(1)
    assert state.describe() == "The episode is over: the score is -1.5 after 3 steps."
    assert state.legal_actions() == ()
    assert state.action_name(1) == "action 1"


def test_a_continuous_action_needs_bins() -> None:
    pendulum: dict[str, Any] = {"title": "Pendulum", "score_range": (-4_000, 0)}
    with pytest.raises(UnsupportedGameError, match=r"^swing: its actions are numbers: give n_bins"):
        GymnasiumGame("swing", "Pendulum-v1", **pendulum)
    game = GymnasiumGame("swing", "Pendulum-v1", **pendulum, n_bins=5)
    assert game.spec.n_actions == 5
    assert game.decode(4).tolist() == [2.0]


def test_an_environment_without_a_limit_is_refused() -> None:
    with pytest.raises(UnsupportedGameError, match=r"^endless: it has no limit of steps: give max"):
        GymnasiumGame("endless", Corridor, title="Endless", score_range=(-10, 0))


def test_an_opening_that_ends_the_game_is_refused() -> None:
    with pytest.raises(ParameterError, match="21 plies ended the game in each of 200 draws"):
        CORRIDOR.start(1, opening_plies=21)


def test_agents_play_equal_seeds_and_are_rated_by_their_scores() -> None:
    def balance(share: float) -> Callable[..., int]:
        def act(observation: Any, mask: Any, rng: Any) -> int:
            del mask
            return (
                rng.randrange(2)
                if rng.random() < share
                else int(observation[2] + observation[3] / 2 > 0)
            )

        return act

    agents = {"good": balance(0.1), "fair": balance(0.5), "random": "random"}
    matches = arena.play("cart_pole", agents, 40, 1)
    assert len(matches) == 42, "whole blocks of three"
    seeds = [{m.game_seed for m in matches if m.lineup == (name,)} for name in agents]
    assert len(seeds[0]) == 14
    assert all(one == other for one, other in pairwise(seeds))
    rated = arena.rate(matches)
    assert rated.names == ("good", "fair", "random")
    assert rated.n_matches.tolist() == [14] * 3
    assert rated.p_above("good", "random") > 0.99
    # All scores within the margin: nothing is known but the prior.
    assert np.ptp(arena.rate(matches, score_margin=500).mu) < 1e-9


def test_who_fails_is_below_any_score_and_blocks_must_be_whole() -> None:
    def fail(*_: Any) -> int:
        raise OSError

    matches = arena.play("frozen_lake", {"random": "random", "broken": fail}, 20, 1)
    assert all(match.problem == "OSError: " for match in matches if match.lineup == ("broken",))
    assert arena.rate(matches).names == ("random", "broken")
    with pytest.raises(RatingError, match=r"by the same number of agents, 2 or more, got \[1, 2\]"):
        arena.rate(matches[:-1])
