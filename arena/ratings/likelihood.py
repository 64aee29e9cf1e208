"""The likelihood of pair counts under TrueSkill's model, as a function of all skills at once.

Skills are standardised: z = (x - MU) / (sqrt(2) beta), so that two performances of agents i and j
differ by N(z_i - z_j, 1) and a draw is a difference within the margin.
"""

from dataclasses import dataclass
from functools import cached_property
from math import pi, sqrt

import numpy as np
from scipy.special import erfcx, log_ndtr

from arena.ratings.base import RatingError
from arena.ratings.counts import Floats, Ints, PairCounts, sum_by_key

_SQRT_HALF = sqrt(0.5)
_SQRT_2_OVER_PI = sqrt(2 / pi)
# A win expected by this much has probability 1; above it erfcx would overflow.
_CERTAIN = 30.0


@dataclass(frozen=True)
class OutcomeTerms:
    """What each pair adds: log probability, its slope and minus its curvature by z_i - z_j."""

    value: Floats
    slope: Floats
    curvature: Floats


def join_terms(wins: OutcomeTerms, draws: OutcomeTerms) -> OutcomeTerms:
    """Return the terms of the wins and then those of the draws."""
    return OutcomeTerms(
        np.concatenate([wins.value, draws.value]),
        np.concatenate([wins.slope, draws.slope]),
        np.concatenate([wins.curvature, draws.curvature]),
    )


def win_terms(lead: Floats, margin: float) -> OutcomeTerms:
    """Return the terms of one win each, by the winner's lead z_winner - z_loser."""
    x = np.minimum(lead - margin, _CERTAIN)
    # By erfcx, which is scaled: the quotient of density and tail stays exact where both vanish.
    v = _SQRT_2_OVER_PI / erfcx(-_SQRT_HALF * x)
    return OutcomeTerms(log_ndtr(x), v, np.clip(v * (v + x), 0, 1))


def draw_terms(lead: Floats, margin: float) -> OutcomeTerms:
    """Return the terms of one draw each; margin > 0."""
    gap = np.abs(lead)
    low, high = gap - margin, gap + margin
    # Scaled by the density at the near margin: far out the plain difference of tails is 0 / 0.
    fall = np.exp(-2 * margin * gap)
    mass = erfcx(_SQRT_HALF * low) - fall * erfcx(_SQRT_HALF * high)
    v = -_SQRT_2_OVER_PI * np.expm1(-2 * margin * gap) / mass
    w = v * v + _SQRT_2_OVER_PI * (high * fall - low) / mass
    return OutcomeTerms(np.log(mass / 2) - low * low / 2, -np.sign(lead) * v, np.clip(w, 0, 1))


@dataclass(frozen=True)
class LikelihoodPoint:
    """The log-likelihood at one point: its value, gradient [n] and curvature [m] of each pair.

    With a term for the seat, gradient is [n + 1].
    """

    value: float
    gradient: Floats
    curvature: Floats


class PairLikelihood:
    """The log-likelihood of pair counts: concave in z, a sum over m decided and drawn pairs.

    i, j: int64 [m], the agents of each pair, the winner first where there is one. seat: float64
    [m], 1 where agent i sat first and -1 where j did; None unless the advantage of the first seat
    is a term of its own, which then is the last number of z: z_i - z_j + seat * z_n.
    """

    def __init__(
        self,
        counts: PairCounts,
        n_agents: int,
        *,
        margin: float,
        weight: float | Floats,
        is_seated: bool = False,
    ) -> None:
        """Keep wins as (winner, loser, how often) and draws as (first, second, how often)."""
        self.n_agents, self.margin = n_agents, margin
        if is_seated:
            # Who sat first matters then: the wins of either seat stay apart.
            first, second = counts.first, counts.second
            parts = [
                _sum_columns(first, second, counts.n_first_wins),
                _sum_columns(second, first, counts.n_second_wins),
                _sum_columns(first, second, counts.n_draws),
            ]
        else:
            parts = _merge_seats(counts)
        (self.i, self.j, times), self.seat = np.concatenate([p[:3] for p in parts], axis=1), None
        self.n_decided = sum(part.shape[1] for part in parts[:-1])
        weights = weight if isinstance(weight, float | int) else weight[self.i, self.j]
        self.times = weights * times.astype(np.float64)
        if is_seated:
            signs = [np.full(p.shape[1], s) for p, s in zip(parts, (1.0, -1.0, 1.0), strict=True)]
            self.seat = np.concatenate(signs)

    @cached_property
    def is_seated(self) -> bool:
        """Whether the advantage of the first seat is a term, the last number of z."""
        return self.seat is not None

    def leads(self, z: Floats) -> Floats:
        """Return how far agent i is ahead in each row, [m]: of wins, which come first, the winner.

        z: float64 [n], [n + 1] with a seat term.
        """
        lead: Floats = z[self.i] - z[self.j]
        return lead if self.seat is None else lead + self.seat * z[-1]

    def at(self, z: Floats) -> LikelihoodPoint:
        """Return value, gradient and curvature at z: float64 [n], [n + 1] with a seat term."""
        lead, n_decided = self.leads(z), self.n_decided
        # Wins stand before draws, as __init__ laid the pairs out.
        wins = win_terms(lead[:n_decided], self.margin)
        draws = draw_terms(lead[n_decided:], self.margin)
        terms = join_terms(wins, draws)
        slope, curvature = self.times * terms.slope, self.times * terms.curvature
        return LikelihoodPoint(float(self.times @ terms.value), self.pull(slope), curvature)

    def pull(self, slope: Floats) -> Floats:
        """Return what rows of these slopes [m] add up to: [n], [n + 1] with a seat term."""
        n = self.n_agents
        pulls = sum_by_key(self.i, slope, n) - sum_by_key(self.j, slope, n)
        return pulls if self.seat is None else np.append(pulls, self.seat @ slope)

    def seat_curvature(self, curvature: Floats) -> Floats:
        """Return minus the second derivatives by each agent and the seat: [n]."""
        if self.seat is None:
            raise RatingError("this likelihood has no term for the seat")
        return self.pull(self.seat * curvature)[: self.n_agents]


def _merge_seats(counts: PairCounts) -> list[Ints]:
    """Return the wins and the draws whoever sat first, [3, m] each."""
    decided = _sum_columns(
        np.concatenate([counts.first, counts.second]),
        np.concatenate([counts.second, counts.first]),
        np.concatenate([counts.n_first_wins, counts.n_second_wins]),
    )
    drawn = _sum_columns(
        np.minimum(counts.first, counts.second),
        np.maximum(counts.first, counts.second),
        counts.n_draws,
    )
    return [decided, drawn]


def _sum_columns(first: Ints, second: Ints, times: Ints) -> Ints:
    """Return [3, m]: a column a pair with its total, without the pairs that never occur."""
    n_agents = int(max(first.max(initial=0), second.max(initial=0))) + 1
    keys, which = np.unique(first * n_agents + second, return_inverse=True)
    totals = np.zeros(len(keys), np.int64)
    np.add.at(totals, which, times)
    return np.stack([*np.divmod(keys, n_agents), totals])[:, totals > 0]
