"""OpenSpiel's games as ours: one adapter, so that a catalog file is a few lines.

pyspiel has no types: NativeState and NativeGame declare what we use of it.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from importlib.metadata import version
from math import prod
from random import Random
from typing import Any, Protocol

import numpy as np
import pyspiel
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError, UnsupportedGameError
from arena.games.base import OVER, GameSpec, State
from arena.games.looks import PLAIN, Look
from arena.games.observations import Part, Parts
from arena.games.pictures import Grid, Picture
from arena.parameters import Parameter, Value, read_parameters
from arena.seeding import derive
from arena.teams import NO_TEAMS, Teams

ENGINE = "openspiel"
MAX_OPENING_DRAWS = 200
USUAL_OPENING_PLIES = 2

_NO_CHANCE = Random(0)  # never drawn from; making one costs as much as a game of tic-tac-toe


class NativeState(Protocol):
    """The part of pyspiel.State that we use. A copy does not reveal future chance outcomes."""

    def get_game(self) -> Any:
        """Return the engine's game, as its search takes it."""
        ...

    def child(self, action: int) -> "NativeState":
        """Return a copy after the action."""
        ...

    def apply_action(self, action: int) -> None:
        """Play the action; unchecked."""
        ...

    def current_player(self) -> int:
        """Return the seat to move, or a negative number at chance and at the end."""
        ...

    def is_terminal(self) -> bool:
        """Return True once the episode has ended."""
        ...

    def is_chance_node(self) -> bool:
        """Return True where chance moves."""
        ...

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the outcomes of chance with their probabilities."""
        ...

    def legal_actions(self) -> list[int]:
        """Return the legal actions, ascending."""
        ...

    def player_return(self, player: int) -> float:
        """Return what the seat has won so far."""
        ...

    def returns(self) -> list[float]:
        """Return what every seat has won so far."""
        ...

    def history(self) -> list[int]:
        """Return all actions and outcomes of chance so far."""
        ...

    def action_to_string(self, player: int, action: int) -> str:
        """Return what the engine calls an action."""
        ...

    def information_state_string(self, player: int) -> str:
        """Return what a seat knows, in the engine's letters; not every game has it."""
        ...


class NativeGame(Protocol):
    """What we use of pyspiel.Game."""

    def new_initial_state(self) -> NativeState:
        """Return the start of an episode, where chance may be the first to move."""
        ...

    def num_players(self) -> int:
        """Return the number of seats, which may follow from the parameters."""
        ...

    def num_distinct_actions(self) -> int:
        """Return A, the number of actions there are in any state."""
        ...

    def observation_tensor_shape(self) -> list[int]:
        """Return the shape of an observation."""
        ...

    def max_game_length(self) -> int:
        """Return the engine's bound on the decisions of one episode."""
        ...

    def get_type(self) -> Any:
        """Return what the game declares: dynamics, chance, information, utility."""
        ...


