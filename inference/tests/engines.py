"""Engines for tests: real networks, some of which fail where a test says so."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from arena.policies.network_policy import NetworkOutput
from inference.batch_invariance import Forward, Outputs, make_batch_invariant
from inference.engine import Engine
from inference.model import Model
from inference.model_cache import ModelCache
from inference.protocol import Answer, BlockRequest, CheckpointRef
from inference.stacking import Stacks
from inference.tests.sealed import BOARD, Folder

RAISES, ANSWERS_NAN = 1000.0, 2000.0
"""First value of a row that makes a tripwire go off."""


class Tripwire:
    """A network that raises or answers NaN for marked rows, or has memory for few rows only."""

    def __init__(self, model: Model, *, most_rows: int = 1 << 20) -> None:
        make_batch_invariant(model.module)
        self._module, self.most_rows = model.module, most_rows
        self.sizes: list[int] = []

    def __call__(self, rows: Tensor, states: Tensor) -> Outputs:
        self.sizes.append(len(rows))
        if len(rows) > self.most_rows:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")
        marks = rows.flatten(1)[:, 0]
        if bool((marks == RAISES).any()):
            raise ValueError("a row it cannot bear")
        logits, values, after = self._module(rows, states)
        return torch.where((marks == ANSWERS_NAN)[:, None], torch.nan, logits), values, after


class Bench:
    """A folder of checkpoints and an engine over it."""

    def __init__(
        self,
        folder: Folder,
        *,
        is_deterministic: bool = True,
        limit_bytes: int = 1 << 30,
        make: Callable[[Model], Forward] = Tripwire,
        stacks: bool = False,
    ) -> None:
        self.folder = folder
        self.models = ModelCache(
            folder.store,
            limit_bytes=limit_bytes,
            device=torch.device("cpu"),
            dtype=torch.float32,
            prepare=make,
        )
        stacking = Stacks(
            self.models.find_loaded, must_be_equal=is_deterministic, limit_bytes=limit_bytes
        )
        self.engine = Engine(
            self.models, stacks=stacking if stacks else None, is_deterministic=is_deterministic
        )

    def ask(self, *blocks: BlockRequest) -> list[Answer]:
        return self.engine.answer(blocks)


def block_of(
    ref: CheckpointRef,
    n_rows: int,
    *,
    seed: int = 0,
    mark: float = 0.0,
    state_size: int = 0,
    shape: tuple[int, ...] = BOARD,
) -> BlockRequest:
    """Return random rows; the first one is marked."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, *shape), dtype=np.float32)
    if mark:
        rows[0].flat[0] = mark
    return BlockRequest(ref, rows, rng.standard_normal((n_rows, state_size), dtype=np.float32))


def evaluated(answer: Answer) -> NetworkOutput:
    """Return the answer of a request that must have one."""
    assert isinstance(answer, NetworkOutput), answer
    return answer
