"""Skills as a mixture of joint normal distributions: quantiles, gaps, chances to be better."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from arena.ratings.base import Z95
from arena.ratings.counts import Floats, Ints
from arena.ratings.information_matrix import variances_about_mean

# Within so many sd of a part lies more than 95 % of it; halved so often, that is 1e-12 of it.
_FAR, _N_HALVINGS = 3.0, 42
_TAILS = np.array([[ndtr(-Z95)], [ndtr(Z95)]])


class Part(NamedTuple):
    """A normal part of a mixture: mean [n], covariance [n, n], and the spread that it is under."""

    mean: Floats
    covariance: Floats
    spread: float


@dataclass(frozen=True, eq=False)
class Mixture:
    """Parts, and their shares: float64 [s], of one together."""

    shares: Floats
    parts: Sequence[Part]

    @property
    def spread(self) -> float:
        """Return the standard deviation of an agent of which nothing is known."""
        return sqrt(self.shares @ np.array([part.spread**2 for part in self.parts]))

    def find_ends(self) -> tuple[Floats, Floats]:
        """Return between what 95 % of each skill lies, about the mean of the field: [n] each."""
        means = np.array([part.mean - part.mean.mean() for part in self.parts])
        sd = np.sqrt([variances_about_mean(part.covariance) for part in self.parts])
        return _find_quantiles(self.shares, means, sd)

    def find_gap_ends(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Return between what 95 % of how far agents i [k] are above agents j [k] lies."""
        gaps = np.array([part.mean[i] - part.mean[j] for part in self.parts])
        sd = np.sqrt([find_gap_variances(part.covariance, i, j) for part in self.parts])
        return _find_quantiles(self.shares, gaps, sd)

    def find_superiorities(self) -> Floats:
        """Return P(row is above column): [n, n], one half on the diagonal."""
        of_parts = [find_superiorities(part.mean, part.covariance) for part in self.parts]
        # A sum of shares may be more than 1 by rounding.
        return np.clip(np.tensordot(self.shares, of_parts, axes=1), 0, 1)


def _find_quantiles(shares: Floats, means: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Return between what 95 % of n mixtures of s normal distributions lies: [n] each, by halving.

    shares: [s]. means, sd: [s, n].
    """
    low = np.broadcast_to((means - _FAR * sd).min(axis=0), (len(_TAILS), means.shape[1]))
    high = np.broadcast_to((means + _FAR * sd).max(axis=0), low.shape)
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        is_below = np.einsum("s,esn->en", shares, ndtr((middle[:, None] - means) / sd)) < _TAILS
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return low[0], high[1]


def find_gap_variances(covariance: Floats, i: Ints, j: Ints) -> Floats:
    """Return the variances [k] of the gaps between agents i [k] and agents j [k]."""
    variances: Floats = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    return np.maximum(variances, 0)


def find_superiorities(mean: Floats, covariance: Floats) -> Floats:
    """Return P(row is above column) of normal skills: [n, n], one half on the diagonal."""
    diagonal = np.diag(covariance)
    variances = diagonal[:, None] + diagonal - 2 * covariance
    np.fill_diagonal(variances, 1.0)
    above: Floats = ndtr((mean[:, None] - mean) / np.sqrt(variances))
    return above
