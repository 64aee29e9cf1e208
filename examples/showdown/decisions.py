"""Decisions of trajectories that `evalsite generate` has made, as arrays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from arena.trajectories import read_parquet

Floats = NDArray[np.float32]


class Decisions(NamedTuple):
    """N decisions, in the order of the files.

    observations: float32 [N, F]; masks: bool [N, A]; actions: int64 [N]; returns: float32 [N], of
    the seat that decided, at the end; log_probs, values: float32 [N], NaN without a network.
    """

    observations: Floats
    masks: NDArray[np.bool_]
    actions: NDArray[np.int64]
    returns: Floats
    log_probs: Floats
    values: Floats

    def take(self, rows: NDArray[np.integer]) -> "Decisions":
        """Return some of them."""
        return Decisions(*(column[rows] for column in self))


def read_decisions(folders: Sequence[Path], *, agent: str = "") -> Decisions:
    """Return the decisions of an agent, or of all. Raises TrajectoryError, OSError."""
    paths = [path for folder in folders for path in sorted(folder.glob("*.parquet"))]
    parts = [_read_shard(path, agent) for path in paths]
    return Decisions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _read_shard(path: Path, agent: str) -> Decisions:
    rows = read_parquet(path)
    returns = _spread_returns(rows)
    # Who was cut off by a forfeit has no return.
    kept = np.isfinite(returns)
    if agent:
        kept &= rows.column("agent").to_numpy() == agent
    return Decisions(
        _unfold(rows, "observation").astype(np.float32)[kept],
        _unfold(rows, "legal_mask").astype(np.bool_)[kept],
        rows.column("action").to_numpy()[kept].astype(np.int64),
        returns[kept],
        _fill(rows, "log_prob")[kept],
        _fill(rows, "value")[kept],
    )


def _unfold(rows: pa.Table, name: str) -> NDArray[np.generic]:
    column: Any = rows.column(name).combine_chunks()
    flat: NDArray[np.generic] = column.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(rows), -1)


def _fill(rows: pa.Table, name: str) -> Floats:
    return rows.column(name).to_numpy().astype(np.float32)


def _spread_returns(rows: pa.Table) -> Floats:
    """Return for each decision what its seat got at the end, NaN where that was cut off."""
    episodes, seats = rows.column("episode").to_numpy(), rows.column("seat").to_numpy()
    _, whose = np.unique(np.stack([episodes, seats]), axis=1, return_inverse=True)
    at_the_end = rows.column("terminated").to_numpy()
    returns = np.full(whose.max() + 1, np.nan, np.float32)
    returns[whose[at_the_end]] = rows.column("reward").to_numpy()[at_the_end]
    spread: Floats = returns[whose]
    return spread
