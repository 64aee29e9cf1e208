"""The learned policy, by NumPy alone; its weights fit evalsite's architecture mlp."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from llmserve_env.simulator.agents import find_choices
from llmserve_env.simulator.features import N_FIELDS, SIZE, observe
from llmserve_env.simulator.settings import CHOICES, Settings, choose
from llmserve_env.simulator.simulator import Server

Floats = NDArray[np.float32]

N_ACTIONS: Final = max(map(len, CHOICES))
HIDDEN: Final = 128
SHAPES: Final[Mapping[str, tuple[int, ...]]] = {
    "body.0.weight": (HIDDEN, SIZE),
    "body.0.bias": (HIDDEN,),
    "body.2.weight": (HIDDEN, HIDDEN),
    "body.2.bias": (HIDDEN,),
    "policy.weight": (N_ACTIONS, HIDDEN),
    "policy.bias": (N_ACTIONS,),
    "value.weight": (1, HIDDEN),
    "value.bias": (1,),
}
MASKS: Final = np.array([[a < len(choices) for a in range(N_ACTIONS)] for choices in CHOICES])
_NEVER: Final = -1e9


class WeightsError(Exception):
    """A file holds no weights of this policy; the message names it and what does not fit."""


class Network:
    """Two hidden layers; one choice at a time, each with those before it among its inputs."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        """Take float32 arrays of SHAPES."""
        self._weights = weights

    def logits(self, observations: Floats, field: int) -> Floats:
        """Return [B, N_ACTIONS] for [B, SIZE]; what is no choice of the field is never taken."""
        w = self._weights
        hidden = np.tanh(observations @ w["body.0.weight"].T + w["body.0.bias"])
        hidden = np.tanh(hidden @ w["body.2.weight"].T + w["body.2.bias"])
        return np.where(
            MASKS[field], hidden @ w["policy.weight"].T + w["policy.bias"], np.float32(_NEVER)
        )

    def decide(self, server: Server, last: Settings) -> Settings:
        """Return the settings of the next window: the likeliest choice of each field."""
        chosen: list[int] = []
        before = find_choices(last)
        for field in range(N_FIELDS):
            seen = observe(server.sight, server.n_windows, before, chosen)
            chosen.append(int(self.logits(seen[None], field)[0].argmax()))
        return choose(chosen)

    def sample(
        self, server: Server, before: Sequence[int], n: int, rng: np.random.Generator
    ) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Draw n whole choices for the next window.

        Returns observations [n, N_FIELDS, SIZE], choices [n, N_FIELDS] and their log-probabilities
        [n].
        """
        seen = np.empty((n, N_FIELDS, SIZE), np.float32)
        choices = np.empty((n, N_FIELDS), np.int64)
        log_p = np.zeros(n, np.float32)
        for field in range(N_FIELDS):
            for row in range(n):
                chosen = choices[row, :field].tolist()
                seen[row, field] = observe(server.sight, server.n_windows, before, chosen)
            logits = self.logits(seen[:, field], field)
            logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
            choices[:, field] = (logits + rng.gumbel(size=logits.shape)).argmax(1)
            log_p += logits[np.arange(n), choices[:, field]]
        return seen, choices, log_p


def load_network(path: Path) -> Network:
    """Return the policy of a safetensors file. Raises WeightsError."""
    # Here, as the rules need no weights and so no package to read them.
    from safetensors.numpy import load_file  # noqa: PLC0415

    try:
        weights = load_file(path)
    except Exception as error:  # its own errors share no class but this one
        raise WeightsError(f"{path}: no weights in safetensors: {error}") from error
    shapes = {name: array.shape for name, array in weights.items()}
    for name in sorted(SHAPES.keys() | shapes.keys()):
        if shapes.get(name) != SHAPES.get(name):
            raise WeightsError(
                f"{path}: {name} is {shapes.get(name)}, must be {SHAPES.get(name)}: "
                "train.py makes such files"
            )
        if weights[name].dtype != np.float32 or not np.isfinite(weights[name]).all():
            raise WeightsError(f"{path}: {name} must be finite float32")
    return Network(weights)
