"""The test game of hidden levels: each seat plays its level once, then a biased coin decides.

The better level wins, unless the coin of seed document 1 turns: then the worse one wins or, between
close levels, nobody does. Two equal levels count as "the first is better", as in that document: who
sits first is balanced by playing every block in both seat orders.
"""

from collections.abc import Callable, Mapping, Sequence
from time import sleep as wall_sleep

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, GameSpec
from arena.parameters import Parameter, Value, read_parameters
from arena.seeding import uniforms

ID = "skill_game"
RATING_RANGE = 100
MAX_RAND_PROB = 0.3
MAX_TIE_PROB = 0.2

_N_SEATS = 2
_LEVELS = tuple(range(RATING_RANGE))
_MASK = np.ones(RATING_RANGE, dtype=np.bool_)
_NO_MASK = np.zeros(RATING_RANGE, dtype=np.bool_)
_MASK.setflags(write=False)
_NO_MASK.setflags(write=False)
_FIRST_WINS, _SECOND_WINS, _TIE = (1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)
_DURATION = Parameter("duration_s", 0.0, "seconds that playing a match takes", 0, 3600)
_SPEC = GameSpec(
    id=ID,
    title="Skill game (test)",
    n_seats=_N_SEATS,
    n_actions=RATING_RANGE,
    observation_shape=(_N_SEATS,),
    observation_dtype="float32",
    has_chance=True,
    has_hidden_information=True,
    opening_plies=0,
    max_steps=_N_SEATS,
    parameters=(_DURATION,),
    is_zero_sum=True,
)


class SkillState:
    """One episode: at most two levels, in the order of the seats."""

    __slots__ = ("__weakref__", "_game", "_game_seed", "actions")
    opening: Sequence[int] = ()

    def __init__(self, game: "SkillGame", game_seed: int) -> None:
        """Start with no level played."""
        self._game, self._game_seed = game, game_seed
        self.actions: list[int] = []

    def to_move(self) -> int:
        """Return the seat that decides next, or OVER."""
        n_played = len(self.actions)
        return n_played if n_played < _N_SEATS else OVER

    def legal_actions(self) -> Sequence[int]:
        """Return every level; none when over."""
        return _LEVELS if len(self.actions) < _N_SEATS else ()

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [100], read-only: all True, or all False when over."""
        return _MASK if len(self.actions) < _N_SEATS else _NO_MASK

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return the seat as float32 [2], one-hot: nothing of the other seat's level."""
        seen = np.zeros(_N_SEATS, dtype=np.float32)
        seen[seat] = 1.0
        return seen

    def apply(self, action: int) -> None:
        """Play a level; the last one takes the game's duration. Raises IllegalActionError."""
        actions = self.actions
        if type(action) is not int or not 0 <= action < RATING_RANGE or len(actions) == _N_SEATS:
            levels = f"0..{RATING_RANGE - 1}" if len(actions) < _N_SEATS else "empty: it is over"
            raise IllegalActionError(f"{ID}: {action!r:.80} is not in {levels}")
        actions.append(action)
        if len(actions) == _N_SEATS and self._game.duration_s:
            self._game.sleep(self._game.duration_s)

    def returns(self) -> tuple[float, float]:
        """Return 1.0 for the winner and -1.0 for the loser, or twice 0.0 for a tie."""
        if len(self.actions) < _N_SEATS:
            return _TIE
        first, second = self.actions
        return _result(self._game_seed, first, second)


class SkillGame:
    """The rules; `sleep` lets the time of a match pass."""

    __slots__ = ("duration_s", "sleep")

    def __init__(
        self, duration_s: float = 0.0, *, sleep: Callable[[float], object] = wall_sleep
    ) -> None:
        """Make the game in which a match takes duration_s seconds of sleep."""
        self.duration_s, self.sleep = duration_s, sleep

    @property
    def spec(self) -> GameSpec:
        """What is fixed about the game."""
        return _SPEC

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters in force, defaults included."""
        return {_DURATION.name: self.duration_s}

    def configured(self, parameters: Mapping[str, object]) -> "SkillGame":
        """Return the same game under other parameters. Raises ParameterError."""
        read = read_parameters(ID, _SPEC.parameters, parameters)
        return SkillGame(float(read[_DURATION.name]), sleep=self.sleep)

    def start(self, game_seed: int, *, opening_plies: int) -> SkillState:
        """Return a new episode. Raises ParameterError unless opening_plies is 0."""
        if opening_plies:
            reason = f"must be 0, as the game has chance: {opening_plies}"
            raise ParameterError(ID, "opening_plies", reason)
        return SkillState(self, game_seed)


def _result(game_seed: int, first: int, second: int) -> tuple[float, float]:
    """Return the returns by the formula of seed document 1, drawn for these seats and levels."""
    gap = abs(first - second) / RATING_RANGE
    as_expected, upset = _FIRST_WINS, _SECOND_WINS
    if first < second:
        as_expected, upset = upset, as_expected
    if gap >= MAX_RAND_PROB:  # no draw lies below 0: spare two hashes of the hot path
        return as_expected
    # The levels enter the draw, so that the two seat orders of a block toss two coins.
    is_random, is_tie = uniforms(2, ID, game_seed, first, second)
    if is_random >= MAX_RAND_PROB - gap:
        return as_expected
    return _TIE if is_tie < MAX_TIE_PROB - gap else upset


GAME = SkillGame()
