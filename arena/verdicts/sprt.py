"""The sequential test of two agents: whether A is better than B by elo1 rather than by elo0.

The generalised sequential probability ratio test on multinomial outcomes: three cells (loss, draw,
win) for single games or, far cheaper when the opening favours a seat, five for blocks of two games
with the seats exchanged (LL, LD, LW or DD, DW, WW). What a test says depends on its counts alone,
so that a test that goes on later, or runs twice on the same evidence, is the same test.

Sources: Van den Bergh, "The generalized maximum likelihood ratio for the expectation value of a
distribution" (support_MLE_multinomial, proposition 1.1) and "Normalized Elo, a practical guide"
(section 4.1), as used by Stockfish's fishtest; bounds by Wald (1945). Overshoot is not corrected
for: it makes both errors a little rarer than alpha and beta.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, log, log1p, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arena.ratings.base import Z95
from arena.ratings.counts import Floats, Ints
from arena.verdicts.base import MAX_ERROR, VerdictError
from arena.verdicts.scale import elo_of_score, score_of_elo

# Cells of single games and of blocks of two.
SINGLES, BLOCKS = 3, 5
# Points of normalised Elo of one standard deviation of a game.
ELO_PER_T = 800 / log(10)

# What a cell without any outcome counts.
_UNSEEN = 1e-3
_N_HALVINGS = 45
_N_TURNS = 12
_TINY = 1e-9


class EloModel(StrEnum):
    """The scale of elo0 and elo1."""

    # Elo of the expected score.
    LOGISTIC = "logistic"
    # Expected score above one half in standard deviations of a game: independent of draws.
    NORMALISED = "normalised"


# Bounds lie within; a score so far from one half in standard deviations may not exist.
MOST_ELO = {EloModel.LOGISTIC: 1_000.0, EloModel.NORMALISED: 200.0}


class Decision(StrEnum):
    """What a test says after the outcomes so far."""

    # Better by elo1.
    ACCEPT = "accept"
    # Not better by more than elo0.
    REJECT = "reject"
    CONTINUE = "continue"


@dataclass(frozen=True)
class SprtState:
    """Where a test stands between its bounds."""

    llr: float
    lower: float
    upper: float
    n_games: int

    @property
    def decision(self) -> Decision:
        """Which bound was reached, or to go on."""
        if self.llr >= self.upper:
            return Decision.ACCEPT
        return Decision.REJECT if self.llr <= self.lower else Decision.CONTINUE


@dataclass(frozen=True)
class SequentialTest:
    """alpha: of accepting a difference of elo0. beta: of rejecting a difference of elo1."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: EloModel = EloModel.LOGISTIC

    def __post_init__(self) -> None:
        """Refuse bounds that are no test."""
        if not (isfinite(self.elo0) and isfinite(self.elo1) and self.elo0 < self.elo1):
            raise VerdictError(f"bounds must be finite, elo0 < elo1, got {self.elo0}, {self.elo1}")
        if max(abs(self.elo0), abs(self.elo1)) > MOST_ELO[self.model]:
            most = f"within {MOST_ELO[self.model]:g} points of {self.model} Elo"
            raise VerdictError(f"bounds must be {most}, got {self.elo0}, {self.elo1}")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < MAX_ERROR:
                raise VerdictError(f"{name} must be between 0 and {MAX_ERROR}, got {value!r}")

    @property
    def lower(self) -> float:
        """The log-likelihood ratio at which elo1 is rejected."""
        return log(self.beta) - log1p(-self.alpha)

    @property
    def upper(self) -> float:
        """The log-likelihood ratio at which elo1 is accepted."""
        # The quotient is beyond all floats where alpha is the least of them.
        return log1p(-self.beta) - log(self.alpha)

    def llr(self, counts: ArrayLike) -> Floats:
        """Return the log-likelihood ratio of elo1 against elo0: [...] for counts [..., 3 or 5].

        counts: how often each outcome was seen, the worst for A first. Raises VerdictError.
        """
        table = _check_counts(counts)
        seen = np.where(table == 0, _UNSEEN, table)
        shares = seen / seen.sum(axis=-1, keepdims=True)
        if self.model is EloModel.LOGISTIC:
            at_1, at_0 = (fit_to_score(shares, score_of_elo(elo)) for elo in (self.elo1, self.elo0))
        else:
            # A block of two games has half the variance of one, so its effect is larger by sqrt(2).
            scale = sqrt(2) if shares.shape[-1] == BLOCKS else 1.0
            at_1, at_0 = (
                fit_to_effect(shares, elo / ELO_PER_T * scale) for elo in (self.elo1, self.elo0)
            )
        ratio: Floats = (seen * np.log(at_1 / at_0)).sum(axis=-1)
        return np.where(table.any(axis=-1), ratio, 0.0)

    def state(self, counts: Sequence[int] | Ints) -> SprtState:
        """Return where the test stands after counts [3] or [5]. Raises VerdictError."""
        games = 2 if len(counts) == BLOCKS else 1
        n_games = games * int(np.sum(counts))
        return SprtState(float(self.llr(counts)), self.lower, self.upper, n_games)

    def curve(self, outcomes: Sequence[int] | Ints, n_cells: int = BLOCKS) -> Floats:
        """Return the log-likelihood ratio after each outcome, [m], for outcomes 0..n_cells-1."""
        return self.llr(np.cumsum(np.eye(n_cells, dtype=np.int64)[np.asarray(outcomes)], axis=0))