class OpenSpielState:
    """One episode; `native` is the engine's state, which a policy may copy and must not change."""

    __slots__ = (
        # Weak references: recurrent states are kept by the state of the game.
        "__weakref__", "_chance", "_game", "_legal", "_seat", "actions", "native", "opening",
    )  # fmt: skip

    def __init__(
        self, game: "OpenSpielGame", native: NativeState, opening: Sequence[int], chance: Random
    ) -> None:
        """Take over the engine's state, in which the opening has been played."""
        self._game, self.native, self._chance = game, native, chance
        self.opening: Sequence[int] = opening
        self.actions: list[int] = []
        # Asked for twice a step, by the policy and by the check of its action; made on demand.
        self._legal: tuple[int, ...] | None = None
        self._settle_chance()

    def to_move(self) -> int:
        """Return the seat that decides next, or OVER."""
        return self._seat

    def legal_actions(self) -> tuple[int, ...]:
        """Return the legal actions of the seat to move, ascending; empty when over."""
        if self._legal is None:
            self._legal = tuple(self.native.legal_actions())
        return self._legal

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [A], True where legal for the seat to move."""
        mask = np.zeros(self._game.spec.n_actions, dtype=np.bool_)
        mask[list(self.legal_actions())] = True
        return mask

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return the engine's observation tensor for the seat, float32."""
        return self._game.observe(self.native, seat)

    def apply(self, action: int) -> None:
        """Play one action of the seat to move, then chance. Raises IllegalActionError."""
        # The engine would take True for 1, and prints what it refuses.
        if type(action) is not int or action not in self.legal_actions():
            name = self._game.spec.id
            raise IllegalActionError(f"{name}: {action!r:.80} is not in {self.legal_actions()}")
        self.native.apply_action(action)
        self.actions.append(action)
        self._settle_chance()

    def returns(self) -> list[float]:
        """Return one finite float per seat; only meaningful when over."""
        return self.native.returns()

    def describe(self, seat: int | None = None) -> str:
        """Return the position in plain words: all of it, or only what one seat knows."""
        return self._game.look.describe_position(self.native, seat, self._seat, self._game.spec)

    def action_name(self, action: int) -> str:
        """Return what players call a legal action, never its bare number."""
        return self._game.look.name_legal_action(self.native, self._seat, action)

    def _settle_chance(self) -> None:
        """Let chance move until a seat decides or the episode is over."""
        while self.native.is_chance_node():
            self.native.apply_action(_draw_outcome(self.native.chance_outcomes(), self._chance))
        self._seat = OVER if self.native.is_terminal() else self.native.current_player()
        self._legal = None


