"""Matches as tensors: the decisions of the one policy that learns, seat by seat."""

from collections.abc import Iterable
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from arena import trajectories
from arena.trajectories import TrajectoryError, TrajectorySpec
from training.base import Task
from training.returns import Bools, Floats, Steps


class Decisions(NamedTuple):
    """B decisions, those of a seat of a match one after the other.

    observations: float32 [B, F]. masks: bool [B, A]. actions: int64 [B]. log_probs: float32 [B], as
    when played. rewards: float64 [B]. is_last: bool [B], of a seat in a match: nothing follows.
    n_matches: in which a decision of this policy was taken and which went to their end.
    """

    observations: Tensor
    masks: Tensor
    actions: Tensor
    log_probs: Tensor
    rewards: Floats
    is_last: Bools
    n_matches: int

    def __len__(self) -> int:
        """Return how many decisions there are."""
        return len(self.actions)


def read_decisions(pieces: Iterable[bytes], task: Task, *, checkpoint: str) -> Decisions:
    """Return what the policy of a checkpoint has decided, in matches that went to their end.

    A match that several pieces have is taken from the first. Raises TrajectoryError.
    """
    form = TrajectorySpec(task.game, task.observation_shape, task.n_actions)
    episodes: dict[int, pa.Table] = {}
    for piece in pieces:
        rows = trajectories.read_parquet(BytesIO(piece))
        if (piece_form := trajectories.read_spec(rows.schema)) != form:
            raise TrajectoryError(f"a piece is of {piece_form}, not of {form}")
        for number, episode in trajectories.split_episodes(rows).items():
            episodes.setdefault(number, episode)
    ordered = [episodes[number] for number in sorted(episodes)]
    rows = pa.concat_tables([trajectories.arrow_schema(form).empty_table(), *ordered])
    return _sort_rows(rows, form, checkpoint)


def _sort_rows(rows: pa.Table, form: TrajectorySpec, checkpoint: str) -> Decisions:
    episodes, seats = _read_column(rows, "episode"), _read_column(rows, "seat")
    log_probs = _read_column(rows, "log_prob").astype(np.float32)
    cut_off = np.unique(episodes[_read_column(rows, "truncated")])
    own = np.asarray(rows.column("checkpoint").to_pylist()) == checkpoint
    # A decision without a log-probability was not drawn from the policy's own distribution.
    chosen = np.flatnonzero(own & np.isfinite(log_probs) & ~np.isin(episodes, cut_off))
    # Stable: the steps of a seat stay in their order.
    chosen = chosen[np.lexsort((seats[chosen], episodes[chosen]))]
    traces = np.stack([episodes[chosen], seats[chosen]])
    follows = (traces[:, 1:] == traces[:, :-1]).all(axis=0)
    return Decisions(
        torch.from_numpy(_read_lists(rows, "observation", form.n_features)[chosen]),
        torch.from_numpy(_read_lists(rows, "legal_mask", form.n_actions)[chosen]),
        torch.from_numpy(_read_column(rows, "action").astype(np.int64)[chosen]),
        torch.from_numpy(log_probs[chosen]),
        _read_column(rows, "reward").astype(np.float64)[chosen],
        np.append(~follows, True)[: len(chosen)],
        len(np.unique(episodes[chosen])),
    )


def _read_column(rows: pa.Table, name: str) -> NDArray[Any]:
    return np.asarray(rows.column(name).to_numpy())


def _read_lists(rows: pa.Table, name: str, length: int) -> NDArray[Any]:
    values: Any = rows.column(name).combine_chunks()
    return np.asarray(values.flatten().to_numpy(zero_copy_only=False)).reshape(-1, length)


def list_steps(decisions: Decisions, values: Tensor, *, reward_scale: float) -> Steps:
    """Return what the returns of the decisions are worked out from; values: float32 [B]."""
    now = values.double().numpy()
    # The next decision of the same seat is its successor; the last one of a match has none.
    return Steps(
        reward_scale * decisions.rewards,
        now,
        np.append(now[1:], 0.0),
        decisions.is_last,
        decisions.is_last,
    )
