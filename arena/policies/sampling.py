"""Choose actions from logits: vectorised, and the same whenever the same match is replayed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arena.errors import InvalidOutputError
from arena.policies.base import Row
from arena.policies.network_policy import FloatBatch, MaskBatch
from arena.seeding import SEED_BITS

_FLOAT_BITS = 53


def check_logits(logits: FloatBatch, masks: MaskBatch) -> None:
    """Raise InvalidOutputError unless the logits are finite and one per action."""
    if logits.shape != masks.shape:
        raise InvalidOutputError(f"logits must be {masks.shape}, got {logits.shape}")
    if not np.isfinite(logits).all():
        n_rows = int((~np.isfinite(logits)).any(axis=1).sum())
        raise InvalidOutputError(f"logits are NaN or infinite in {n_rows} of {len(logits)} rows")


def choose_greedy(logits: FloatBatch, masks: MaskBatch) -> NDArray[np.int64]:
    """Return the legal action of the largest logit per row, the lowest of equal ones: int64 [B].

    logits: finite float [B, A]; masks: bool [B, A], at least one True per row.
    """
    best: NDArray[np.int64] = np.where(masks, logits, -np.inf).argmax(axis=1)
    return best


def sample_actions(
    logits: FloatBatch, masks: MaskBatch, uniforms: NDArray[np.float64], *, temperature: float
) -> NDArray[np.int64]:
    """Return per row the action at `uniforms` of the cumulated softmax of logits / temperature.

    logits: finite float [B, A]; masks: bool [B, A], at least one True per row; uniforms: float64
    [B] in [0, 1). Computed in float64; an action of no probability is never returned.
    """
    masked = np.where(masks, logits.astype(np.float64), -np.inf)
    masked -= masked.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # far from the best at a low temperature: probability 0
        cumulated = np.exp(masked / temperature).cumsum(axis=1)
    total = cumulated[:, -1]
    # A product that rounds up to the total itself would lie behind the last action.
    aims = np.minimum(uniforms * total, np.nextafter(total, 0))
    chosen: NDArray[np.int64] = (cumulated > aims[:, None]).argmax(axis=1)
    return chosen


def action_probabilities(logits: FloatBatch, masks: MaskBatch) -> NDArray[np.float64]:
    """Return the softmax of the logits over the legal actions: float64 [B, A], 0 where illegal.

    logits: finite float [B, A]; masks: bool [B, A], at least one True per row.
    """
    masked = np.where(masks, logits.astype(np.float64), -np.inf)
    likelihoods = np.exp(masked - masked.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = likelihoods / likelihoods.sum(axis=1, keepdims=True)
    return shares


def log_prob(
    logits: NDArray[np.float32], mask: NDArray[np.bool_], action: int, *, temperature: float
) -> float:
    """Return the log-probability with which `sampled`, or at 0 `greedy`, chooses the action.

    logits: finite float [A]; mask: bool [A]. 0.0 or minus infinity at temperature 0.
    """
    if not temperature:
        return 0.0 if choose_greedy(logits[None], mask[None])[0] == action else -np.inf
    masked = np.where(mask, logits.astype(np.float64), -np.inf) / temperature
    masked -= masked.max()
    return float(masked[action] - np.log(np.exp(masked).sum()))


def row_uniforms(rows: Sequence[Row]) -> NDArray[np.float64]:
    """Return a float64 in [0, 1) per row, by the row's own seed."""
    return seed_uniforms(np.array([row.seed() for row in rows], np.uint64))


def seed_uniforms(seeds: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return a float64 in [0, 1) per seed of a decision, each below 2 to the SEED_BITS."""
    # The upper bits of the seed, as many as a float64 holds.
    return (seeds >> np.uint64(SEED_BITS - _FLOAT_BITS)) / 2.0**_FLOAT_BITS
