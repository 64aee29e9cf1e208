"""Small games for tests of the SDK."""

from typing import Any

import numpy as np


class Nim:
    """Fifteen counters, one to three a turn; who takes the last wins."""

    game, n_seats, n_actions = "nim", 2, 3
    observation_shape, observation_dtype = (2,), "float32"

    def reset(self, seed: int, opening_plies: int, parameters: dict[str, Any]) -> None:
        self.left, self.mover = parameters.get("counters", 15), 0
        self.seed, self.is_closed = seed, False

    def seat(self) -> Any:
        return self.mover if self.left else -1

    def legal(self) -> Any:
        return [action for action in range(3) if action < self.left]

    def observation(self) -> Any:
        return np.array([self.left, self.seed % 1000], np.float32)

    def apply(self, action: Any) -> None:
        self.left, self.mover = self.left - action - 1, 1 - self.mover

    def returns(self) -> Any:
        return [-1.0, 1.0] if self.mover == 0 else [1.0, -1.0]


class WordyNim(Nim):
    """The same with JSON observations and words."""

    def observation(self) -> Any:
        return [self.left, self.seed % 1000]

    def text(self) -> Any:
        return f"{self.left} left"

    def names(self) -> Any:
        return [f"take {action + 1}" for action in self.legal()]
