"""The edge of the first k: who may be among them, and who of the others should yet meet them."""

import numpy as np
from scipy.special import ndtr

from arena.pairing.base import Lineup, Standing
from arena.pairing.matching import count_in_flight, count_met
from arena.ratings.counts import Bools, Floats
from arena.ratings.departures import estimate_departures

# Of what may be true, to see which differences an edge turns on.
_N_SAMPLES = 512
_JITTER = 1e-9
# Checked are those of the first k who will probably stay, against those who stand behind by so many
# standard deviations: who never met, and where so much is open about who beats whom.
_STAYING = 0.7
_BEHIND = 1.0
_OPEN = 5e-3


def sample_first(mu: Floats, joint: Floats, edge: int, rng: np.random.Generator) -> Bools:
    """Return whether each agent is among the first k, in samples of what may be true: [s, n]."""
    n = len(mu)
    root = np.linalg.cholesky(joint + _JITTER * np.eye(n))
    ranked = np.argsort(-(mu + rng.standard_normal((_N_SAMPLES, n)) @ root.T), axis=1)
    is_in = np.zeros((_N_SAMPLES, n), np.bool_)
    np.put_along_axis(is_in, ranked[:, :edge], values=True, axis=1)
    return is_in


def find_crossings(is_in: Bools) -> Floats:
    """Return P(one of the two is among the first k and the other is not): [n, n]."""
    counted = is_in.astype(np.float64)
    both = counted.T @ counted / len(is_in)
    alone = np.diag(both)
    # Where no sample crosses the edge, those that are closest to it are still worth the most.
    return np.maximum(alone[:, None] + alone - 2 * both, 0.5 / len(is_in))


def choose_checks(
    standing: Standing, variances: Floats, is_in: Bools, n_blocks: int
) -> list[Lineup]:
    """Return pairs of one of the first k and another who may beat just that one, most open first.

    They settle no order, as the ratings tell it already; but who is named the best should have met
    whom the ratings say it beats: somebody may have learnt to beat it. variances: of the gaps. At
    most three quarters of the blocks, so that the edge itself goes on.
    """
    gaps = standing.mu[:, None] - standing.mu
    apart = estimate_departures(
        standing.counts,
        gaps,
        variances,
        draw_probability=standing.draw_probability,
        seat=standing.seat_advantage,
    )
    is_better = ndtr(apart.mean / np.sqrt(apart.variance))
    open_ = apart.chance * is_better * (1 - is_better)
    is_named = is_in.mean(axis=0) > _STAYING
    is_behind = is_named[:, None] & ~is_named & (gaps > _BEHIND * np.sqrt(variances))
    is_open = (count_met(standing) == 0) | (open_ > _OPEN)
    rows, columns = np.nonzero(is_behind & is_open & (count_in_flight(standing) == 0))
    most_open_first = np.argsort(-open_[rows, columns], kind="stable")[: n_blocks - n_blocks // 4]
    return [(int(rows[i]), int(columns[i])) for i in most_open_first]
