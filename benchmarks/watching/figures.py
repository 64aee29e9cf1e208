"""From what viewers and database noted to the figures of `./run bench live`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LONGEST_MS = 120_000
_MS = 1_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Outcomes(NamedTuple):
    """Outcomes in the order of recording: each moment with how many were recorded up to it."""

    recorded_at: Floats
    n_so_far: Ints


class Watched(NamedTuple):
    """States S in order: how many outcomes each shows, and when each viewer V received it.

    received: [S, V], in seconds, infinite for what never came.
    """

    n_counted: Ints
    received: Floats


def count_delays(outcomes: Outcomes, watched: Watched, *, begin: float, end: float) -> Ints:
    """Return how many (outcome, viewer) waited so many milliseconds; the last: longer, or for ever.

    An outcome reaches a viewer with the first state that counts it, or a later one. Only outcomes
    recorded from begin to end.
    """
    reached = np.minimum.accumulate(watched.received[::-1])[::-1]
    # The first state that counts it.
    state_of = np.searchsorted(watched.n_counted, outcomes.n_so_far)
    n_each = np.diff(outcomes.n_so_far, prepend=0)
    is_inside = (outcomes.recorded_at >= begin) & (outcomes.recorded_at < end)
    counts = np.zeros(_LONGEST_MS + 1, np.int64)
    for state in np.unique(state_of[is_inside]):
        here = is_inside & (state_of == state)
        if state < len(reached):
            waits = reached[state][None, :] - outcomes.recorded_at[here][:, None]
        else:
            waits = np.full((int(here.sum()), reached.shape[1]), np.inf)
        weights = np.broadcast_to(n_each[here][:, None], waits.shape)
        # A histogram by millisecond: millions of waits are not kept one by one.
        ms = np.clip(np.ceil(waits * _MS), 0, _LONGEST_MS).astype(np.int64)
        counts += np.bincount(ms.ravel(), weights.ravel(), len(counts)).astype(np.int64)
    return counts


def find_quantile_ms(counts: Ints, share: float) -> float | None:
    """Return within how many milliseconds this share was there; None: not within two minutes."""
    at = int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
    return None if at >= _LONGEST_MS else float(at)


def find_most_behind(published_at: Floats, received: Floats, *, begin: float, end: float) -> int:
    """Return by how many states a viewer was behind the newest pushed one, at worst.

    The worst moment of a viewer is just before it receives something. published_at: [S].
    """
    reached = np.minimum.accumulate(received[::-1])[::-1]
    worst = 0
    for state in np.flatnonzero((published_at >= begin) & (published_at < end)):
        newest = np.searchsorted(published_at, reached[state], side="left")
        worst = max(worst, int((newest - state).max()))
    return worst


def find_growth(sizes: Floats) -> float:
    """Return by how much the last tenth is above the first, by their medians."""
    tenth = max(1, len(sizes) // 10)
    return float(np.median(sizes[-tenth:]) - np.median(sizes[:tenth]))
