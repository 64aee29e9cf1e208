"""Seeded random openings of games whose engine starts an episode and applies actions."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol, TypeVar

from arena.errors import ParameterError
from arena.games.base import OVER, GameSpec
from arena.seeding import derive

MAX_DRAWS = 200


class OpenedState(Protocol):
    """A state that can be told that what was played so far is its opening."""

    actions: list[int]

    def to_move(self) -> int:
        """Return the seat that decides next, or OVER."""
        ...

    def legal_actions(self) -> Sequence[int]:
        """Return the legal actions of the seat to move, ascending."""
        ...

    def apply(self, action: int) -> None:
        """Play one action of the seat to move."""
        ...

    def begin_after(self, opening: Sequence[int]) -> None:
        """Let what was played so far be the opening."""
        ...


AnyState = TypeVar("AnyState", bound=OpenedState)


def start_after_opening(
    spec: GameSpec, game_seed: int, plies: int, reset: Callable[[], AnyState]
) -> AnyState:
    """Return a new episode after so many random plies; reset: starts one from the game seed.

    Raises ParameterError unless some opening of so many plies leaves the game undecided.
    """
    if plies < 0 or (plies and spec.has_chance):
        rule = "0, as the game has chance" if spec.has_chance else "0 or more"
        raise ParameterError(spec.id, "opening_plies", f"must be {rule}: {plies}")
    rng = Random(derive("opening", game_seed))
    # Drawn again where they end the game, from the same generator, as in every game.
    for _ in range(MAX_DRAWS):
        state = reset()
        while len(state.actions) < plies and state.to_move() != OVER:
            legal = state.legal_actions()
            state.apply(legal[int(rng.random() * len(legal))])
        if state.to_move() != OVER:
            state.begin_after(state.actions)
            return state
    reason = f"{plies} plies ended the game in each of {MAX_DRAWS} draws"
    raise ParameterError(spec.id, "opening_plies", f"is too large: {reason}")
