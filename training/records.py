"""Steps in any order, each with all that learning from records needs."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from arena.experience.chunks import Chunk
from arena.experience.datasets import Rows
from training.batches import join_chunks

ILLEGAL = -1e9
"""The logit of an action that is not legal; infinity would make NaN of its gradient."""


@dataclass(frozen=True, eq=False)
class Records:
    """B steps.

    observations, next_observations: float32 [B, F]. actions: int64 [B]. rewards: float32 [B].
    terminated: bool [B], that nothing more would have come. masks, next_masks: bool [B, A].
    """

    observations: Tensor
    next_observations: Tensor
    actions: Tensor
    rewards: Tensor
    terminated: Tensor
    masks: Tensor
    next_masks: Tensor

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self.actions)

    def take(self, rows: Tensor) -> "Records":
        """Return some of the steps; rows: int64, their indices."""
        return Records(*(getattr(self, field.name)[rows] for field in fields(self)))


def read_chunks(chunks: Sequence[Chunk], *, n_actions: int) -> Records:
    """Return all steps of one chunk or more; uploads do not tell which actions were legal."""
    batch = join_chunks(chunks)
    masks = torch.ones(len(batch), n_actions, dtype=torch.bool)
    return Records(
        batch.observations,
        batch.next_observations,
        batch.actions,
        batch.rewards,
        torch.from_numpy(batch.terminated),
        masks,
        masks,
    )


def read_rows(rows: Rows) -> Records:
    """Return all steps of a shard, in their order."""
    # Of an episode's last step there is no next mask: where it was cut off, its own stands in.
    following = np.arange(1, len(rows) + 1)
    is_last = find_last_steps(rows)
    following[is_last] -= 1
    columns = (
        *(rows.observations, rows.next_observations, rows.actions.astype(np.int64)),
        *(rows.rewards, rows.terminated, rows.legal_masks, rows.legal_masks[following]),
    )
    # Copies: what Arrow has read may not be written to, and tensors promise that they may.
    return Records(*map(torch.tensor, columns))


def find_last_steps(rows: Rows) -> NDArray[np.bool_]:
    """Return which steps are the last of their episode and seat in a shard: bool [T]."""
    is_last = np.ones(len(rows), np.bool_)
    for values in (rows.episodes, rows.seats):
        is_last[:-1] &= values[1:] == values[:-1]
    is_last[:-1] = ~is_last[:-1]
    return is_last
