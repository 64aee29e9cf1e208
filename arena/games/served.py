"""Games that live elsewhere: a `Game` whose states are lines to who plays it.

What travels is in arena.games.line_messages; how it travels, over the pipes of a child process or a
WebSocket, is for whoever holds the other end of a `Line` (workers.lines). A catalog file declares:

    GAME = ServedGame(GameSpec(id="my_sim", ..., served=SERVER))                # game servers
    GAME = ServedGame(GameSpec(id="my_sim", ..., served=CHILD), command=("node", "sim.js"))
    GAME = ServedGame(spec, rules=RULES)       # `rules`: the same game as a Python object, if any
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from arena.errors import (
    IllegalActionError,
    InvalidReturnsError,
    ServerFaultError,
    UnsupportedGameError,
)
from arena.games.base import CHILD, OVER, SERVER, Game, GameSpec, State, ranks
from arena.games.line_messages import StateMessage
from arena.parameters import Value, read_parameters

CHECKED_SHARE = 0.05
"""Of the episodes that begin: their seats and legal actions are compared with rules that are here.

What is reported of a match is its actions: that a server hides moves shows while it plays alone.
"""


class Position(NamedTuple):
    """What a server said of an episode; `observation` is of the seat to move, None when over."""

    seat: int
    legal: Sequence[int]
    observation: NDArray[np.generic] | None
    returns: Sequence[float]
    text: str = ""
    names: Sequence[str] = ()


class Line(Protocol):
    """Episodes that are played elsewhere, many at once, each known by its number here.

    Only `wait` waits: what is started, played or given up goes out with the next `flush` or `wait`.
    """

    def start(
        self,
        game_seed: int,
        *,
        opening_plies: int,
        parameters: Mapping[str, Value],
        actions: Sequence[int],
    ) -> int:
        """Begin an episode in which these actions were played before; return its number."""
        ...

    def act(self, episode: int, step: int, action: int) -> None:
        """Play an action; step: how many were applied before it."""
        ...

    def wait(self, episode: int, step: int) -> Position:
        """Return the position after `step` actions.

        Raises ServerLostError, ServerFaultError, and IllegalActionError for the actions of `start`.
        """
        ...

    def end(self, episode: int) -> None:
        """Give an episode up."""
        ...

    def flush(self) -> None:
        """Send what has gathered."""
        ...


class ServedState:
    """One episode at the other end of a line."""

    # What its server applied before the first decision is not said.
    opening: Sequence[int] = ()

    def __init__(
        self,
        spec: GameSpec,
        line: Line,
        episode: int,
        actions: Sequence[int],
        *,
        twin: State | None = None,
    ) -> None:
        """Go on with an episode that the line has started with these actions.

        twin: the same episode by rules that are here; the server may not say otherwise.
        """
        self._spec, self._line, self._episode, self._twin = spec, line, episode, twin
        self.actions: list[int] = list(actions)
        self._position: Position | None = None

    @property
    def _await_position(self) -> Position:
        """The position, waited for where it has not come."""
        if self._position is None:
            self._position = self._line.wait(self._episode, len(self.actions))
            if self._twin is not None:
                _compare_with_twin(self._position, self._twin)
        return self._position

    def to_move(self) -> int:
        """Return the seat that decides next, or OVER. Raises what `Line.wait` does.

        ServerFaultError, too, where rules that are here say otherwise.
        """
        return self._await_position.seat

    def legal_actions(self) -> Sequence[int]:
        """Return the legal actions of the seat to move, ascending; empty when over."""
        return self._await_position.legal

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [A], True where legal for the seat to move."""
        mask = np.zeros(self._spec.n_actions, np.bool_)
        mask[list(self._await_position.legal)] = True
        return mask

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return what the seat to move sees. Raises UnsupportedGameError for any other seat."""
        position = self._await_position
        if position.observation is None or seat != position.seat:
            raise UnsupportedGameError(
                f"{self._spec.id}: its server shows what the seat to move sees, not seat {seat}"
            )
        return position.observation.copy()

    def apply(self, action: int) -> None:
        """Play one action of the seat to move, without waiting for what comes of it."""
        legal = self._await_position.legal
        if type(action) is not int or action not in legal:
            raise IllegalActionError(f"{self._spec.id}: {action!r:.80} is not in {legal}")
        self._line.act(self._episode, len(self.actions), action)
        if self._twin is not None:
            self._twin.apply(action)
        self.actions.append(action)
        self._position = None

    def returns(self) -> Sequence[float]:
        """Return one finite float per seat; zeros while it is not over."""
        return list(self._await_position.returns) or [0.0] * self._spec.n_seats

    def describe(self, seat: int | None = None) -> str:
        """Return what its server says of the position, if anything."""
        del seat
        return self._await_position.text or f"{self._spec.title} after {len(self.actions)} moves."

    def action_name(self, action: int) -> str:
        """Return what its server calls a legal action."""
        position = self._await_position
        if position.names and action in position.legal:
            return position.names[list(position.legal).index(action)]
        return f"action {action}"

    def leave(self) -> None:
        """Give the episode up, unless it is over."""
        if self._position is None or self._position.seat != OVER:
            self._line.end(self._episode)


class ServedGame:
    """A game that is played elsewhere; `rules`, where there are any, are the same game here."""

    def __init__(
        self, spec: GameSpec, *, command: Sequence[str] = (), rules: Game | None = None
    ) -> None:
        """Check that the spec says who plays it. Raises UnsupportedGameError.

        command: of a CHILD, relative names are in the folder of the catalog file.
        """
        if spec.served not in (CHILD, SERVER) or bool(command) != (spec.served == CHILD):
            raise UnsupportedGameError(
                f"{spec.id}: served must be {CHILD!r} with a command or {SERVER!r} without one, "
                f"is {spec.served!r} with {list(command)}"
            )
        self._spec, self.command, self.rules = spec, tuple(command), rules
        self._parameters = read_parameters(spec.id, spec.parameters, {})
        if draw := getattr(rules, "picture", None):
            self.picture = draw
        if (sides := getattr(rules, "sides", None)) is not None:
            self.sides = sides
        self.file_forms: tuple[str, ...] = tuple(getattr(rules, "file_forms", ()))

    @property
    def spec(self) -> GameSpec:
        """What is fixed about the game."""
        return self._spec

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters in force, defaults included."""
        return self._parameters

    def configured(self, parameters: Mapping[str, object]) -> "ServedGame":
        """Return the same game under other parameters. Raises ParameterError."""
        other = ServedGame(self._spec, command=self.command, rules=self.rules)
        other._parameters = read_parameters(self._spec.id, self._spec.parameters, parameters)
        if self.rules is not None:
            other.rules = self.rules.configured(parameters)
        return other

    def start(self, game_seed: int, *, opening_plies: int) -> State:
        """Return an episode of the rules that are here. Raises UnsupportedGameError without any."""
        if self.rules is None:
            raise UnsupportedGameError(
                f"{self._spec.id} is played elsewhere: only a play node has a line to it"
            )
        return self.rules.start(game_seed, opening_plies=opening_plies)

    def start_on(
        self,
        line: Line,
        game_seed: int,
        *,
        opening_plies: int,
        actions: Sequence[int] = (),
        is_checked: bool = False,
    ) -> ServedState:
        """Return a new episode at the other end of a line, in which these actions were played.

        is_checked: against the rules that are here, if there are any and nothing was played yet. A
        child process is our own, as they are.
        """
        twin = None
        is_new = is_checked and not actions and self._spec.served == SERVER
        if is_new and self.rules is not None and can_replay(self):
            twin = self.rules.start(game_seed, opening_plies=opening_plies)
        episode = line.start(
            game_seed, opening_plies=opening_plies, parameters=self._parameters, actions=actions
        )
        return ServedState(self._spec, line, episode, actions, twin=twin)


