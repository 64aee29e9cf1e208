"""The likelihood of departures is that of the joint normal distribution of all leads."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from arena.ratings.pair_evidence import PairEvidence


def test_it_is_the_density_of_all_leads_together() -> None:
    rng, n, spread = np.random.default_rng(1), 6, 4.0
    low, high = np.triu_indices(n, 1)
    lead, noise = rng.normal(0, 5, len(low)), rng.uniform(1, 40, len(low))
    evidence = PairEvidence(low, high, lead, noise, n, spread)
    signs = np.eye(n)[low] - np.eye(n)[high]
    departures = np.array([0.0, 0.5, 3.0])
    expected = [
        multivariate_normal(
            np.zeros(len(lead)), spread**2 * signs @ signs.T + np.diag(noise + departure**2)
        ).logpdf(lead)
        for departure in departures
    ]
    weighed = evidence.weigh_departures(departures)
    assert weighed - weighed[0] == pytest.approx(np.array(expected) - expected[0])
