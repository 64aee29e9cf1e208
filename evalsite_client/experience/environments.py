"""Environments of Gymnasium as this package plays them: float32 in, a whole number out."""

from importlib import import_module
from importlib.util import find_spec
from math import prod
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from evalsite_client.api.games import Game
from evalsite_client.errors import InputError
from evalsite_client.experience.weights import Floats

GAMES: Final = {
    "Acrobot-v1": "acrobot",
    "CartPole-v1": "cart_pole",
    "MountainCar-v0": "mountain_car",
}
"""Environments whose observations are what the game of the server shows, number by number."""


class Outcome(NamedTuple):
    """What an action leads to; observation float32 [F], at the end of an episode its last one."""

    observation: Floats
    reward: float
    is_terminated: bool
    is_truncated: bool


class Environment(Protocol):
    """What is played, one episode after the other."""

    def reset(self, *, seed: int) -> Floats:
        """Begin an episode; return its first observation, float32 [F]."""
        ...

    def step(self, action: int) -> Outcome:
        """Take an action."""
        ...


class GymnasiumEnvironment:
    """An environment of Gymnasium with discrete actions."""

    def __init__(self, env: Any, *, first_action: int) -> None:
        """env: made by Gymnasium."""
        self._env, self._first_action = env, first_action

    def reset(self, *, seed: int) -> Floats:
        """Begin an episode; return its first observation."""
        observation, _ = self._env.reset(seed=seed)
        return _flatten_observation(observation)

    def step(self, action: int) -> Outcome:
        """Take an action."""
        observation, reward, is_terminated, is_truncated, _ = self._env.step(
            self._first_action + action
        )
        return Outcome(
            _flatten_observation(observation),
            float(reward),
            bool(is_terminated),
            bool(is_truncated),
        )


def find_environment(text: str) -> str:
    """Return the id of the environment that a text means: itself or its game. Raises InputError."""
    by_game = {game: env_id for env_id, game in GAMES.items()}
    env_id = by_game.get(text, text)
    if env_id not in GAMES:
        raise InputError("env", f"{text!r:.60} is no game here: {', '.join(GAMES)} are")
    return env_id


def make_environment(env_id: str, game: Game) -> Environment:
    """Return an environment that is the game. Raises InputError."""
    if find_spec("gymnasium") is None:
        raise InputError("env", f"{env_id} needs gymnasium: pip install gymnasium")
    # By its name: this package has to load where it is not installed.
    gymnasium = import_module("gymnasium")
    try:
        env = gymnasium.make(env_id)
    except gymnasium.error.Error as error:
        raise InputError("env", f"{env_id}: {error!s:.200}") from error
    actions, shape = env.action_space, env.observation_space.shape
    if not isinstance(actions, gymnasium.spaces.Discrete):
        raise InputError("env", f"{env_id} has actions of {actions}: only discrete ones are played")
    if shape is None or prod(shape) != prod(game.observation_shape) or actions.n != game.n_actions:
        raise InputError(
            "env",
            f"{env_id} has observations {shape} and {actions.n} actions, the server's {game.id} "
            f"has {game.observation_shape} and {game.n_actions}: another version of Gymnasium?",
        )
    return GymnasiumEnvironment(env, first_action=int(actions.start))


def _flatten_observation(observation: Any) -> Floats:
    return np.array(observation, np.float32).reshape(-1)
