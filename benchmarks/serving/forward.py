"""The forward that every server but ours runs: numpy in, logits and values out, one thread."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from arena.policies.network_policy import FloatBatch
from inference.model import load

Bytes = bytes | bytearray


class Forward:
    """One network in this process, on one thread of the CPU."""

    def __init__(self, path: Path) -> None:
        torch.set_num_threads(1)
        model = load(path)
        self._module, self._shape = model.module, model.seal.observation_shape
        self._state_size = model.state_size

    def __call__(self, observations: FloatBatch) -> FloatBatch:
        """Return float32 [B, A + 1]: logits and the value of each row."""
        with torch.inference_mode():
            rows = torch.from_numpy(observations)
            states = torch.zeros((len(observations), self._state_size))
            logits, values, _ = self._module(rows, states)
            answers: FloatBatch = torch.cat((logits, values[:, None]), 1).numpy()
        return answers

    def of_bytes(self, packed: bytearray) -> FloatBatch:
        """Return the same for rows that stand one after the other in writable memory."""
        return self(np.frombuffer(packed, np.float32).reshape(-1, *self._shape))


def forwards(paths: Mapping[str, Path]) -> dict[str, Forward]:
    """Return every network, loaded."""
    return {name: Forward(path) for name, path in paths.items()}
