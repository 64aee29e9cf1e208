"""What a game must say of a position that somebody decides in; else no agent can be to blame."""

import numpy as np

from arena.errors import GameFaultError
from arena.games.base import OVER, GameSpec, State


def read_seat(seat: object, n_seats: int) -> int:
    """Return who is to move, a seat or OVER. Raises GameFaultError for anything else."""
    if isinstance(seat, (int, np.integer)) and OVER <= seat < n_seats:
        return int(seat)
    raise GameFaultError(f"to_move() is {seat!r:.80}: must be 0..{n_seats - 1}, or {OVER} for over")


def check_position(state: State, seat: int, spec: GameSpec, *, refused: int | None = None) -> None:
    """Raise GameFaultError unless the seat can decide; whatever the game raises, too.

    refused: an action that the game did not take. For when an agent has failed: before each
    decision it would cost as much as the decision.
    """
    legal, mask = list(state.legal_actions()), np.asarray(state.legal_mask())
    observation = np.asarray(state.observation(seat))
    if not legal:
        raise GameFaultError("legal_actions() is empty before the episode is over")
    if not all(type(action) is int for action in legal):
        raise GameFaultError(f"legal actions must be Python ints, are {legal!r:.80}")
    if mask.shape != (spec.n_actions,) or np.flatnonzero(mask).tolist() != legal:
        raise GameFaultError(f"legal_mask() is not True at just the legal actions {legal!r:.80}")
    if observation.shape != spec.observation_shape:
        shapes = f"{spec.observation_shape}, is {observation.shape}"
        raise GameFaultError(f"an observation must have shape {shapes}")
    if not np.isfinite(observation.astype(np.float64)).all():
        raise GameFaultError("an observation must be finite")
    if refused in legal:
        raise GameFaultError(f"apply() refuses {refused}, which is one of its legal actions")
