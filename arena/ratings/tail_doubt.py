"""How far from all others those may be that never lost or never won, where no result says it.

Skills of a field need not be normal: somebody may be far beyond all others, and who always wins
shows no more than that it is better. So the spread of one that never lost, and of one that never
won, may be wider than that of the field by one of a few scales (a scale mixture of normals: Andrews
and Mallows 1974), as likely beforehand as tails like those of Student's t with 2.5 degrees of
freedom would have them. Whose results say where it is moves little by that, and is left out.
"""

from collections.abc import Sequence
from itertools import product
from math import log, prod, sqrt

import numpy as np

from arena.ratings.counts import Ints
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.posterior import Objective, Posterior, Scales

# How much wider, and how likely that is.
_SAME, _SHARES = 0.78, {3.0: 0.18, 9.0: 0.04}
# Of an agent of which nothing is known.
ROOT_MEAN_SQUARE = sqrt(_SAME + sum(share * scale**2 for scale, share in _SHARES.items()))
# What is rarer beforehand is left out.
_LEAST_SHARE = 0.01
# The share of what is thought of an agent beforehand that its results must have left.
_LEAST_LEFT = 0.08
# Where more never lost, or never won, the spread of all says as much.
_MOST = 2
# Of two agents the spread says all that there is.
_FEWEST = 3


def list_scales(objective: Objective, posterior: Posterior) -> list[Scales]:
    """Return the scales that are thought of; posterior: at the fitted spread."""
    chosen = list[Scales]()
    for changes in product(*map(_list_changes, _find_ends(objective, posterior))):
        share = prod(share for _, _, share in changes)
        if share >= _LEAST_SHARE:
            of_agents = np.ones(objective.n_agents)
            for agent, scale, _ in changes:
                of_agents[agent] = scale
            chosen.append(Scales(of_agents, log(share)))
    return chosen


def _find_ends(objective: Objective, posterior: Posterior) -> list[Ints]:
    """Return who won and never lost, and who lost and never won, as far as they are few."""
    likelihood = objective.likelihood
    free = np.setdiff1d(np.arange(objective.n_agents), objective.prior.children)
    if not isinstance(likelihood, PairLikelihood) or len(free) < _FEWEST:
        return []
    left = posterior.uncertainty.variances[free] / posterior.spread**2
    decided = slice(likelihood.n_decided)
    winners, losers = likelihood.i[decided], likelihood.j[decided]
    ends = (np.setdiff1d(winners, losers), np.setdiff1d(losers, winners))
    loose = [np.intersect1d(agents, free[left > _LEAST_LEFT]) for agents in ends]
    return [agents for agents in loose if 0 < len(agents) <= _MOST]


def _list_changes(agents: Ints) -> Sequence[tuple[int, float, float]]:
    """Return which one of these agents is of another scale, of which, and how likely that is."""
    others = _SAME ** (len(agents) - 1)
    changes = [(int(agents[0]), 1.0, _SAME * others)]
    for agent in agents.tolist():
        changes += [(agent, scale, share * others) for scale, share in _SHARES.items()]
    return changes
