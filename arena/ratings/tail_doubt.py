"""How far from all others the first and the last of a field may be, where no result says it.

Skills of a field need not be normal: somebody may be far beyond all others, and who always wins
shows no more than that it is better. So the spread of the first and of the last may be wider than
that of the field by one of a few scales (a scale mixture of normals: Andrews and Mallows 1974), as
likely beforehand as tails like those of Student's t with 2.5 degrees of freedom would have them.
Whose results say where it is moves little by that, and is left out.
"""

from itertools import product
from math import log, prod

import numpy as np

from arena.ratings.posterior import Objective, Posterior, Scales

# How much wider, and how likely that is.
_SHARES = {1.0: 0.78, 3.0: 0.18, 9.0: 0.04}
# Rarer ones, of both at a time, are left out.
_LEAST_SHARE = 0.01
# The share of what is thought of an agent beforehand that its results must have left.
_LEAST_LEFT = 0.08
# Of two agents the spread says all that there is.
_FEWEST = 3


def list_scales(objective: Objective, posterior: Posterior) -> list[Scales | None]:
    """Return the scales that are thought of; None: each agent is of the spread of the field.

    posterior: at the fitted spread.
    """
    free = np.setdiff1d(np.arange(objective.n_agents), objective.prior.children)
    if len(free) < _FEWEST:
        return [None]
    order = free[np.argsort(posterior.z[free], kind="stable")]
    left = posterior.uncertainty.variances / posterior.spread**2
    far = [agent for agent in (order[0], order[-1]) if left[agent] > _LEAST_LEFT]
    chosen = list[Scales | None]()
    for scales in product(_SHARES, repeat=len(far)):
        share = prod(_SHARES[scale] for scale in scales)
        if share >= _LEAST_SHARE:
            of_agents = np.ones(objective.n_agents)
            of_agents[far] = scales
            chosen.append(Scales(of_agents, log(share)))
    return chosen
