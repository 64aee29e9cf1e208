"""Chunks of experience as tensors, one chunk after the other."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from arena.experience.chunks import UNKNOWN_VERSION, Chunk
from training.returns import Bools


class Batch(NamedTuple):
    """T steps of several chunks.

    observations, next_observations: float32 [T, F]. actions: int64 [T]. rewards, log_probs:
    float32 [T]. terminated, is_cut: bool [T]; is_cut: no step follows in the same trace.
    """

    observations: Tensor
    next_observations: Tensor
    actions: Tensor
    rewards: Tensor
    log_probs: Tensor
    terminated: Bools
    is_cut: Bools

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self.actions)


class SortedChunks(NamedTuple):
    """Chunks that can be learned from on-policy, and how many steps of the others there are."""

    fresh: list[Chunk]
    n_stale: int
    n_unknown: int


def join_chunks(chunks: Sequence[Chunk]) -> Batch:
    """Return all steps of one chunk or more; a trace ends with its episode and with its chunk."""

    def join(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(chunk, name) for chunk in chunks])

    terminated = join("terminated")
    is_cut = terminated | join("truncated")
    is_cut[np.cumsum([len(chunk) for chunk in chunks]) - 1] = True
    return Batch(
        torch.from_numpy(join("observations")),
        torch.from_numpy(join("next_observations")),
        torch.from_numpy(join("actions").astype(np.int64)),
        torch.from_numpy(join("rewards")),
        torch.from_numpy(join("log_probs")),
        terminated,
        is_cut,
    )


def sort_chunks(chunks: Sequence[Chunk], *, version: int, max_lag: int) -> SortedChunks:
    """Part what a policy of this version can learn from by importance weights from the rest.

    Stale is what a version more than max_lag ago has chosen; unknown what has no version of ours,
    a later one than the policy's own, or an action without its log-probability.
    """
    fresh: list[Chunk] = []
    n_stale = n_unknown = 0
    for chunk in chunks:
        is_ours = UNKNOWN_VERSION < chunk.policy_version <= version
        if not is_ours or np.isnan(chunk.log_probs).any():
            n_unknown += len(chunk)
        elif version - chunk.policy_version > max_lag:
            n_stale += len(chunk)
        else:
            fresh.append(chunk)
    return SortedChunks(fresh, n_stale, n_unknown)
