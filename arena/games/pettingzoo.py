"""PettingZoo's environments as ours: one adapter, so that a game's file is a few lines.

Both kinds are taken: those whose agents act in turn (AEC), and those whose agents act at the same
time (parallel), who are asked one after the other without seeing what the others chose.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo.utils.conversions import parallel_to_aec
from pettingzoo.utils.env import ParallelEnv

from arena.errors import IllegalActionError, UnsupportedGameError
from arena.games.base import OVER, GameSpec
from arena.games.looks import PLAIN, Look, tell_turn
from arena.games.openings import start_after_opening
from arena.games.pictures import Grid, Picture
from arena.games.spaces import read_actions, read_observations
from arena.needs import CPU
from arena.parameters import Value, read_parameters
from arena.seeding import derive

# Of the environments; numpy's generators take no more than 32 bits from some of them.
SEED_BITS = 31
OBSERVATION, MASK = "observation", "action_mask"


class PettingZooState:
    """One episode in an environment of its own."""

    def __init__(self, game: "PettingZooGame", env: Any) -> None:
        """Take over an environment that was reset."""
        self._game, self.env = game, env
        self.opening: Sequence[int] = ()
        self.actions: list[int] = []
        self._totals = dict.fromkeys(game.seats, 0.0)
        # What agents saw last that the environment has let go.
        self._last_seen: dict[int, NDArray[np.generic]] = {}
        self._find_next_agent()

    def to_move(self) -> int:
        """Return the seat that decides next, or OVER."""
        return self._seat

    def legal_actions(self) -> tuple[int, ...]:
        """Return the legal actions of the seat to move, ascending; empty when over."""
        return tuple(np.flatnonzero(self.legal_mask()).tolist())

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [A], True where legal for the seat to move."""
        n_actions = self._game.spec.n_actions
        if self._seat == OVER:
            return np.zeros(n_actions, np.bool_)
        agent = self._game.seats[self._seat]
        observation = self.env.observe(agent)
        holder = (
            observation
            if isinstance(observation, Mapping) and MASK in observation
            else self.env.infos[agent]
        )
        mask = holder.get(MASK)
        return np.ones(n_actions, np.bool_) if mask is None else np.array(mask, np.bool_)

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return what the seat sees, float32; for a seat that is out, its last observation."""
        if seat in self._last_seen:
            return self._last_seen[seat].copy()
        return self._game.encode(self.env.observe(self._game.seats[seat]))

    def apply(self, action: int) -> None:
        """Play one action of the seat to move. Raises IllegalActionError and changes nothing."""
        if type(action) is not int or action not in self.legal_actions():
            name = self._game.spec.id
            raise IllegalActionError(f"{name}: {action!r:.80} is not in {self.legal_actions()}")
        self.env.step(self._game.decode(action))
        self.actions.append(action)
        self._find_next_agent()

    def returns(self) -> list[float]:
        """Return the sum of each seat's rewards so far."""
        return [self._totals[agent] for agent in self._game.seats]

    def describe(self, seat: int | None = None) -> str:
        """Return whose turn it is or how it ended, and what the game's own words add."""
        names = [f"seat {n}" for n in range(self._game.spec.n_seats)]
        turn = tell_turn(self._seat, self.returns(), names)
        own = self._game.look.describe
        more = own(self.env, seat) if own else f"{len(self.actions)} moves were made."
        return f"{turn} {more}"

    def action_name(self, action: int) -> str:
        """Return what players call a legal action."""
        own = self._game.look.name_action
        return own(self.env, self._seat, action) if own else f"action {action}"

    def begin_after(self, opening: Sequence[int]) -> None:
        """Let what was played so far be the opening."""
        self.opening, self.actions = tuple(opening), []

    def _find_next_agent(self) -> None:
        """Collect rewards, and let go agents that are out, until one decides or none is left."""
        env = self.env
        while env.agents:
            agent = env.agent_selection
            # What it was given since it acted last: the one number every environment keeps to.
            _, reward, is_terminated, is_truncated, _ = env.last(observe=False)
            self._totals[agent] += float(reward)
            self._seat = self._game.seats.index(agent)
            if not (is_terminated or is_truncated):
                return
            self._last_seen[self._seat] = self.observation(self._seat)
            env.step(None)
        self._seat = OVER


