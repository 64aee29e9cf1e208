"""How probably each of some agents is the best of them, by their settled ratings."""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

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
_N_KEPT = 16


class Chances(NamedTuple):
    """P(best) of each agent: of all that are compared, and of those of its training run.

    of_run: None for an agent without a run, and for one whose run has no other.
    """

    of_all: tuple[float, ...]
    of_run: tuple[float | None, ...]


@lru_cache(maxsize=_N_KEPT)
def compute_chances(
    mu: tuple[float, ...], sd: tuple[float, ...], runs: tuple[str | None, ...]
) -> Chances:
    """Return the chances of these agents; kept by the ratings, so they are never out of date."""
    members: dict[str, list[int]] = defaultdict(list)
    for place, run in enumerate(runs):
        if run:
            members[run].append(place)
    p_best_of_run: list[float | None] = [None] * len(runs)
    for places in members.values():
        if len(places) > 1:
            chances = compute_p_best([mu[n] for n in places], [sd[n] for n in places])
            for place, chance in zip(places, chances.tolist(), strict=True):
                p_best_of_run[place] = chance
    return Chances(tuple(compute_p_best(mu, sd).tolist()), tuple(p_best_of_run))


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
