"""What an observation says, by name: for policies that decide by rules."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.games.base import GameSpec, State
from arena.games.showdown.layout import N_MOVES, PARTS, columns

Numbers = NDArray[np.float64]


class Sight(NamedTuple):
    """One observation, [SIZE]."""

    numbers: Numbers

    def of(self, block: str, name: str) -> Numbers:
        """Return one number of each row of a block."""
        return self.numbers[columns(block, name)]

    @property
    def active(self) -> int:
        """The place of the own Pokemon that is out; 0 where none is."""
        return int(np.argmax(self.of("own_pokemon", "is_active")))

    def hp(self, block: str) -> float:
        """Return the share of HP of the active Pokemon in `own_pokemon` or `their_pokemon`."""
        return float((self.of(block, "hp") * self.of(block, "is_active")).sum())


def look(state: State, seat: int) -> Sight:
    """Return what a seat sees."""
    return Sight(state.observation(seat).astype(np.float64))


def refuse_game(spec: GameSpec) -> str | None:
    """Return why a policy that reads such observations cannot play a game, or None."""
    if spec.observation_parts == PARTS:
        return None
    return "it reads the observations of battles of Pokemon Showdown"


def is_move(action: int) -> bool:
    """Say whether an action is a move, and no switch."""
    return action < N_MOVES
