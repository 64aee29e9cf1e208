"""How much wider intervals are for what is not known of the shape of a field.

The fit plugs in one spread. Several explain few results nearly as well, and so may two groups of
agents; how far apart the agents are altogether goes with it, who is above whom hardly does. So the
interval of each agent about the field's mean holds its share of the mixture of all of these, each
as likely as its evidence, about the rating, which is the mode, though the mean may lie elsewhere.
"""

from collections.abc import Iterator
from math import log
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, softmax

from arena.ratings.base import Z95
from arena.ratings.counts import Floats
from arena.ratings.field_shapes import STEPS, list_splits, list_spreads, weigh_spread
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.posterior import Objective, Posterior, find_mode
from arena.ratings.skewed_posterior import Rows, propagate_rows

# Agents times rows of results: of more, two groups are not looked for; of many more, each mode with
# the curvature there is taken for the whole.
_FEW_NUMBERS, _MOST_NUMBERS = 20_000, 100_000
# As many agents whose skills are known fix their spread to 6 %.
_ENOUGH = 120
# Logarithms of draw margins by the fitted one: a margin and all skills may grow together.
_MARGINS = (0.0, -0.2, 0.2)
_HELD = 0.95
_N_HALVINGS = 50


class _Moments(NamedTuple):
    """weight: the logarithm of how likely. mean, variances: of each about the field's mean, [n]."""

    weight: float
    mean: Floats
    variances: Floats


def widen_variances(objective: Objective, posterior: Posterior) -> Floats:
    """Return such variances that Z95 standard deviations hold 95 %, whatever the shape: [n].

    posterior: at the fitted spread. A field with very many known agents stays as it is, and so does
    one without a joint covariance.
    """
    narrow = posterior.uncertainty.variances
    n_free = len(narrow) - len(objective.prior.children)
    n_known = float(np.clip(1 - narrow / posterior.spread**2, 0, 1).sum())
    if posterior.uncertainty.covariance is None or n_known > _ENOUGH or n_free < 2:  # noqa: PLR2004
        return narrow
    likelihood = objective.likelihood
    n_numbers = objective.n_agents * len(likelihood.i)
    if isinstance(likelihood, PairLikelihood) and n_numbers <= _MOST_NUMBERS:
        looks_closer = n_numbers <= _FEW_NUMBERS and n_free == objective.n_agents
        found = [*_propagate_shapes(objective, posterior, looks_closer=looks_closer)]
    else:
        found = [*_find_modes(objective, posterior, n_free)]
    return _cover(found, posterior.z - posterior.z.mean())


def _propagate_shapes(
    objective: Objective, posterior: Posterior, *, looks_closer: bool
) -> Iterator[_Moments]:
    """Yield what follows under each shape and, looking closer, draw margin."""
    likelihood = objective.likelihood
    has_draws = likelihood.margin > 0 and likelihood.n_decided < len(likelihood.times)
    factors, is_near = Rows(objective).start(posterior), False
    for step in _MARGINS if has_draws and looks_closer else _MARGINS[:1]:
        rows = Rows(objective.with_margin(likelihood.margin * float(np.exp(step))))
        shapes = [*list_spreads(rows, posterior)]
        if looks_closer and not step:
            shapes += list_splits(rows, posterior, factors)
        for shape in shapes:
            there = propagate_rows(rows, shape.precision, factors, is_near=is_near)
            factors, is_near = there.factors, True
            yield _about_mean(shape.log_prior + there.evidence, there.mean, there.covariance)


def _about_mean(weight: float, mean: Floats, joint: Floats) -> _Moments:
    variances = np.diag(joint) - 2 * joint.mean(axis=1) + joint.mean()
    return _Moments(weight, mean - mean.mean(), variances)


def _find_modes(objective: Objective, posterior: Posterior, n_free: int) -> Iterator[_Moments]:
    """Yield the same for each spread by Laplace's approximation (Tierney and Kadane 1986)."""
    seat = [] if posterior.seat is None else [posterior.seat]
    for step in STEPS:
        spread = posterior.spread * float(np.exp(step))
        there = find_mode(objective, spread, np.append(posterior.z, seat))
        found = [] if there.seat is None else [there.seat]
        value = objective.at(np.append(there.z, found), spread).value
        _, volume = np.linalg.slogdet(np.asarray(there.uncertainty.covariance))
        weight = value - n_free * log(spread) + volume / 2 + weigh_spread(spread)
        yield _Moments(weight, there.z - there.z.mean(), there.uncertainty.variances)


def _cover(found: list[_Moments], centre: Floats) -> Floats:
    """Return the variances of normal intervals about the centre that hold 95 % of the mixture."""
    weights = softmax([one.weight for one in found])
    off = np.array([one.mean - centre for one in found])
    sd = np.sqrt([one.variances for one in found])
    low, high = np.zeros(len(centre)), (np.abs(off) + 3 * sd).max(axis=0)
    for _ in range(_N_HALVINGS):
        half = (low + high) / 2
        held = weights @ (ndtr((half - off) / sd) - ndtr((-half - off) / sd))
        low, high = np.where(held < _HELD, half, low), np.where(held < _HELD, high, half)
    covering: Floats = (high / Z95) ** 2
    return covering
