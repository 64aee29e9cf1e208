"""The networks that are served: the small and the big one, with siblings of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from arena.checkpoints import Seal
from arena.policies.network_policy import FloatBatch
from benchmarks.serving.forward import Forward
from inference.model import fresh, save_sealed
from inference.protocol import CheckpointRef

N_ACTIONS = 8
SHAPE = (128,)
N_SIBLINGS = 8
GAIN = 6**0.5


@dataclass(frozen=True)
class Size:
    """A multilayer perceptron: its name in the table and its hidden layers."""

    name: str
    width: int
    depth: int

    def seal(self, game: str, shape: tuple[int, ...], n_actions: int) -> Seal:
        """Return what the file of such a checkpoint says of itself."""
        hidden = ",".join([str(self.width)] * self.depth)
        return Seal("mlp", {"hidden": hidden}, game, shape, n_actions)


SMALL = Size("small", 256, 2)
BIG = Size("big", 1024, 8)


@dataclass(frozen=True)
class Checkpoint:
    """One set of weights: its file and its SHA-256."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class Network:
    """A network of the table: the checkpoint that is asked, first of its siblings."""

    name: str
    siblings: Sequence[Checkpoint]

    @property
    def path(self) -> Path:
        """Return the file of the one that is asked."""
        return self.siblings[0].path

    def answer(self) -> Callable[[FloatBatch], FloatBatch]:
        """Return what computes the logits that must come."""
        forward = Forward(self.path)
        return lambda observations: forward(observations)[:, :-1]

    def siblings_answer(self) -> Callable[[FloatBatch], FloatBatch]:
        """Return the same for a block of which every sibling is asked an equal part."""
        forwards = [Forward(one.path) for one in self.siblings]

        def answer(observations: FloatBatch) -> FloatBatch:
            parts = np.split(observations, len(forwards))
            asked = [forward(part) for forward, part in zip(forwards, parts, strict=True)]
            return np.concatenate(asked)[:, :-1]

        return answer


def networks(size: Size, cache: Path) -> Network:
    """Write siblings of that size where a gpu worker looks for what it has fetched."""
    seal = size.seal("bench", SHAPE, N_ACTIONS)
    return Network(size.name, [checkpoint(seal, cache, seed=seed) for seed in range(N_SIBLINGS)])


def checkpoint(seal: Seal, cache: Path, *, seed: int) -> Checkpoint:
    """Write fresh weights into the cache under the name that the store looks for."""
    cache.mkdir(parents=True, exist_ok=True)
    sealed = cache / "sealed"
    sha256 = save_sealed(_lively(fresh(seal, seed=seed)), sealed, seal)
    return Checkpoint(sealed.rename(cache / f"{sha256}.safetensors"), sha256)


def _lively(module: nn.Module) -> nn.Module:
    """Give the layers the variance that passes a signal on: else deep logits are all alike."""
    with torch.no_grad():
        for weight in module.parameters():
            if weight.dim() > 1:
                weight.mul_(GAIN)
    return module


def ref_of(sha256: str) -> CheckpointRef:
    """Return what is asked; the file lies in the cache, so that its link is never followed."""
    return CheckpointRef(sha256, f"/files/checkpoints/{sha256}")
