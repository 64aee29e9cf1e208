"""How sure ratings are whatever the spread of their field, which the fit plugs in.

Of few agents, or few results, several spreads explain the field nearly as well, and how far apart
the agents are altogether goes with it; who is above whom hardly does. So what is believed is
averaged over spreads, over how far those may be that never lost or never won (see tail_doubt), and
over draw margins where ratings depend on them, each as likely as its evidence. An interval holds
95 % of that, and reaches further to one side of the rating: who always wins is better by nobody
knows how much (see skewed_posterior).

The ratings themselves stay at the mode. The mean is closer to groups that never lose to each other,
but foretells results worse, and goes on growing with wins that say nothing new.
"""

from math import exp, sqrt
from typing import NamedTuple

import numpy as np

from arena.ratings.base import BETA, MAX_SPREAD
from arena.ratings.counts import Floats
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.margin_doubt import list_margins
from arena.ratings.mixtures import Mixture, Part, find_superiorities
from arena.ratings.model_evidence import Evidence, choose_likely
from arena.ratings.posterior import Objective, Posterior
from arena.ratings.skewed_posterior import propagate
from arena.ratings.tail_doubt import list_scales

# Logarithms of spreads by the fitted one: more above it, as few results hold it down. Far below it
# where one agent alone makes it wide.
_STEPS = (-1.6, -1.2, -0.8, -0.4, 0.0, 0.4, 0.8, 1.2, 1.6)
_MOST = MAX_SPREAD / (sqrt(2) * BETA)
# Of more agents, or rows of results, each mode with the curvature there is taken for the whole.
_MOST_AGENTS, _MOST_ROWS = 300, 15_000
# As many agents whose skills are known fix their spread to 6 %.
_ENOUGH = 120


class SpreadDoubt(NamedTuple):
    """How sure the modes are. low, high: float64 [n], the ends of 95 %, the mode among them.

    above: float64 [n, n], P(row is above column), one half on the diagonal. believed: what both
    are of.
    """

    low: Floats
    high: Floats
    above: Floats
    believed: Mixture


def weigh_spreads(
    objective: Objective, posterior: Posterior, *, given_margin: float = 0.0
) -> SpreadDoubt | None:
    """Return how sure the modes are whatever the spread.

    posterior: at the fitted spread. given_margin: the draw margin of the game, where it is fitted;
    else 0. None: as sure as it says, as far as can be found, and of a field without a joint
    covariance.
    """
    narrow = posterior.uncertainty.variances
    n_free = len(narrow) - len(objective.prior.children)
    if posterior.uncertainty.covariance is None or n_free < 2:  # noqa: PLR2004
        return None
    n_known = float(np.clip(1 - narrow / posterior.spread**2, 0, 1).sum())
    if n_known <= _ENOUGH:
        return _describe(posterior, _believe(Evidence(objective, posterior, given_margin)))
    single = Mixture(np.ones(1), [_find_part(objective, posterior)])
    return _describe(posterior, single) if _is_small(objective) else None


def _believe(evidence: Evidence) -> Mixture:
    """Return what is believed of the skills, whatever spreads and draw margin may be true."""
    objective, fitted = evidence.objective, evidence.posterior.spread
    spreads = sorted({min(fitted * exp(step), _MOST) for step in _STEPS})
    candidates = [
        evidence.find(objective.with_scales(scales), spread)
        for scales in list_scales(objective, evidence.posterior)
        for spread in spreads
    ]
    if evidence.given_margin:
        likely, _ = choose_likely(candidates)
        margins = list_margins(evidence, evidence.find(objective, fitted))
        if len(margins) > 1:
            candidates = [
                evidence.find(candidate.objective.with_margin(margin), candidate.posterior.spread)
                for candidate in likely
                for margin in margins
            ]
    likely, shares = choose_likely(candidates)
    return Mixture(
        shares, [_find_part(candidate.objective, candidate.posterior) for candidate in likely]
    )


def _describe(posterior: Posterior, believed: Mixture) -> SpreadDoubt:
    """Return what a mixture says of the modes."""
    low, high = (posterior.z.mean() + end for end in believed.find_ends())
    by_mode = find_superiorities(posterior.z, np.asarray(posterior.uncertainty.covariance))
    above = _choose_surer(believed.find_superiorities(), by_mode)
    # Of who always wins the mode may lie below all that is believed.
    return SpreadDoubt(np.minimum(low, posterior.z), np.maximum(high, posterior.z), above, believed)


def _choose_surer(above: Floats, by_mode: Floats) -> Floats:
    """Return the one that is further from one half, pair by pair; by the mode who is above.

    Moments are too careful of who always won: of a gap that is surely not below 0 they say 0.97.
    The mode with its curvature is too careful of all others.
    """
    lead, lead_by_mode = above - 0.5, by_mode - 0.5
    is_surer = (abs(lead) > abs(lead_by_mode)) & (lead * lead_by_mode > 0)
    surer: Floats = np.where(is_surer, above, by_mode)
    return surer


def _find_part(objective: Objective, posterior: Posterior) -> Part:
    """Return the mean and the covariance of the skills under a spread and a draw margin."""
    if _is_small(objective):
        return Part(*propagate(objective, posterior), posterior.spread)
    covariance = np.asarray(posterior.uncertainty.covariance)
    return Part(posterior.z, covariance, posterior.spread)


def _is_small(objective: Objective) -> bool:
    """Say whether the mean can be found in a moment: not of teams, whose rows are of several."""
    likelihood = objective.likelihood
    is_of_pairs = isinstance(likelihood, PairLikelihood)
    return is_of_pairs and objective.n_agents <= _MOST_AGENTS and len(likelihood.i) <= _MOST_ROWS
