"""A network without torch, for whatever asks one to be checked."""

import numpy as np

from arena.conformance.base import require
from arena.games.base import Game
from arena.policies.network_policy import FloatBatch, NetworkOutput


class Linear:
    """A network of one layer; with `size` it also adds up what it has seen."""

    def __init__(self, game: Game, *, size: int = 0, seed: int = 3) -> None:
        """Draw the weights from the seed."""
        rng = np.random.default_rng(seed)
        n_inputs = int(np.prod(game.spec.observation_shape))
        self.weights = rng.standard_normal((n_inputs, game.spec.n_actions))
        self.mixed = rng.standard_normal((n_inputs, size))
        self.recalled = rng.standard_normal((size, game.spec.n_actions))
        self.state_size = size
        self.blocks: list[int] = []
        self.spoil: float | None = None

    def submit(self, observations: FloatBatch, states: FloatBatch) -> tuple[FloatBatch, FloatBatch]:
        """Take rows to answer. Raises ConformanceError for other types and shapes than float32."""
        dtypes = [rows.dtype.name for rows in (observations, states)]
        require(dtypes == ["float32"] * 2, f"rows must be float32, are {dtypes}")
        shape = (len(observations), self.state_size)
        require(states.shape == shape, f"states must have shape {shape}, have {states.shape}")
        self.blocks.append(len(observations))
        return observations.copy(), states.copy()

    def result(self, ticket: tuple[FloatBatch, FloatBatch]) -> NetworkOutput:
        """Return the answer to rows."""
        observations, states = ticket
        flat = observations.reshape(len(observations), -1).astype(np.float64)
        after = np.tanh(0.5 * states + flat @ self.mixed)
        logits = flat @ self.weights + after @ self.recalled
        if self.spoil is not None:
            logits[-1, 0] = self.spoil
        values = np.zeros(len(flat), np.float32)
        return NetworkOutput(logits.astype(np.float32), values, after.astype(np.float32))