def _compare_with_twin(position: Position, twin: State) -> None:
    """Raise ServerFaultError where a position differs from the one that local rules give.

    Returns are compared where results are recorded: a lie about them is no mere fault.
    """
    seat, legal = twin.to_move(), list(twin.legal_actions())
    if position.seat != seat:
        raise ServerFaultError(f"it says that seat {position.seat} is to move, by our rules {seat}")
    if seat != OVER and list(position.legal) != legal:
        raise ServerFaultError(
            f"it says that {list(position.legal)!r:.150} are legal, by our rules {legal!r:.150}"
        )


def serve_rules(rules: Game, *, id: str, title: str, **changed: Any) -> ServedGame:
    """Return a game for game servers with the rules of a local game.

    changed: further fields of the spec.
    """
    # Search policies look into the states of an engine, which are not at this end.
    own = {"served": SERVER, "engine": "", **changed}
    return ServedGame(replace(rules.spec, id=id, title=title, **own), rules=rules)


def read_position(message: StateMessage, raw: bytes, spec: GameSpec, *, step: int) -> Position:
    """Return what a server says of an episode after `step` actions.

    raw: the bytes behind its frame. Raises ServerFaultError naming what is no state of the game.
    """
    if message.step != step:
        raise ServerFaultError(f"a state after {message.step} actions, {step} were played")
    if message.seat == OVER:
        return _read_end(message, spec)
    if message.seat >= spec.n_seats:
        raise ServerFaultError(f"seat {message.seat} is to move, the game has {spec.n_seats}")
    legal = message.legal
    if not legal or legal[-1] >= spec.n_actions or legal != sorted(set(legal)):
        raise ServerFaultError(
            f"legal actions must be ascending and in 0..{spec.n_actions - 1}, are {legal!r:.200}"
        )
    if message.names and len(message.names) != len(legal):
        raise ServerFaultError(f"{len(message.names)} names for {len(legal)} legal actions")
    observation = _read_observation(message, raw, spec)
    # A tuple: who decides gets it as it is, and may sort or empty what can be changed.
    return Position(message.seat, tuple(legal), observation, (), message.text, message.names)


