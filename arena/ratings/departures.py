"""Pairs that depart from the ratings altogether: an agent that learnt to beat just one other.

Of such a pair the ratings say nothing: its lead is that of any two strangers, and only what the two
did against each other tells more. Before anything is seen, three fields in twenty are thought to
have one such pair; Bayes' rule says how probably each pair is it, by how well either story explains
its results (a spike and a slab: Mitchell and Beauchamp 1988).
"""

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logit, logsumexp

from arena.ratings.base import BETA, SIGMA, unit_draw_margin
from arena.ratings.counts import Floats, Ints, PairCounts
from arena.ratings.likelihood import draw_terms, win_terms
from arena.ratings.pair_table import tabulate_seats

# Of larger fields pairs are not looked at one by one.
MOST_AGENTS = 64
# With 0.05 an exploiter goes unseen among the best three in 18 % instead of 12 % of such fields;
# with 0.25 close fields take 5 % more matches.
_FIELDS = 0.15
_UNIT = sqrt(2) * BETA
# Leads of strangers, in the unit of a performance difference, and how likely each is beforehand.
_STEP = 0.05
_GRID = _STEP * np.arange(-160, 161, dtype=np.float64)
_PRIOR = -((_GRID * _UNIT / SIGMA) ** 2) / 4
_LOG_PRIOR = _PRIOR - float(logsumexp(_PRIOR))
_NODES, _WEIGHTS = (np.asarray(part, np.float64) for part in hermegauss(15))


@dataclass(frozen=True, eq=False)
class Departures:
    """How probably each pair departs, and its lead, of the row over the column, where it does.

    chance, mean, variance: float64 [n, n]; mean is antisymmetric, the others symmetric.
    """

    chance: Floats
    mean: Floats
    variance: Floats

    def restrict_to(self, agents: Ints) -> "Departures":
        """Return the same about these agents only, in this order."""
        chosen = np.ix_(agents, agents)
        return Departures(self.chance[chosen], self.mean[chosen], self.variance[chosen])


def expect_departures(n_agents: int) -> Departures:
    """Return what is thought of the pairs of so many agents, 2 or more, before any result."""
    chance = _FIELDS / (n_agents * (n_agents - 1) / 2)
    own = 1 - np.eye(n_agents)
    return Departures(chance * own, np.zeros_like(own), 2 * SIGMA**2 * own + np.eye(n_agents))


def estimate_departures(
    counts: PairCounts,
    gaps: Floats,
    variances: Floats,
    *,
    draw_probability: float,
    seat: float = 0.0,
    dispersion: float = 1.0,
) -> Departures:
    """Return which pairs depart from leads that are normal with these means and variances: [n, n].

    counts: of these agents, 2 or more. draw_probability: above 0 where games were drawn. seat: what
    sitting first is worth. dispersion: how much more blocks vary than their games would. What a
    pair did is in its mean already, so that the chance of one that met often is a little too low.
    """
    n = len(gaps)
    pairs = np.triu_indices(n, 1)
    results = _Results(counts, n, draw_probability, seat, dispersion)
    # By the ratings: averaged over what they leave open.
    about: Floats = np.sqrt(variances[pairs]) * _NODES[:, None]
    explained = results.explain((gaps[pairs] + about) / _UNIT)
    by_ratings = logsumexp(explained, b=_WEIGHTS[:, None] / sqrt(2 * pi), axis=0)
    joint = results.explain(_GRID[:, None]) + _LOG_PRIOR[:, None]
    by_itself = logsumexp(joint, axis=0)
    posterior = np.asarray(np.exp(joint - by_itself), np.float64)
    mean = _GRID @ posterior
    squares = _GRID**2 @ posterior
    before = logit(_FIELDS / len(mean))
    return Departures(
        _fill_table(n, expit(before + by_itself - by_ratings)),
        _fill_table(n, _UNIT * mean, sign=-1),
        _fill_table(n, _UNIT**2 * np.maximum(squares - mean**2, _STEP**2)) + np.eye(n),
    )


class _Results:
    """How often each of two agents won, drew and lost in the first seat, pair by pair."""

    def __init__(
        self, counts: PairCounts, n: int, draw_probability: float, seat: float, dispersion: float
    ) -> None:
        self._margin, self._seat = unit_draw_margin(draw_probability), seat / _UNIT
        times = tabulate_seats(counts, n) / dispersion
        low, high = np.triu_indices(n, 1)
        self._there, self._back = times[:, low, high], times[:, high, low]

    def explain(self, lead: Floats) -> Floats:
        """Return the log-likelihood of the results of all pairs by the lead of the first agent."""
        as_first = self._explain_first(self._there, self._seat + lead)
        return as_first + self._explain_first(self._back, self._seat - lead)

    def _explain_first(self, times: Floats, lead: Floats) -> Floats:
        won, drew, lost = times
        wins, losses = win_terms(lead, self._margin), win_terms(-lead, self._margin)
        explained: Floats = won * wins.value + lost * losses.value
        if drew.any():
            explained = explained + drew * draw_terms(lead, self._margin).value
        return explained


def _fill_table(n: int, values: Floats, sign: int = 1) -> Floats:
    """Return a table [n, n] from the values of pairs; sign: their sign below the diagonal."""
    table = np.zeros((n, n))
    rows, columns = np.triu_indices(n, 1)
    table[rows, columns], table[columns, rows] = values, sign * values
    return table
