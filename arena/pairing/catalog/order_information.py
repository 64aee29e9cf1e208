"""Order information: the matches that say most about who stands above whom.

How open the order of two agents is: w = exp(-d^2 / 2hV) / sqrt(V V'), with the difference d of
their ratings and its variance V. The share h of V is what will be known once there are two thirds
more results: who could change places by then is worth a match now.

The value of a match is how much it narrows the differences of all agents, each as it is open: not
only that of its own two. With the joint covariance C, the Laplacian W of w, the information I of a
match and its agents' difference e that is I e'CWCe. For spread and for close fields alike.

Matches in flight, and those just chosen, will narrow V to V' and C likewise whatever their results,
for their agents and for all who are compared through them; d will then be another, and the mean of
the openness over what d may become is that above. Of each greedy matching the best part is taken
before the values are computed anew: the last pairs of a matching meet only because all others are
taken.

No field is quite a ranking by one number: the lead of one agent over another departs from their
difference by some t, estimated from what the pairs did. So n matches of a pair tell n I / (1 + n I
t^2), never more than 1 / t^2, and who met often enough meets others; without that, neighbours would
be played for ever where they beat each other otherwise than the long range says. The fit knows
nothing of t: its covariance C is wider by t^2 C S C with the Laplacian S of (n I)^2.

With `edge` only the differences count that a top k turns on: each as likely as that one of its two
agents is among the first k and the other is not, by samples of what may be true. Before most others
those meet who are to be named and who may yet beat them: the lead of a pair departs from the
ratings, and somebody may have learnt to beat just that one. With `checks` a sure order is asked
for, and in up to half of the blocks those meet who may yet beat somebody far ahead. With `a` and
`b` only the difference of these two counts.
"""

from collections.abc import Sequence

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import COUPLE, Lineup, PairingError, Standing
from arena.pairing.edges import (
    choose_checks,
    choose_order_checks,
    find_crossings,
    sample_first,
)
from arena.pairing.matching import count_in_flight, count_met, expected_information, match_greedily
from arena.parameters import Parameter
from arena.ratings.counts import Bools, Floats
from arena.ratings.departures import MOST_AGENTS
from arena.ratings.pair_variance import (
    NO_PAIR_VARIANCE,
    PairVariance,
    estimate_pair_variance,
)

_LEAST_VARIANCE = 1e-9
_TIE_BREAK = 1e-9
_HORIZON = 0.4
# The part of a matching.
_TAKEN = 0.25


class _OrderInformation(Adaptive):
    id = "order_information"
    title = "Order information"
    parameters = (
        Parameter("edge", 0, "ask who is among the first k only; 0: the whole order", 0, 10_000),
        Parameter(
            "checks", 0, "1: of the whole order, let those meet whose ratings are far apart", 0, 1
        ),
        Parameter("a", 0, "ask about agents a and b only, by place from 0; a = b: all", 0, 10_000),
        Parameter("b", 0, "the other one of the two", 0, 10_000),
    )

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        gap = standing.mu[:, None] - standing.mu
        information = standing.field.pair_weight * expected_information(
            gap, seat=standing.seat_advantage
        )
        n_met, estimate = count_met(standing), _estimate_departures(standing)
        pair_variance = estimate.variance
        joint = _widen_covariance(
            self._find_covariance(standing), n_met * information, pair_variance
        )
        variance = _find_difference_variances(joint)
        is_in, crossings = None, self._choose_differences(len(gap))
        if 0 < (edge := self.number("edge")) < len(gap):
            is_in = sample_first(standing.mu, joint, edge, rng)
            crossings = find_crossings(is_in)
        openness = _find_openness(gap, variance, crossings)
        chosen = self._choose_checks(standing, estimate, variance, is_in, n_blocks, rng)
        noise = rng.random((len(joint), len(joint)))
        worth = information * (1 + _TIE_BREAK * (noise + noise.T))
        discounted_information = _discount_repeats(n_met * information, pair_variance)
        others = np.linalg.inv(joint) - _build_laplacian(discounted_information)
        times = n_met + count_in_flight(standing)
        _add_lineups(times, chosen)
        while len(chosen) < n_blocks:
            expected = _discount_repeats(times * information, pair_variance)
            precision = others + _build_laplacian(expected)
            narrowed = np.linalg.inv(precision).astype(np.float64, copy=False)
            repeated = 1 + times * information * pair_variance
            value = worth * _estimate_narrowing(narrowed, openness) / repeated**2
            matched = match_greedily(value, standing.field.n_seats)
            best = matched[: max(1, int(len(matched) * _TAKEN))][: n_blocks - len(chosen)]
            chosen += best
            _add_lineups(times, best)
        return chosen

    def _choose_differences(self, n_agents: int) -> Floats:
        """Return 1 for each difference that counts: that of a and b, or all."""
        a, b = self.number("a"), self.number("b")
        if a == b or max(a, b) >= n_agents:
            return np.ones((n_agents, n_agents))
        counting = np.zeros((n_agents, n_agents))
        counting[[a, b], [b, a]] = 1
        return counting

    def _choose_checks(
        self,
        standing: Standing,
        estimate: PairVariance,
        variance: Floats,
        is_in: Bools | None,
        n_blocks: int,
        rng: np.random.Generator,
    ) -> list[Lineup]:
        """Return who meets whom it should beat; is_in: in samples, None where no edge is asked."""
        if standing.field.n_seats != COUPLE or len(variance) > MOST_AGENTS:
            return []
        if is_in is not None:
            return choose_checks(standing, estimate, variance, is_in, n_blocks, rng)
        if not self.number("checks"):
            return []
        return choose_order_checks(standing, estimate, variance, n_blocks, rng)

    def _find_covariance(self, standing: Standing) -> Floats:
        if standing.covariance is None:
            raise PairingError(
                f"pairing {self.id!r} needs the joint covariance, which {len(standing.mu)} "
                "agents are too many for: choose posterior_sample or ladder"
            )
        return standing.covariance


