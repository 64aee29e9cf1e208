"""Policies without our protocol: one function of what a seat sees."""

from collections.abc import Callable, Sequence
from operator import index
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.policies.base import Row

# Takes the observation of the seat to move, bool [A] with True where legal, and a generator that
# is the decision's own; returns the action.
Act = Callable[[NDArray[np.generic], NDArray[np.bool_], Random], Any]


class CallablePolicy:
    """A policy of a function: asked row by row."""

    def __init__(self, choose: Act) -> None:
        """Keep the function."""
        self._choose = choose

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return one action per row. Raises TypeError for an answer that is no whole number."""
        return [
            # numpy's integers as well, as most functions end with an argmax.
            index(self._choose(row.state.observation(row.seat), row.state.legal_mask(), row.rng()))
            for row in rows
        ]
