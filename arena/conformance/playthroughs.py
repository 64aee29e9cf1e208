"""Games played at random for the checks, and what a state shows, to compare it with another."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.conformance.base import require
from arena.games.base import OVER, Game, State

SEEDS = (1, 2, 3)
MANY_SEEDS = range(30)


class ShownState(NamedTuple):
    """All that a state shows of itself."""

    to_move: int
    actions: tuple[int, ...]
    legal_actions: tuple[int, ...]
    mask: list[bool]
    observations: list[NDArray[np.generic]]


def choose_action(state: State, rng: Random) -> int:
    """Return a legal action, each as likely."""
    legal = state.legal_actions()
    require(len(legal), "legal_actions() is empty before the episode is over: return one at least")
    return legal[int(rng.random() * len(legal))]


def play_steps(
    game: Game, seed: int, *, opening_plies: int = 0, choice_seed: int | None = None
) -> Iterator[State]:
    """Yield the states of a random playthrough, the last one over; the same State each time.

    Raises ConformanceError if it is not over after max_steps: no check waits for ever.
    """
    state = game.start(seed, opening_plies=opening_plies)
    rng = Random(seed if choice_seed is None else choice_seed)
    for _ in range(game.spec.max_steps):
        yield state
        if state.to_move() == OVER:
            return
        state.apply(choose_action(state, rng))
    require(
        state.to_move() == OVER,
        f"the game of seed {seed} is not over after max_steps = {game.spec.max_steps}: "
        "raise max_steps, or end the episode",
    )
    yield state


def play_to_the_end(game: Game, seed: int, *, opening_plies: int = 0) -> State:
    """Return the last state of a random playthrough."""
    *_, last = play_steps(game, seed, opening_plies=opening_plies)
    return last


def show_state(game: Game, state: State) -> ShownState:
    """Return all that a state shows, to compare it with another."""
    return ShownState(
        state.to_move(),
        tuple(state.actions),
        tuple(state.legal_actions()),
        state.legal_mask().tolist(),
        [state.observation(seat) for seat in range(game.spec.n_seats)],
    )


def require_same(first: ShownState, second: ShownState, change: str) -> None:
    """Raise ConformanceError, with what differs, unless both show the same."""
    for name, value, same in zip(ShownState._fields[:-1], first[:-1], second[:-1], strict=True):
        require(value == same, f"{change}: {name} is {value!r:.60} and {same!r:.60}")
    is_alike = all(map(np.array_equal, first.observations, second.observations))
    require(is_alike, f"{change}: observations differ")
