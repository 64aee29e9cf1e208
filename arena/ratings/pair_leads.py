"""What is believed of the lead of each two agents, where a field is no ranking by one number.

The lead is the difference of their ratings plus something of the pair's own, N(0, t^2) before they
met (see arena.ratings.pair_variance). What the pair did itself says so much the more about its
lead, the larger t is; what others did says the rest. All leads are jointly normal about the mode of
each, given skills that are.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from arena.ratings.base import BETA, unit_draw_margin
from arena.ratings.counts import Floats, Ints, PairCounts
from arena.ratings.likelihood import draw_terms, win_terms
from arena.ratings.pair_table import tabulate_seats

_UNIT = sqrt(2) * BETA
_N_STEPS = 20
# Far from the mode a whole step of Newton's may overshoot by more than it was off.
_LONGEST = 1.0
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class PairLeads:
    """The lead of i over j is share_ij (x_i - x_j) + own_ij, and normal noise of this variance.

    share, own, variance: float64 [n, n]; own is antisymmetric.
    """

    share: Floats
    own: Floats
    variance: Floats

    def restrict_to(self, agents: Ints) -> "PairLeads":
        """Return the same about these agents only, in this order."""
        chosen = np.ix_(agents, agents)
        return PairLeads(self.share[chosen], self.own[chosen], self.variance[chosen])


def infer_pair_leads(
    counts: PairCounts,
    gaps: Floats,
    *,
    pair_variance: float,
    draw_probability: float,
    seat: float = 0.0,
    dispersion: float = 1.0,
) -> PairLeads:
    """Return the leads by the gaps [n, n] of ratings that were fitted to these counts.

    pair_variance: t^2, above 0, in units of rating, squared. draw_probability, seat: as fitted.
    dispersion: how much more blocks vary than their games would.
    """
    results = _Results(counts, len(gaps), draw_probability, seat, dispersion)
    gap = gaps / _UNIT
    before = _UNIT**2 / pair_variance
    lead = gap.copy()
    for _ in range(_N_STEPS):
        slope, curvature = results.differentiate(lead)
        step = (slope + before * (gap - lead)) / (curvature + before)
        lead = lead + np.clip(step, -_LONGEST, _LONGEST)
        if np.abs(step).max() < _CLOSE:
            break
    _, curvature = results.differentiate(lead)
    share = before / (curvature + before)
    return PairLeads(share, (lead - share * gap) * _UNIT, _UNIT**2 / (curvature + before))


class _Results:
    """How often each agent won, drew and lost against each other one, in either seat."""

    def __init__(
        self, counts: PairCounts, n: int, draw_probability: float, seat: float, dispersion: float
    ) -> None:
        self._margin, self._seat = unit_draw_margin(draw_probability), seat / _UNIT
        self._times = tabulate_seats(counts, n) / dispersion

    def differentiate(self, lead: Floats) -> tuple[Floats, Floats]:
        """Return slope and minus curvature of the log-likelihood by the leads [n, n]."""
        slope, curvature = self._differentiate_first(lead)
        # What the column's agent did in the first seat says as much of the lead of the row's.
        back, also = self._differentiate_first(-lead.T)
        return slope - back.T, curvature + also.T

    def _differentiate_first(self, lead: Floats) -> tuple[Floats, Floats]:
        """Return them by the results of the row's agent in the first seat."""
        (won, drew, lost), as_first = self._times, lead + self._seat
        wins, losses = win_terms(as_first, self._margin), win_terms(-as_first, self._margin)
        slope = won * wins.slope - lost * losses.slope
        curvature = won * wins.curvature + lost * losses.curvature
        if drew.any():
            draws = draw_terms(as_first, self._margin)
            slope, curvature = slope + drew * draws.slope, curvature + drew * draws.curvature
        return slope, curvature
