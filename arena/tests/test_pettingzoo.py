"""PettingZoo's environments as ours: kept to all checks, and the same moves as OpenSpiel's."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.classic import connect_four_v3, rps_v2, tictactoe_v3
from pettingzoo.utils.env import AECEnv

import arena
from arena.conformance.base import run_check
from arena.conformance.games import CHECKS
from arena.errors import ParameterError, UnsupportedGameError
from arena.games import registry
from arena.games.base import OVER
from arena.games.looks import Look
from arena.games.pettingzoo import PettingZooGame
from arena.games.pictures import Picture

ROCK: dict[str, Any] = {"opening_plies": 2, "max_steps": 300, "has_hidden_information": True}
GAMES = {
    "tic_tac_toe": PettingZooGame(
        "pz_tic_tac_toe", tictactoe_v3.env, title="Tic-tac-toe", opening_plies=1, max_steps=9
    ),
    "connect_four": PettingZooGame(
        "pz_connect_four", connect_four_v3.env, title="Connect four", opening_plies=2, max_steps=42
    ),
    "in_turn": PettingZooGame("rock", rps_v2.env, title="Rock, paper, scissors", **ROCK),
    "at_once": PettingZooGame("rocks", rps_v2.parallel_env, title="Rock, paper, scissors", **ROCK),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", GAMES)
def test_it_keeps_to_what_every_game_must(name: str, check: Callable[..., None]) -> None:
    assert run_check(check, GAMES[name]) == ""


@pytest.mark.parametrize(
    ("name", "translate"),
    [
        # PettingZoo numbers the squares column by column.
        ("tic_tac_toe", lambda action: action % 3 * 3 + action // 3),
        ("connect_four", lambda action: action),
    ],
)
def test_it_plays_as_openspiel_move_by_move(name: str, translate: Callable[[int], int]) -> None:
    rng = Random(1)
    for seed in range(20):
        ours = registry.get(name).start(seed, opening_plies=0)
        theirs = GAMES[name].start(seed, opening_plies=0)
        while ours.to_move() != OVER:
            assert theirs.to_move() == ours.to_move()
            legal = sorted(map(translate, ours.legal_actions()))
            assert list(theirs.legal_actions()) == legal
            action = rng.choice(list(ours.legal_actions()))
            ours.apply(action)
            theirs.apply(translate(action))
        assert theirs.to_move() == OVER
        assert theirs.returns() == list(ours.returns())


def test_it_is_played_and_rated() -> None:
    def always(action: int) -> Callable[..., int]:
        return lambda observation, mask, rng: action

    agents = {"rock": always(0), "paper": always(1), "any": "random"}
    rated = arena.rate(arena.play(GAMES["at_once"], agents, 60, 1))
    assert rated.p_above("paper", "rock") > 0.9


class Race(AECEnv[str, Any, int]):  # type: ignore[misc]
    """Three agents: each step pays 1; who plays 0 is out, the others go on for three rounds."""

    metadata = {"name": "race"}

    def __init__(self, n_actions: dict[str, int] | None = None) -> None:
        self.possible_agents = ["a", "b", "c"]
        n = n_actions or {}
        self.action_spaces = {a: spaces.Discrete(n.get(a, 3)) for a in self.possible_agents}
        self.observation_spaces = {a: spaces.Box(0, 99, (1,)) for a in self.possible_agents}

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        del seed, options
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        # The mask may stand beside the observation, too: nobody may play 2.
        self.infos = {a: {"action_mask": np.array([1, 1, 0])} for a in self.agents}
        self.n_steps = dict.fromkeys(self.agents, 0)
        self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> Any:
        if agent not in self.agents:
            raise KeyError(agent)
        return np.array([self.n_steps[agent]], np.float32)

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.n_steps[agent] += 1
        self.rewards[agent] = 1.0
        self.terminations[agent] = action == 0
        self.truncations[agent] = self.n_steps[agent] == 3
        self._accumulate_rewards()
        live = [a for a in self.agents if not (self.terminations[a] or self.truncations[a])]
        if live:
            later = [a for a in live if a > agent]
            self.agent_selection = (later or live)[0]
        self._deads_step_first()


def race(**options: Any) -> PettingZooGame:
    return PettingZooGame("race", Race, title="Race", opening_plies=1, max_steps=9, **options)


def test_agents_that_are_out_early_keep_what_they_won_and_saw() -> None:
    state = race().start(1, opening_plies=0)
    for action in (0, 1, 1, 1, 0, 1):
        assert state.legal_actions() == (0, 1)
        state.apply(action)
    assert state.to_move() == OVER
    assert state.returns() == [1.0, 3.0, 2.0]
    assert [state.observation(seat).tolist() for seat in range(3)] == [[1], [3], [2]]
    assert state.legal_actions() == ()


def test_its_own_words_and_drawing_are_used() -> None:
    look = Look(
        draw=lambda env, seat: Picture(10, 10, ()),
        describe=lambda env, seat: f"Seat {seat} ran {env.n_steps['a']} steps.",
        name_action=lambda env, seat, action: ("stop", "run", "fly")[action],
    )
    state = race(look=look).start(1, opening_plies=0)
    assert state.describe(0) == "Seat 0 is to move. Seat 0 ran 0 steps."
    assert state.action_name(1) == "run"
    assert race(look=look).picture(state) == Picture(10, 10, ())
    assert race().picture(state) is None


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UnsupportedGameError, match="odd: b has other spaces than a"):
        PettingZooGame("odd", lambda: Race({"b": 2}), title="Odd", max_steps=9)
    with pytest.raises(ParameterError, match="'opening_plies' is too large: 9 plies ended"):
        race().start(1, opening_plies=9)
