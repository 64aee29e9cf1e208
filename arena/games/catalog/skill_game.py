"""The test game of hidden levels: each seat plays its level once, then a biased coin decides.

The better level wins, unless the coin of seed document 1 turns: then the worse one wins or, between
close levels, nobody does. Two equal levels count as "the first is better", as in that document: who
sits first is balanced by playing every block in both seat orders.
"""

from collections.abc import Callable, Mapping, Sequence
from time import sleep as wall_sleep
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, GameSpec
from arena.games.cards import HIDDEN, Hand, draw_table
from arena.games.looks import tell_turn
from arena.games.observations import parts
from arena.games.pictures import SEAT_TINTS, Picture
from arena.parameters import Parameter, Value, read_parameters
from arena.seeding import derive_uniforms

ID = "skill_game"
RATING_RANGE = 100
MAX_RAND_PROB = 0.3
MAX_TIE_PROB = 0.2

_N_SEATS = 2
_LEVELS = tuple(range(RATING_RANGE))
_MASK = np.ones(RATING_RANGE, dtype=np.bool_)
_NO_MASK = np.zeros(RATING_RANGE, dtype=np.bool_)
_MASK.setflags(write=False)
_NO_MASK.setflags(write=False)  # both are shared by all states
_FIRST_WINS, _SECOND_WINS, _TIE = (1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)
DURATION = Parameter("duration_s", 0.0, "seconds that playing a match takes", 0, 3600)
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
    parameters=(DURATION,),
    is_zero_sum=True,
    observation_parts=parts(("the seat, one-hot", _N_SEATS)),
)


class SkillState:
    """One episode: at most one level a seat, in the order of the seats."""

    # Weak references: recurrent states are kept by the state of the game.
    __slots__ = ("__weakref__", "_game", "_game_seed", "actions")
    n_seats: ClassVar = _N_SEATS
    opening: Sequence[int] = ()

    def __init__(self, game: "SkillGame", game_seed: int) -> None:
        """Start with no level played."""
        self._game, self._game_seed = game, game_seed
        self.actions: list[int] = []

    def to_move(self) -> int:
        """Return the seat that decides next, or OVER."""
        n_played = len(self.actions)
        return n_played if n_played < self.n_seats else OVER

    def legal_actions(self) -> Sequence[int]:
        """Return every level; none when over."""
        return _LEVELS if len(self.actions) < self.n_seats else ()

    def legal_mask(self) -> NDArray[np.bool_]:
        """Return bool [100], read-only: all True, or all False when over."""
        return _MASK if len(self.actions) < self.n_seats else _NO_MASK

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return the seat as float32 [n_seats], one-hot; the levels of other seats stay hidden."""
        one_hot = np.zeros(self.n_seats, dtype=np.float32)
        one_hot[seat] = 1.0
        return one_hot

    def apply(self, action: int) -> None:
        """Play a level; the last one takes the game's duration. Raises IllegalActionError."""
        actions, n_seats = self.actions, self.n_seats
        if type(action) is not int or not 0 <= action < RATING_RANGE or len(actions) == n_seats:
            levels = f"0..{RATING_RANGE - 1}" if len(actions) < n_seats else "empty: it is over"
            raise IllegalActionError(f"{self._game.spec.id}: {action!r:.80} is not in {levels}")
        actions.append(action)
        if len(actions) == n_seats and self._game.duration_s:
            self._game.sleep(self._game.duration_s)

    def returns(self) -> tuple[float, ...]:
        """Return 1.0 for the winner and -1.0 for the loser, or twice 0.0 for a tie."""
        if len(self.actions) < _N_SEATS:
            return _TIE
        first, second = self.actions
        return toss_result(self._game_seed, first, second)

    def describe(self, seat: int | None = None) -> str:
        """Return the levels that were played, of a seat its own alone."""
        seats = [f"seat {n}" for n in range(self.n_seats)]
        levels = [
            f"Seat {n} plays level {level}."
            for n, level in enumerate(self.actions)
            if seat in (None, n)
        ]
        return " ".join((tell_turn(self.to_move(), self.returns(), seats), *levels))

    def action_name(self, action: int) -> str:
        """Return the level in words."""
        return f"level {action}"


class SkillGame:
    """The rules; `sleep` lets the time of a match pass."""

    __slots__ = ("duration_s", "sleep")
    _spec: ClassVar = _SPEC
    _state: ClassVar = SkillState

    def __init__(
        self, duration_s: float = 0.0, *, sleep: Callable[[float], object] = wall_sleep
    ) -> None:
        """Make the game in which a match takes duration_s seconds of sleep."""
        self.duration_s, self.sleep = duration_s, sleep

    @property
    def spec(self) -> GameSpec:
        """What is fixed about the game."""
        return self._spec

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters in force, defaults included."""
        return {DURATION.name: self.duration_s}

    def configured(self, parameters: Mapping[str, object]) -> Self:
        """Return the same game under other parameters. Raises ParameterError."""
        values = read_parameters(self.spec.id, self.spec.parameters, parameters)
        return type(self)(float(values[DURATION.name]), sleep=self.sleep)

    def start(self, game_seed: int, *, opening_plies: int) -> SkillState:
        """Return a new episode. Raises ParameterError unless opening_plies is 0."""
        if opening_plies:
            reason = f"must be 0, as the game has chance: {opening_plies}"
            raise ParameterError(self.spec.id, "opening_plies", reason)
        return self._state(self, game_seed)

    def picture(self, state: SkillState, seat: int | None = None) -> Picture:
        """Return the levels as cards, those of other seats face down."""
        levels: list[list[str]] = [[] for _ in range(state.n_seats)]
        for n, level in enumerate(state.actions):
            levels[n] = [str(level) if seat in (None, n) else HIDDEN]
        return draw_table(
            [
                Hand(f"seat {n}", cards, is_to_move=n == state.to_move(), tint=SEAT_TINTS[n])
                for n, cards in enumerate(levels)
            ]
        )


def toss_result(
    game_seed: int, first: int, second: int, *, levels: int = RATING_RANGE
) -> tuple[float, float]:
    """Return the returns by the formula of seed document 1, drawn for these seats and levels.

    levels: how many there are.
    """
    gap = abs(first - second) / levels
    as_expected, upset = _FIRST_WINS, _SECOND_WINS
    if first < second:
        as_expected, upset = upset, as_expected
    if gap >= MAX_RAND_PROB:  # no draw lies below 0: spare two hashes of the hot path
        return as_expected
    # The levels enter the draw, so that the two seat orders of a block toss two coins.
    is_random, is_tie = derive_uniforms(2, ID, game_seed, first, second)
    if is_random >= MAX_RAND_PROB - gap:
        return as_expected
    return _TIE if is_tie < MAX_TIE_PROB - gap else upset


GAME = SkillGame()
