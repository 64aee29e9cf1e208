"""Order information: the pairs whose next match says most about who stands above whom.

The value of a match is how much it narrows the difference of its agents, times how open their order
still is: I V exp(-d^2 / 2V), with the difference d, its variance V and the information I of a
match. For spread and for close fields alike, as it goes by the joint covariance.
"""

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Lineup, Standing
from arena.pairing.matching import (
    difference_variances,
    expected_information,
    in_flight,
    most_valuable,
)

_LEAST_VARIANCE = 1e-12


class _OrderInformation(Adaptive):
    id = "order_information"
    title = "Order information"

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        gap = standing.mu[:, None] - standing.mu
        variance = np.maximum(difference_variances(standing), _LEAST_VARIANCE)
        gain = expected_information(gap) * variance
        value = gain * np.exp(-(gap**2) / (2 * variance))
        return most_valuable(value, gain, in_flight(standing), n_blocks, standing.field, rng)


PAIRING = _OrderInformation()