def _read_end(message: StateMessage, spec: GameSpec) -> Position:
    try:
        ranks(message.returns, spec.n_seats, spec.teams)
    except InvalidReturnsError as error:
        raise ServerFaultError(str(error)) from error
    return Position(OVER, (), None, message.returns, message.text)


def _read_observation(message: StateMessage, raw: bytes, spec: GameSpec) -> NDArray[np.generic]:
    declared = np.dtype(spec.observation_dtype)
    try:
        if message.at is not None:
            count = int(np.prod(spec.observation_shape))
            flat = np.frombuffer(raw, declared.newbyteorder("<"), count, message.at)
        else:
            flat = _convert_list(message.observation, declared)
        observation = flat.astype(declared).reshape(spec.observation_shape)
    except (ValueError, TypeError, OverflowError) as error:
        raise ServerFaultError(
            f"no observation of {spec.observation_dtype} {list(spec.observation_shape)}: {error}"
        ) from error
    if not np.isfinite(observation.astype(np.float64)).all():
        raise ServerFaultError("an observation must be finite")
    return observation


def _convert_list(said: object, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    """Return numbers as one row of the dtype.

    Raises ValueError, TypeError and OverflowError for what it cannot hold.
    """
    flat = np.array(said, dtype).ravel()
    if dtype.kind == "f":  # whose numbers are rounded
        is_held = np.array(said).dtype.kind != "U"
    else:
        # As Python's own: numpy takes large ints beside small ones for floats, which cuts them.
        is_held = flat.tolist() == np.array(said, object).ravel().tolist()
    if not is_held:
        raise ValueError(f"{said!r:.100} is not of that dtype")
    return flat


def can_replay(game: Game) -> bool:
    """Say whether game seed and actions give the states of an episode again in this process."""
    is_here = not isinstance(game, ServedGame) or game.rules is not None
    return game.spec.is_replayable and is_here