def _add_lineups(times: Floats, lineups: Sequence[Lineup]) -> None:
    """Count the matches of these blocks, by pair."""
    for lineup in lineups:
        times[np.ix_(lineup, lineup)] += len(lineup)
    np.fill_diagonal(times, 0)


def _estimate_departures(standing: Standing) -> PairVariance:
    """Return t^2; 0 where results of several seats or teams are not independent of each other."""
    if standing.covariance is None or standing.field.n_seats != COUPLE:
        return NO_PAIR_VARIANCE
    return estimate_pair_variance(
        standing.counts,
        standing.mu,
        standing.covariance,
        draw_probability=standing.draw_probability,
        spread=standing.spread,
        seat=standing.seat_advantage,
    )


def _discount_repeats(information: Floats, pair_variance: float) -> Floats:
    """Return what results say about the ratings by what they say about the lead of the pair."""
    return information / (1 + information * pair_variance)


def _widen_covariance(joint: Floats, information: Floats, pair_variance: float) -> Floats:
    """Return the covariance of a fit that takes every lead for the difference of two ratings."""
    # The sandwich of a misspecified fit: C (1/C + t^2 S) C.
    return joint + pair_variance * joint @ _build_laplacian(information**2) @ joint


def _find_openness(gap: Floats, variance: Floats, crossings: Floats) -> Floats:
    """Return how open differences are next to the most open one that may cross the edge: [n, n].

    Alone they would be too small to be told from 0 where all are nearly sure.
    """
    openness = -(gap**2) / (2 * _HORIZON * variance) - np.log(variance) / 2
    openness[(crossings == 0) | np.eye(len(gap), dtype=np.bool_)] = -np.inf
    relative: Floats = crossings * np.exp(openness - openness.max())
    return relative


def _estimate_narrowing(joint: Floats, openness: Floats) -> Floats:
    """Return how much a result of every two agents narrows all open differences: [n, n]."""
    weights = openness / np.sqrt(_find_difference_variances(joint))
    np.fill_diagonal(weights, 0)
    return _find_difference_variances(joint @ _build_laplacian(weights) @ joint)


def _find_difference_variances(joint: Floats) -> Floats:
    """Return the variance of the difference of every two agents: [n, n]."""
    variances = np.diag(joint)
    return np.maximum(variances[:, None] + variances - 2 * joint, _LEAST_VARIANCE)


def _build_laplacian(information: Floats) -> Floats:
    """Return what information about differences [n, n] adds to the precision of the skills."""
    return np.diag(information.sum(axis=1)) - information


PAIRING = _OrderInformation()
