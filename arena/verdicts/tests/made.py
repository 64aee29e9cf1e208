"""Beliefs for tests."""

from collections.abc import Sequence

import numpy as np

from arena.ratings.counts import Floats
from arena.verdicts.beliefs import Belief


def belief_of(mu: Sequence[float] | Floats, sd: float, n_matches: int = 100) -> Belief:
    """Return a belief in independent agents."""
    n = len(mu)
    doubt = np.full(n, sd)
    played = np.full(n, n_matches, dtype=np.int64)
    return Belief(np.array(mu, np.float64), np.diag(doubt**2), doubt, played)
