"""The test game of one seat: twenty throws of a die, and the score is how many went forward.

Each throw is made at a level, the true skill: the higher, the more dice let the walker pass. Dice
of even throws are the same at every level, so that a game seed is easy or hard for all who play it;
those of odd throws are drawn for the level, so that one seed does not tell two levels apart.
"""

from collections.abc import Callable, Mapping, Sequence
from time import sleep as wall_sleep
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, GameSpec
from arena.games.catalog.skill_game import DURATION, RATING_RANGE
from arena.games.observations import parts
from arena.games.pictures import EMPTY, Cell, Grid, Side
from arena.parameters import Value, read_parameters
from arena.seeding import derive_uniforms

ID = "dice_walk"
N_THROWS = 20
LEAST_CHANCE, MOST_CHANCE = 0.2, 0.8

_LEVELS = tuple(range(RATING_RANGE))
_COLUMNS, _ROWS = "abcdefg", ("1", "2", "3")  # a field for the start and each step forward
_SPEC = GameSpec(
    id=ID,
    title="Dice walk (test)",
    n_seats=1,
    n_actions=RATING_RANGE,
    observation_shape=(2,),
    observation_dtype="float32",
    has_chance=True,
    has_hidden_information=False,
    opening_plies=0,
    max_steps=N_THROWS,
    parameters=(DURATION,),
    score_range=(0.0, float(N_THROWS)),
    observation_parts=parts("throws made, of 20", "steps forward, of 20"),
)


class WalkState:
    """One episode: a level for each throw, and how far the walker has come."""

    # Weak references: recurrent states are kept by the state of the game.
    __slots__ = ("__weakref__", "_game", "_game_seed", "actions", "n_forward")
    opening: Sequence[int] = ()

    def __init__(self, game: "DiceWalk", game_seed: int) -> None:
        """Start at the first field."""
        self._game, self._game_seed = game, game_seed
        self.actions: list[int] = []
        self.n_forward = 0

    def to_move(self) -> int:
        """Return seat 0, or OVER."""
        return OVER if len(self.actions) == N_THROWS else 0

    def legal_actions(self) -> Sequence[int]:
        """Return every level; none when over."""
        return () if self.to_move() == OVER else _LEVELS

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [100]: all True, or all False when over."""
        return np.full(RATING_RANGE, self.to_move() != OVER)

    def observation(self, seat: int) -> NDArray[np.generic]:  # noqa: ARG002
        """Return float32 [2]: the parts of the throws that were made and that went forward."""
        return np.array([len(self.actions), self.n_forward], np.float32) / N_THROWS

    def apply(self, action: int) -> None:
        """Throw at a level; the last throw takes the game's duration. Raises IllegalActionError."""
        if type(action) is not int or action not in self.legal_actions():
            raise IllegalActionError(f"{ID}: {action!r:.80} is not in {self.legal_actions()!r:.20}")
        throw = len(self.actions)
        own = (action,) if throw % 2 else ()
        (die,) = derive_uniforms(1, ID, self._game_seed, throw, *own)
        chance = LEAST_CHANCE + (MOST_CHANCE - LEAST_CHANCE) * action / (RATING_RANGE - 1)
        self.n_forward += die < chance
        self.actions.append(action)
        if self.to_move() == OVER and self._game.duration_s:
            self._game.sleep(self._game.duration_s)

    def returns(self) -> tuple[float, ...]:
        """Return how many throws went forward."""
        return (float(self.n_forward),)

    def describe(self, seat: int | None = None) -> str:  # noqa: ARG002
        """Return how far the walker has come."""
        n_left = N_THROWS - len(self.actions)
        walked = f"The walker went forward {self.n_forward} times in {len(self.actions)} throws"
        return f"{walked}, {n_left} to go." if n_left else f"{walked}. The walk is over."

    def action_name(self, action: int) -> str:
        """Return the level in words."""
        return f"level {action}"


class DiceWalk:
    """The rules; `sleep` lets the time of an episode pass."""

    __slots__ = ("duration_s", "sleep")
    spec: ClassVar = _SPEC

    def __init__(
        self, duration_s: float = 0.0, *, sleep: Callable[[float], object] = wall_sleep
    ) -> None:
        """Make the game in which an episode takes duration_s seconds of sleep."""
        self.duration_s, self.sleep = duration_s, sleep

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters in force, defaults included."""
        return {DURATION.name: self.duration_s}

    def configured(self, parameters: Mapping[str, object]) -> "DiceWalk":
        """Return the same game under other parameters. Raises ParameterError."""
        values = read_parameters(ID, self.spec.parameters, parameters)
        return DiceWalk(float(values[DURATION.name]), sleep=self.sleep)

    def start(self, game_seed: int, *, opening_plies: int) -> WalkState:
        """Return a new episode. Raises ParameterError unless opening_plies is 0."""
        if opening_plies:
            reason = f"must be 0, as the game has chance: {opening_plies}"
            raise ParameterError(ID, "opening_plies", reason)
        return WalkState(self, game_seed)

    def picture(self, state: WalkState, seat: int | None = None) -> Grid:  # noqa: ARG002
        """Return the fields with the walker on one of them."""
        walker = Cell(seat=0)
        rows = [[EMPTY] * len(_COLUMNS) for _ in _ROWS]
        row, column = divmod(state.n_forward, len(_COLUMNS))
        rows[row][column] = walker
        sides = (Side("the walker", "green"),)
        return Grid(tuple(map(tuple, rows)), _COLUMNS, _ROWS, sides, has_moving_pieces=True)


GAME = DiceWalk()