class OpenSpielGame:
    """One of OpenSpiel's games under fixed parameters. Not for several threads at once."""

    def __init__(  # noqa: PLR0913 - most games name three of them
        self,
        name: str,
        *,
        title: str = "",
        opening_plies: int | None = None,
        engine_name: str = "",
        fixed: Mapping[str, Value] | None = None,
        parameters: Sequence[Parameter] = (),
        teams: Teams = NO_TEAMS,
        observation_parts: Parts = (),
        observation_note: str = "",
        look: Look = PLAIN,
    ) -> None:
        """Load the engine's game.

        title: by default the engine's. opening_plies: by default 2, 0 for a game with chance.
        engine_name: what OpenSpiel calls it, where that is not `name`. fixed: engine parameters
        that are part of the game; parameters: engine parameters that users may set. teams: the
        team of each seat, which the engine does not know. observation_parts, observation_note: what
        the engine's tensor holds where its pieces do not say it. look: how it is drawn and told.
        """
        self._teams, self.look = teams, look
        self._parts, self._note = observation_parts, observation_note
        self._name, self._title, self._opening_plies = name, title, opening_plies
        self._engine_name, self._fixed = engine_name or name, dict(fixed or {})
        self._declared = tuple(parameters)
        self._load({parameter.name: parameter.default for parameter in parameters})

    @property
    def spec(self) -> GameSpec:
        """What is fixed about the game."""
        return self._spec

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters in force, defaults included."""
        return self._parameters

    def configured(self, parameters: Mapping[str, object]) -> "OpenSpielGame":
        """Return the same game under other parameters. Raises ParameterError."""
        # A shallow copy: what must not be shared, the engine's game and buffer, is loaded anew.
        game = copy(self)
        game._load(read_parameters(self._name, self._declared, parameters))
        return game

    def start(self, game_seed: int, *, opening_plies: int) -> OpenSpielState:
        """Return a new episode; all chance and the opening follow from the game seed.

        Raises ParameterError unless some opening of so many plies leaves the game undecided.
        """
        if opening_plies < 0 or (opening_plies and self._spec.has_chance):
            rule = "0, as the game has chance" if self._spec.has_chance else "0 or more"
            raise ParameterError(self._name, "opening_plies", f"must be {rule}: {opening_plies}")
        native, opening = self._draw_opening(game_seed, opening_plies)
        chance = Random(game_seed) if self._spec.has_chance else _NO_CHANCE
        return OpenSpielState(self, native, opening, chance)

    def picture(self, state: OpenSpielState, seat: int | None = None) -> Grid | Picture | None:
        """Return a position as it is drawn, None for a game that is only told."""
        return self.look.draw(state.native, seat) if self.look.draw else None

    def observe(self, native: NativeState, seat: int) -> NDArray[np.generic]:
        """Return the observation tensor of a state for a seat: a new float32 array."""
        self._observer.set_from(native, seat)
        return self._tensor.copy()

    def _draw_opening(self, game_seed: int, plies: int) -> tuple[NativeState, tuple[int, ...]]:
        if not plies:
            return self.native.new_initial_state(), ()
        rng = Random(derive("opening", game_seed))
        # Openings that end the game are drawn again, from the same generator: never shortened, or
        # some blocks would start nearer to the end than others.
        for _ in range(MAX_OPENING_DRAWS):
            native, opening = self.native.new_initial_state(), list[int]()
            while len(opening) < plies and not native.is_terminal():
                legal = native.legal_actions()
                opening.append(legal[int(rng.random() * len(legal))])
                native.apply_action(opening[-1])
            if not native.is_terminal():
                return native, tuple(opening)
        reason = f"{plies} plies ended the game in each of {MAX_OPENING_DRAWS} draws"
        raise ParameterError(self._name, "opening_plies", f"is too large: {reason}")

    def _load(self, parameters: Mapping[str, Value]) -> None:
        # Asked first: the engine prints all names that there are.
        if self._engine_name not in pyspiel.registered_names():
            raise UnsupportedGameError(
                f"{self._name}: OpenSpiel {version('open_spiel')} has no game {self._engine_name!r}"
            )
        engine: Any = pyspiel.load_game(self._engine_name, {**self._fixed, **parameters})
        if engine.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
            # Asked one after the other, no seat sees what the others have chosen.
            engine = pyspiel.convert_to_turn_based(engine)
        name, kind = self._name, engine.get_type()
        if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
            raise UnsupportedGameError(
                f"{name}: its engine draws chance itself, so it has no replay"
            )
        if not kind.provides_observation_tensor:
            raise UnsupportedGameError(f"{name}: its engine offers no observation tensor")
        self.native: NativeGame = engine
        self._parameters = dict(parameters)
        # The observer fills one buffer of its own: 5 to 35 times faster than a Python list.
        self._observer: Any = pyspiel._Observation(engine, engine.make_observer({}))
        self._spec = self._read_spec()
        flat = np.frombuffer(self._observer, np.float32)
        self._tensor = flat.reshape(self._spec.observation_shape)

    def _read_spec(self) -> GameSpec:
        kind = self.native.get_type()
        has_chance = kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC
        plies = self._opening_plies
        if plies is None:
            longest = self.native.max_game_length() - 1
            plies = 0 if has_chance else min(USUAL_OPENING_PLIES, longest)
        return GameSpec(
            id=self._name,
            title=self._title or kind.long_name,
            n_seats=self.native.num_players(),
            n_actions=self.native.num_distinct_actions(),
            observation_shape=tuple(self.native.observation_tensor_shape()),
            observation_dtype="float32",
            has_chance=has_chance,
            has_hidden_information=(
                kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION
            ),
            opening_plies=plies,
            max_steps=self.native.max_game_length(),
            parameters=self._declared,
            is_zero_sum=kind.utility == pyspiel.GameType.Utility.ZERO_SUM,
            engine=ENGINE,
            teams=self._teams,
            observation_parts=self._parts or _read_pieces(self._observer),
            observation_note=self._note,
        )


def native_of(state: State) -> NativeState:
    """Return the engine's state to copy and search. Raises UnsupportedGameError without one."""
    native: NativeState | None = getattr(state, "native", None)
    if native is None:
        raise UnsupportedGameError(f"{type(state).__name__} is no state of an OpenSpiel game")
    return native


def _read_pieces(observer: Any) -> Parts:
    """Return the pieces of an engine's observer by their names, none where all is one piece."""
    pieces = observer.tensors_info()
    if len(pieces) == 1:
        return ()
    return tuple(Part(piece.name.replace("_", " "), prod(piece.shape)) for piece in pieces)


def _draw_outcome(outcomes: Sequence[tuple[int, float]], rng: Random) -> int:
    """Return an outcome drawn by its probability; one float of rng a draw.

    Spelled out: how random.choices draws may change between versions of Python, and with it every
    game with chance.
    """
    left = rng.random()
    for outcome, probability in outcomes:
        left -= probability
        if left < 0:
            return outcome
    return outcomes[-1][0]
