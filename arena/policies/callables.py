"""Policies without our protocol: one function of what a seat sees, alone or as a kind."""

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import index
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.games.base import Game, GameSpec
from arena.parameters import Parameter
from arena.policies.base import Row, accepted

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


class CallableKind:
    """A function as a kind of policy: what a plug-in file offers as POLICY in ten lines."""

    is_batched = False
    parameters: tuple[Parameter, ...] = ()

    def __init__(
        self, name: str, choose: Act, *, title: str = "", games: Collection[str] = ()
    ) -> None:
        """Offer the function under the name of its file; games: ids, empty for all games."""
        self.id, self.title = name, title or name.replace("_", " ").capitalize()
        self._choose, self._games = choose, frozenset(games)

    def refusal(self, spec: GameSpec) -> str | None:
        """Return that it plays other games, or None where it plays this one."""
        if not self._games or spec.id in self._games:
            return None
        return f"it plays {', '.join(sorted(self._games))}"

    def build(self, game: Game, parameters: Mapping[str, object]) -> CallablePolicy:
        """Return the policy. Raises ParameterError or UnsupportedGameError."""
        accepted(self, game, parameters)
        return CallablePolicy(self._choose)
