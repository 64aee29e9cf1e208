"""Seed document 2's baseline: every client has its own copy and asks it row by row.

Also the limit: the same forward with whole blocks and nobody in between.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arena.policies.networked import Block
from benchmarks.serving.forward import Forward
from benchmarks.serving.load import Asker


@dataclass(frozen=True)
class CopyMaker:
    """Gives every client the network for itself; `is_by_row` runs one forward per row."""

    path: Path
    is_by_row: bool

    def __call__(self, client: int) -> Asker:
        del client
        return _Rows(Forward(self.path)) if self.is_by_row else _Blocks(Forward(self.path))


class _Rows:
    def __init__(self, forward: Forward) -> None:
        self._forward = forward

    def ask(self, observations: Block) -> Block:
        answers = [self._forward(row[None]) for row in observations]
        return np.concatenate(answers)[:, :-1]


class _Blocks(_Rows):
    def ask(self, observations: Block) -> Block:
        return self._forward(observations)[:, :-1]