class PettingZooGame:
    """An environment of PettingZoo as a game; it has no parameters."""

    parameters: Mapping[str, Value] = {}

    def __init__(  # noqa: PLR0913 - what the environment does not tell
        self,
        name: str,
        make: Callable[[], Any],
        *,
        title: str,
        max_steps: int,
        opening_plies: int = 0,
        has_chance: bool = False,
        has_hidden_information: bool = False,
        is_zero_sum: bool = False,
        is_replayable: bool = True,
        n_bins: int = 0,
        capability: str = CPU,
        look: Look = PLAIN,
    ) -> None:
        """Make an environment to read its spaces from.

        make: returns a new environment, such as `connect_four_v3.env`. max_steps: decisions of all
        agents together. opening_plies: 1 or more without chance. has_hidden_information: True where
        agents act at the same time. is_replayable: False where the seed does not settle all of an
        episode. n_bins: of each number of a continuous action. capability: what a node must have to
        play it. Raises UnsupportedGameError for
        spaces that cannot be numbered or differ by agent.
        """
        self._make, self.look = make, look
        env = self._new_env()
        self.seats: list[str] = list(env.possible_agents)
        act, see = env.action_space(self.seats[0]), env.observation_space(self.seats[0])
        for agent in self.seats:
            if (env.action_space(agent), env.observation_space(agent)) != (act, see):
                raise UnsupportedGameError(f"{name}: {agent} has other spaces than {self.seats[0]}")
        actions = read_actions(name, act, n_bins=n_bins)
        observations = read_observations(name, _unwrap_space(see))
        self.decode, self._encode = actions.decode, observations.encode
        self.spec = GameSpec(
            id=name,
            title=title,
            n_seats=len(self.seats),
            n_actions=actions.n,
            observation_shape=observations.shape,
            observation_dtype="float32",
            has_chance=has_chance,
            has_hidden_information=has_hidden_information,
            opening_plies=opening_plies,
            max_steps=max_steps,
            is_zero_sum=is_zero_sum,
            is_replayable=is_replayable,
            capability=capability,
        )

    def configured(self, parameters: Mapping[str, object]) -> "PettingZooGame":
        """Return the game itself. Raises ParameterError for any parameter."""
        read_parameters(self.spec.id, (), parameters)
        return self

    def start(self, game_seed: int, *, opening_plies: int) -> PettingZooState:
        """Return a new episode; all chance and the opening follow from the game seed.

        Raises ParameterError unless some opening of so many plies leaves the game undecided.
        """
        return start_after_opening(
            self.spec, game_seed, opening_plies, lambda: self._start_episode(game_seed)
        )

    def picture(self, state: PettingZooState, seat: int | None = None) -> Grid | Picture | None:
        """Return a position as it is drawn, None for a game that is only told."""
        return self.look.draw(state.env, seat) if self.look.draw else None

    def encode(self, observation: Any) -> NDArray[np.generic]:
        """Return an observation of the environment as a new array."""
        is_masked = isinstance(observation, Mapping) and OBSERVATION in observation
        return self._encode(observation[OBSERVATION] if is_masked else observation)

    def _start_episode(self, game_seed: int) -> PettingZooState:
        env = self._new_env()
        env.reset(seed=derive("environment", game_seed) >> (63 - SEED_BITS))
        return PettingZooState(self, env)

    def _new_env(self) -> Any:
        env = self._make()
        return parallel_to_aec(env) if isinstance(env, ParallelEnv) else env


def _unwrap_space(space: Any) -> Any:
    """Return the space of what is seen, without the mask that may come with it."""
    return space[OBSERVATION] if OBSERVATION in getattr(space, "keys", tuple)() else space
