"""Seed document 2's baseline: every client has its own copy and asks it row by row.

Also the limit: the same forward with whole blocks and nobody in between.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arena.policies.network_policy import FloatBatch, Network, NetworkOutput
from benchmarks.serving.battles import Side, Spell
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

    def ask(self, observations: FloatBatch) -> FloatBatch:
        answers = [self._forward(row[None]) for row in observations]
        return np.concatenate(answers)[:, :-1]


class _Blocks(_Rows):
    def ask(self, observations: FloatBatch) -> FloatBatch:
        return self._forward(observations)[:, :-1]


@dataclass(frozen=True)
class CopySideMaker:
    """Gives a worker of battles both networks for itself."""

    paths: Sequence[Path]

    def __call__(self) -> Side:
        return _CopySide(self.paths)


class _CopySide:
    def __init__(self, paths: Sequence[Path]) -> None:
        self.spells: list[Spell] = []
        self.networks: Sequence[Network] = [
            _CopyNetwork(Forward(path), self.spells) for path in paths
        ]
        self.n_loads = len(self.networks)


class _CopyNetwork:
    """One checkpoint in this process, asked row by row."""

    state_size = 0

    def __init__(self, forward: Forward, spells: list[Spell]) -> None:
        self._forward, self._spells = forward, spells

    def submit(self, observations: FloatBatch, states: FloatBatch) -> NetworkOutput:
        answers = np.concatenate([self._row(row[None]) for row in observations])
        return NetworkOutput(answers[:, :-1], answers[:, -1], states)

    def result(self, ticket: NetworkOutput) -> NetworkOutput:
        return ticket

    def _row(self, row: FloatBatch) -> FloatBatch:
        began = time.monotonic()
        answer = self._forward(row)
        self._spells.append(Spell(began, time.monotonic()))
        return answer
