"""The likelihood of team counts under TrueSkill's model, as a function of all skills at once.

A side performs as the sum of its agents: two sides of s agents differ by N(sum z_first - sum
z_second, s), in the standardised skills z of arena.ratings.likelihood (Herbrich, Minka, Graepel,
"TrueSkill", 2007, section 2). The lead is that difference by its standard deviation, so that a draw
is a lead within the same margin as that of two agents.
"""

from functools import cached_property
from math import sqrt

import numpy as np
from scipy.sparse import csr_array

from arena.ratings.counts import Floats, Ints, sum_by_key
from arena.ratings.likelihood import LikelihoodPoint, draw_terms, join_terms, win_terms
from arena.ratings.teamcounts import TeamCounts

_WON, _DREW, _LOST = range(3)


class TeamLikelihood:
    """The log-likelihood of team counts: concave in z, a sum over m decided and drawn rows."""

    # Sides are unordered: there is no term for the seat.
    is_seated = False
    # No two agents meet alone: see design.
    i = j = np.empty(0, np.int64)

    def __init__(self, counts: TeamCounts, n_agents: int, *, margin: float, weight: float) -> None:
        """Keep wins as (winners, losers, how often) and draws as (first, second, how often)."""
        self.n_agents, self.margin = n_agents, margin
        ahead, behind, times = counts.first, counts.second, counts.times
        # Rows that the first side lost are turned round: whoever won is ahead, as in a pair.
        parts = [
            (ahead, behind, times[:, _WON]),
            (behind, ahead, times[:, _LOST]),
            (ahead, behind, times[:, _DREW]),
        ]
        counted = [(first[n > 0], second[n > 0], n[n > 0]) for first, second, n in parts]
        self.n_decided = len(counted[0][2]) + len(counted[1][2])
        winners, losers, n_times = (np.concatenate([part[i] for part in counted]) for i in range(3))
        self.members: Ints = np.concatenate([winners, losers], axis=1)
        self.times = weight * n_times.astype(np.float64)
        # The sum of s performances has s times the variance of one: a standard deviation of
        # sqrt(s).
        self._pull: Floats = np.repeat([1.0, -1.0], counts.size) / sqrt(counts.size)

    def leads(self, z: Floats) -> Floats:
        """Return how far the first side of each row is ahead, [m]: of wins the winners."""
        lead: Floats = z[self.members] @ self._pull
        return lead

    def at(self, z: Floats) -> LikelihoodPoint:
        """Return value, gradient [n] and curvature by the lead of each row [m] at z [n]."""
        lead, n = self.leads(z), self.n_decided
        # Wins stand before draws, as __init__ laid the rows out.
        wins, draws = win_terms(lead[:n], self.margin), draw_terms(lead[n:], self.margin)
        terms = join_terms(wins, draws)
        slope = (self.times * terms.slope)[:, None] * self._pull
        gradient = sum_by_key(self.members.ravel(), slope.ravel(), self.n_agents)
        return LikelihoodPoint(
            float(self.times @ terms.value), gradient, self.times * terms.curvature
        )

    @cached_property
    def design(self) -> csr_array[np.float64]:
        """The lead of each row by the skills: [m, n]."""
        m, width = self.members.shape
        starts = np.arange(0, m * width + 1, width)
        pulls = np.tile(self._pull, m)
        return csr_array((pulls, self.members.ravel(), starts), shape=(m, self.n_agents))
