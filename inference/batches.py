"""Requests of one checkpoint as one batch: what fits it, merged into one tensor."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference.batch_invariance import Outputs
from inference.model_cache import LoadedModel, ModelShape
from inference.protocol import BlockRequest


class Request(NamedTuple):
    """One block and its place among the answers."""

    place: int
    block: BlockRequest
    n_rows: int


class Batch(NamedTuple):
    """What is asked of one checkpoint; n_rows: the rows of all its blocks."""

    loaded: LoadedModel
    requests: list[Request]
    n_rows: int

    def split_requests(self) -> list["Batch"]:
        """Return each request as a batch of its own."""
        return [batch_of(self.loaded, [request]) for request in self.requests]


def batch_of(loaded: LoadedModel, requests: list[Request]) -> Batch:
    """Return the batch of these requests."""
    return Batch(loaded, requests, sum(request.n_rows for request in requests))


def group_by_checkpoint(blocks: Sequence[BlockRequest]) -> list[list[Request]]:
    """Return the requests of each checkpoint, in the order in which they were asked."""
    groups: dict[str, list[Request]] = {}
    for place, block in enumerate(blocks):
        # A block without dimensions has no rows: it is refused by name when it is compared.
        n_rows = len(block.observations) if block.observations.ndim else 0
        groups.setdefault(block.ref.checkpoint, []).append(Request(place, block, n_rows))
    return list(groups.values())


def group_by_shape(batches: Iterable[Batch]) -> list[list[Batch]]:
    """Return the batches of each form: siblings stand together."""
    groups: dict[ModelShape, list[Batch]] = {}
    for batch in batches:
        groups.setdefault(batch.loaded.form, []).append(batch)
    return list(groups.values())


def describe_misfit(request: Request, loaded: LoadedModel) -> str:
    """Return why the block does not fit the checkpoint, or an empty text."""
    block, n_rows = request.block, request.n_rows
    expected = (n_rows, *loaded.form.observation_shape)
    if not n_rows:
        return "the block has no rows"
    return _describe_difference(
        "observations", block.observations, expected
    ) or _describe_difference("states", block.states, (n_rows, loaded.model.state_size))


def _describe_difference(part: str, block: FloatBatch, expected: tuple[int, ...]) -> str:
    if block.dtype == np.float32 and block.shape == expected:
        return ""
    actual = f"{block.dtype} {list(block.shape)}"
    return f"{part} are {actual}: the checkpoint takes float32 {list(expected)}"


def has_nan(block: BlockRequest) -> bool:
    """Return True for a block that holds NaN or infinity."""
    return not (np.isfinite(block.observations).all() and np.isfinite(block.states).all())


def merge_rows(
    batches: Sequence[Batch | None], size: int, *, is_pinned: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the rows [N, size, *shape] and states [N, size, S] of N batches, on the CPU.

    Each batch is filled up with zeros; None is all zeros. At least one is a batch. is_pinned: in
    memory that a GPU can read by itself.
    """
    loaded = next(batch.loaded for batch in batches if batch)
    is_full = all(batch and batch.n_rows == size for batch in batches)
    make = torch.empty if is_full else torch.zeros
    shape, state_size = loaded.form.observation_shape, loaded.model.state_size
    rows = make((len(batches), size, *shape), dtype=torch.float32, pin_memory=is_pinned)
    states = make((len(batches), size, state_size), pin_memory=is_pinned)
    # Through numpy, whose copies of small blocks cost least.
    row_array, state_array = rows.numpy(), states.numpy()
    for place, batch in enumerate(batches):
        begin = 0
        for request in batch.requests if batch else ():
            end = begin + request.n_rows
            row_array[place][begin:end] = request.block.observations
            state_array[place][begin:end] = request.block.states
            begin = end
    return rows, states


def is_finite(*tensors: Tensor) -> bool:
    """Return True when no tensor holds NaN or infinity; they are on the CPU."""
    # The sum is finite in nearly every case and costs a fifth; it may overflow where nothing is.
    return all(
        isfinite(tensor.sum().item()) or bool(tensor.isfinite().all())
        for tensor in tensors
        if tensor.numel()
    )


def to_numpy(outputs: Outputs) -> NetworkOutput:
    """Return the answer as arrays over the same memory."""
    logits, values, states = outputs
    return NetworkOutput(logits.numpy(), values.numpy(), states.numpy())
