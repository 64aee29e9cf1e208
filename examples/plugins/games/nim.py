"""A heap of counters: take one, two or three; who takes the last one wins."""

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, ParameterError
from arena.games.base import OVER, GameSpec
from arena.games.looks import tell_turn
from arena.games.pictures import Circle, Picture
from arena.parameters import Value, read_parameters
from arena.seeding import derive

HEAP, MOST = 21, 3
MAX_OPENING = HEAP // MOST - 1

SPEC = GameSpec(
    id="nim",  # the name of this file
    title="Nim, one heap",
    n_seats=2,
    n_actions=MOST,
    observation_shape=(HEAP + 1,),
    observation_dtype="float32",
    has_chance=False,
    has_hidden_information=False,
    opening_plies=2,
    max_steps=HEAP,
    is_zero_sum=True,
)


class NimState:
    """One episode; action n takes n + 1 counters."""

    def __init__(self, opening: Sequence[int]) -> None:
        self.opening = tuple(opening)
        self.actions: list[int] = []
        self.left = HEAP - sum(action + 1 for action in opening)

    def to_move(self) -> int:
        return (len(self.opening) + len(self.actions)) % 2 if self.left else OVER

    def legal_actions(self) -> Sequence[int]:
        return range(min(MOST, self.left))

    def legal_mask(self) -> NDArray[np.bool_]:
        return np.arange(MOST) < self.left

    def observation(self, seat: int) -> NDArray[np.generic]:
        """Return what is left, one-hot; both seats see the same."""
        del seat
        seen = np.zeros(HEAP + 1, dtype=np.float32)
        seen[self.left] = 1
        return seen

    def apply(self, action: int) -> None:
        if type(action) is not int or action not in self.legal_actions():
            raise IllegalActionError(f"nim: {action!r:.80} is not below {min(MOST, self.left)}")
        self.left -= action + 1
        self.actions.append(action)

    def returns(self) -> Sequence[float]:
        if self.left:
            return (0.0, 0.0)
        is_first = (len(self.opening) + len(self.actions)) % 2
        return (1.0, -1.0) if is_first else (-1.0, 1.0)

    def describe(self, seat: int | None = None) -> str:
        """Return whose turn it is and what is left, which both seats see."""
        del seat
        turn = tell_turn(self.to_move(), self.returns(), ("seat 0", "seat 1"))
        return f"{turn} Counters left: {self.left}."

    def action_name(self, action: int) -> str:
        return f"take {action + 1}"


class Nim:
    """The rules; there is nothing to configure."""

    spec = SPEC
    parameters: Mapping[str, Value] = {}

    def configured(self, parameters: Mapping[str, object]) -> "Nim":
        read_parameters(SPEC.id, (), parameters)
        return self

    def start(self, game_seed: int, *, opening_plies: int) -> NimState:
        """Return a new episode; without chance, the opening makes matches differ."""
        if not 0 <= opening_plies <= MAX_OPENING:
            raise ParameterError(SPEC.id, "opening_plies", f"must be 0..{MAX_OPENING}")
        rng = Random(derive("opening", game_seed))
        return NimState([int(rng.random() * MOST) for _ in range(opening_plies)])

    def picture(self, state: NimState, seat: int | None = None) -> Picture:
        """Draw the counters that are left; optional, as a game that is not drawn is told."""
        del seat
        counters = [Circle(6 + 10 * n, 6, 4, "blue") for n in range(state.left)]
        return Picture(10 * HEAP + 2, 12, tuple(counters))


GAME = Nim()
