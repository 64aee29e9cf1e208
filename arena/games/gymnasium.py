"""Gymnasium's environments as games of one seat: one adapter, so that a file is a few lines."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, UnsupportedGameError
from arena.games.base import OVER, GameSpec
from arena.games.looks import PLAIN, Look
from arena.games.observations import Parts
from arena.games.openings import start_after_opening
from arena.games.pictures import Grid, Picture
from arena.games.spaces import read_actions, read_observations
from arena.needs import CPU
from arena.parameters import Value, read_parameters
from arena.seeding import derive

# Of the environments; numpy's generators take no more than 32 bits from some of them.
SEED_BITS = 31
SEAT = 0


class GymnasiumState:
    """One episode in an environment of its own; its return is the sum of the rewards."""

    def __init__(self, game: "GymnasiumGame", env: Any, observation: Any) -> None:
        """Take over an environment that was reset, and what it showed then."""
        self._game, self.env, self._observation = game, env, observation
        self.opening: Sequence[int] = ()
        self.actions: list[int] = []
        self._total = 0.0
        self.is_terminated = self.is_truncated = False

    def to_move(self) -> int:
        """Return the one seat, or OVER."""
        return OVER if self.is_terminated or self.is_truncated else SEAT

    def legal_actions(self) -> tuple[int, ...]:
        """Return the legal actions, ascending; empty when over."""
        return tuple(np.flatnonzero(self.legal_mask()).tolist())

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [A], True where legal: all, but for an environment with action_masks()."""
        n_actions = self._game.spec.n_actions
        if self.to_move() == OVER:
            return np.zeros(n_actions, np.bool_)
        own = getattr(self.env.unwrapped, "action_masks", None)
        return np.array(own(), np.bool_) if own else np.ones(n_actions, np.bool_)

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return what the environment showed last, float32."""
        del seat
        return self._game.encode(self._observation)

    def apply(self, action: int) -> None:
        """Take one step. Raises IllegalActionError and changes nothing."""
        if type(action) is not int or action not in self.legal_actions():
            name = self._game.spec.id
            raise IllegalActionError(f"{name}: {action!r:.80} is not in {self.legal_actions()}")
        self._observation, reward, self.is_terminated, self.is_truncated, _ = self.env.step(
            self._game.decode(action)
        )
        self._total += float(reward)
        self.actions.append(action)

    def returns(self) -> list[float]:
        """Return the sum of the rewards so far."""
        return [self._total]

    def describe(self, seat: int | None = None) -> str:
        """Return how far it is or how it ended, and what the game's own words add."""
        n_steps = len(self.actions)
        so_far = f"{self._total:g} after {n_steps} step{'s' if n_steps != 1 else ''}"
        if self.to_move() != OVER:
            turn = f"The score is {so_far}."
        else:
            reason = "" if self.is_terminated else ", cut at the limit of its steps"
            turn = f"The episode is over{reason}: the score is {so_far}."
        own = self._game.look.describe
        return f"{turn} {own(self.env.unwrapped, seat)}" if own else turn

    def action_name(self, action: int) -> str:
        """Return what players call a legal action."""
        own = self._game.look.name_action
        return own(self.env.unwrapped, SEAT, action) if own else f"action {action}"

    def begin_after(self, opening: Sequence[int]) -> None:
        """Let what was played so far be the opening."""
        self.opening, self.actions = tuple(opening), []


class GymnasiumGame:
    """An environment of Gymnasium as a game of one seat; it has no parameters."""

    parameters: Mapping[str, Value] = {}

    def __init__(  # noqa: PLR0913 - what the environment does not tell
        self,
        name: str,
        make: str | Callable[[], Any],
        *,
        title: str,
        score_range: tuple[float, float],
        score_margin: float = 0.0,
        max_steps: int = 0,
        opening_plies: int = 0,
        has_chance: bool = True,
        is_replayable: bool = True,
        n_bins: int = 0,
        capability: str = CPU,
        observation_parts: Parts = (),
        look: Look = PLAIN,
    ) -> None:
        """Make an environment to read its spaces from.

        make: an id such as "CartPole-v1", or a function that returns a new environment.
        score_range: the least and the most sum of rewards. score_margin: scores of two episodes
        that differ by no more are a draw. max_steps: where the environment declares no limit; the
        episode is cut there.
        has_chance: whether the seed changes anything. n_bins: of each number of a continuous
        action. capability: what a node must have to play it. Raises UnsupportedGameError for spaces
        that cannot be numbered, or without a limit.
        """
        self._make, self.look = make, look
        self._cut_at = 0
        env = self._new_env()
        declared = env.spec.max_episode_steps if env.spec else None
        self._cut_at = 0 if declared else max_steps
        if not (declared or max_steps):
            raise UnsupportedGameError(f"{name}: it has no limit of steps: give max_steps")
        actions = read_actions(name, env.action_space, n_bins=n_bins)
        observations = read_observations(name, env.observation_space)
        self.decode, self.encode = actions.decode, observations.encode
        self.spec = GameSpec(
            id=name,
            title=title,
            n_seats=1,
            n_actions=actions.n,
            observation_shape=observations.shape,
            observation_dtype="float32",
            has_chance=has_chance,
            has_hidden_information=False,
            opening_plies=opening_plies,
            max_steps=declared or max_steps,
            is_replayable=is_replayable,
            capability=capability,
            score_range=score_range,
            score_margin=score_margin,
            observation_parts=observation_parts,
        )

    def configured(self, parameters: Mapping[str, object]) -> "GymnasiumGame":
        """Return the game itself. Raises ParameterError for any parameter."""
        read_parameters(self.spec.id, (), parameters)
        return self

    def start(self, game_seed: int, *, opening_plies: int) -> GymnasiumState:
        """Return a new episode; all chance and the opening follow from the game seed.

        Raises ParameterError unless some opening of so many plies leaves the game undecided.
        """
        return start_after_opening(
            self.spec, game_seed, opening_plies, lambda: self._start_episode(game_seed)
        )

    def picture(self, state: GymnasiumState, seat: int | None = None) -> Grid | Picture | None:
        """Return a position as it is drawn, None for a game that is only told."""
        return self.look.draw(state.env.unwrapped, seat) if self.look.draw else None

    def _start_episode(self, game_seed: int) -> GymnasiumState:
        env = self._new_env()
        observation, _ = env.reset(seed=derive("environment", game_seed) >> (63 - SEED_BITS))
        return GymnasiumState(self, env, observation)

    def _new_env(self) -> Any:
        if callable(self._make):
            env = self._make()
        else:
            env = gymnasium.make(self._make, disable_env_checker=True)
        return gymnasium.wrappers.TimeLimit(env, self._cut_at) if self._cut_at else env