def fit_to_score(shares: Floats, score: float) -> Floats:
    """Return the likeliest distribution of this expected score: [..., k] for shares [..., k]."""
    values = np.linspace(0, 1, shares.shape[-1]) - score
    return shares / (1 + _find_root(shares, np.broadcast_to(values, shares.shape)) * values)


def fit_to_effect(shares: Floats, t: float) -> Floats:
    """Return the likeliest distribution with (mean - 1/2) / sd = t: [..., k], by iteration."""
    values = np.linspace(0, 1, shares.shape[-1])
    fitted = np.full(shares.shape, 1 / shares.shape[-1])
    for _ in range(_N_TURNS):
        mean = (fitted * values).sum(axis=-1, keepdims=True)
        sd = np.sqrt((fitted * (values - mean) ** 2).sum(axis=-1, keepdims=True))
        moved = values - 0.5 - t * sd * (1 + ((mean - values) / sd) ** 2) / 2
        before, fitted = fitted, shares / (1 + _find_root(shares, moved) * moved)
        if np.abs(fitted - before).max() < _TINY:
            break
    return fitted


def _find_root(shares: Floats, values: Floats) -> Floats:
    """Return x [..., 1] where sum shares * values / (1 + x * values) = 0; the sum falls with x."""
    low = -1 / values.max(axis=-1, keepdims=True) + _TINY
    high = -1 / values.min(axis=-1, keepdims=True) - _TINY
    # Halving, and not Newton's method: all rows of [...] at once, and none can run away.
    for _ in range(_N_HALVINGS):
        x = (low + high) / 2
        is_low = (shares * values / (1 + x * values)).sum(axis=-1, keepdims=True) > 0
        low, high = np.where(is_low, x, low), np.where(is_low, high, x)
    middle: Floats = (low + high) / 2
    return middle


def _check_counts(counts: ArrayLike) -> NDArray[np.int64]:
    table = np.asarray(counts)
    if table.dtype.kind not in "iu" or table.shape[-1:] not in ((SINGLES,), (BLOCKS,)):
        raise VerdictError(
            f"counts must be {SINGLES} or {BLOCKS} whole numbers, got {counts!r:.80}"
        )
    if (table < 0).any():
        raise VerdictError(f"counts must be 0 or more, got {table.min()}")
    return table.astype(np.int64)


@dataclass(frozen=True)
class EloEstimate:
    """How much better A is, in points of Elo, with an interval of 95 %."""

    elo: float
    low: float
    high: float


def estimate_elo(counts: Sequence[int] | Ints) -> EloEstimate:
    """Return the difference that counts [3] or [5] show, its variance taken per outcome.

    After a sequential test it leans to the side of its verdict. Raises VerdictError.
    """
    table = _check_counts(counts)
    seen = table + _UNSEEN
    values, shares = np.linspace(0, 1, len(seen)), seen / seen.sum()
    mean = float(shares @ values)
    half = Z95 * sqrt(float(shares @ (values - mean) ** 2) / max(int(table.sum()), 1))
    low, high = (min(max(score, _TINY), 1 - _TINY) for score in (mean - half, mean + half))
    return EloEstimate(elo_of_score(mean), elo_of_score(low), elo_of_score(high))
