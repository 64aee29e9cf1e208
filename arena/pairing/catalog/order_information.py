"""Order information: the pairs whose next match says most about who stands above whom.

The value of a match is how much it narrows the difference of its agents, times how open their order
still is: I V exp(-d^2 / 2V), with the difference d, its variance V and the information I of a
match. For spread and for close fields alike, as it goes by the joint covariance.

Matches in flight, and those just chosen, will narrow V to V' whatever their results, for their
agents and for all who are compared through them; d will then be another. The mean of the value over
what d may become is I V' sqrt(V' / V) exp(-d^2 / 2V), so that matches in flight cost next to
nothing.
"""

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Lineup, PairingError, Standing
from arena.pairing.matching import expected_information, in_flight, matching
from arena.ratings.counts import Floats

_LEAST_VARIANCE = 1e-9
_TIE_BREAK = 1e-9


class _OrderInformation(Adaptive):
    id = "order_information"
    title = "Order information"

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        joint = _joint(standing)
        gap = standing.mu[:, None] - standing.mu
        information = expected_information(gap)
        variance = _difference_variances(joint)
        # Half of V stands in the exponent of sqrt(V' / V); ties are broken by chance.
        openness = information * np.exp(-(gap**2) / (2 * variance)) / np.sqrt(variance)
        openness *= 1 + _TIE_BREAK * _symmetric_noise(rng, len(joint))
        weight = standing.field.pair_weight
        precision = np.linalg.inv(joint) + _graph(weight * information * in_flight(standing))
        chosen: list[Lineup] = []
        while len(chosen) < n_blocks:
            narrowed = np.linalg.inv(precision).astype(np.float64, copy=False)
            value = openness * _difference_variances(narrowed) ** 1.5
            found = matching(value, standing.field.n_seats)
            chosen += found[: n_blocks - len(chosen)]
            precision += _graph(weight * information * _planned(found, len(joint)))
        return chosen


def _joint(standing: Standing) -> Floats:
    if standing.covariance is None:
        raise PairingError(
            f"pairing 'order_information' needs the joint covariance, which {len(standing.mu)} "
            "agents are too many for: choose posterior_sample or ladder"
        )
    return standing.covariance


def _difference_variances(joint: Floats) -> Floats:
    """Return the variance of the difference of every two agents: [n, n]."""
    alone = np.diag(joint)
    return np.maximum(alone[:, None] + alone - 2 * joint, _LEAST_VARIANCE)


def _graph(information: Floats) -> Floats:
    """Return what information about differences [n, n] adds to the precision of the skills."""
    return np.diag(information.sum(axis=1)) - information


def _planned(lineups: list[Lineup], n_agents: int) -> Floats:
    """Return the number of matches of every two agents in these blocks: [n, n]."""
    table = np.zeros((n_agents, n_agents))
    for lineup in lineups:
        table[np.ix_(lineup, lineup)] += len(lineup)
    np.fill_diagonal(table, 0)
    return table


def _symmetric_noise(rng: np.random.Generator, n: int) -> Floats:
    noise = rng.random((n, n))
    return noise + noise.T


PAIRING = _OrderInformation()
