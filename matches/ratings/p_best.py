"""How probably each of some agents is the best of them, by their settled ratings."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

# In sd: so far from where the best is, an agent counts as worse for sure.
_FAR = 6.0
_QUANTILES = ndtri(np.linspace(1e-7, 1 - 1e-7, 65))
_N_NODES = 1_000
_END = 3.5
_SMALLEST = 1e-300


def compute_p_best(mu: Sequence[float] | Floats, sd: Sequence[float] | Floats) -> Floats:
    """Return P(the skill of this agent is above that of all others) for each; they add up to 1.

    mu, sd: [A]. Skills count as independent and normal: the covariance of the fit is not stored.
    Integrated over the skill of the best, with no random number, so the same ratings say the same.
    """
    means, doubts = np.asarray(mu, np.float64), np.asarray(sd, np.float64)
    chances = np.zeros(len(means))
    if not len(means):
        return chances
    # Who surely lies below somebody else is never the best, and takes no part.
    may = means + _FAR * doubts >= (means - _FAR * doubts).max()
    means, doubts = means[may], doubts[may]
    nodes = _place_nodes(means, doubts)
    below = ndtr((nodes - means[:, None]) / doubts[:, None])  # [A, N]
    # A product of many small numbers: by logs, with the own one taken out again.
    logs = np.log(np.maximum(below, _SMALLEST))
    others = np.exp(logs.sum(axis=0) - logs)
    # Over each interval between nodes: this skill is in it, all others are below.
    masses: Floats = (np.diff(below, axis=1) * (others[:, 1:] + others[:, :-1]) / 2).sum(axis=1)
    chances[may] = masses / masses.sum()
    return chances


def _place_nodes(mu: Floats, sd: Floats) -> Floats:
    """Return skills [N] that lie close together where the skill of some agent probably is."""
    spread = np.sort((mu[:, None] + sd[:, None] * _QUANTILES).ravel())
    step = max(1, len(spread) // _N_NODES)
    # The ends of each skill are among them, or a sure one would be smeared into its doubtful field.
    ends = (mu - _END * sd, mu + _END * sd, spread[-1:])
    nodes: Floats = np.sort(np.concatenate((spread[::step], *ends)))
    return nodes
