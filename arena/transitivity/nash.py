"""Nash averaging: the agents' weights in the mixture that no agent beats, most even of all such.

Copies of an agent share its weight and change nothing else; an agent that another dominates has
none. Source: Balduzzi, Tuyls, Perolat, Graepel: Re-evaluating Evaluation (2018), section 3.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize

from arena.ratings.base import RatingError
from arena.ratings.counts import Floats, Ints

_IN_SUPPORT = 1e-6
_MAX_TURNS = 20_000


@dataclass(frozen=True, eq=False)
class NashAverage:
    """weights: float64 [n], they sum to 1. skill: [n], the mean payoff (-1..1) against the mixture.

    skill is 0 for agents with weight and at most 0 for all others.
    """

    weights: Floats
    skill: Floats


def nash_average(shares: Floats) -> NashAverage:
    """Return the Nash average of a matrix of shares of points.

    shares: float64 [n, n], row against column, shares[i, j] + shares[j, i] = 1. Raises RatingError.
    """
    n = len(shares)
    if shares.shape != (n, n) or n == 0:
        raise RatingError(f"shares must be a square matrix, got {shares.shape}")
    payoff = 2 * np.asarray(shares, np.float64) - 1
    if not np.allclose(payoff, -payoff.T, atol=1e-9):
        raise RatingError("shares of a pair must add up to 1: shares[i, j] + shares[j, i]")
    support = _find_support(payoff)
    weights = np.zeros(n)
    weights[support] = _maximise_entropy(payoff[:, support], support)
    return NashAverage(weights, payoff @ weights)


def _find_support(payoff: Floats) -> Ints:
    """Return the agents with weight in some mixture that nobody beats.

    Such mixtures, at any scale, are a cone: payoff @ q <= 0, q >= 0. One linear program finds a q
    that is 1 or more wherever any is above 0: maximise the sum of min(q, 1).
    """
    n = len(payoff)
    # The variables are q [n], then min(q, 1) [n], whose sum is maximised.
    nobody_beats = np.hstack([payoff, np.zeros((n, n))])
    capped = np.hstack([-np.eye(n), np.eye(n)])
    solution = linprog(
        np.concatenate([np.zeros(n), -np.ones(n)]),
        A_ub=np.vstack([nobody_beats, capped]),
        b_ub=np.zeros(2 * n),
        bounds=[(0, None)] * n + [(0, 1)] * n,
        method="highs",
    )
    if solution.status != 0 or solution.x is None:
        raise RatingError(f"no mixture that nobody beats was found: {solution.message}")
    return np.flatnonzero(solution.x[n:] > _IN_SUPPORT)


def _maximise_entropy(payoff: Floats, support: Ints) -> Floats:
    """Return the weights of the support with the most entropy that nobody beats.

    payoff: [n, k], of all against the support. By the dual: weights proportional to
    exp(-payoff.T @ prices), prices free for those in the support, whom no mixture may lose to
    either, and 0 or more for the others.
    """

    def dual(prices: Floats) -> tuple[float, Floats]:
        level = -prices @ payoff
        # The gradient comes with the value, as both need the weights.
        weights = np.exp(level - level.max())
        total = weights.sum()
        return float(np.log(total) + level.max()), -payoff @ (weights / total)

    is_free = np.isin(np.arange(len(payoff)), support)
    solution = minimize(
        dual,
        np.zeros(len(payoff)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None if free else 0, None) for free in is_free],
        options={"maxiter": _MAX_TURNS, "maxfun": _MAX_TURNS, "ftol": 0.0, "gtol": 1e-9},
    )
    # Less the largest before exp, which would overflow: a constant factor cancels in the weights.
    level = -np.asarray(solution.x) @ payoff
    even: Floats = np.exp(level - level.max())
    weights: Floats = even / even.sum()
    return weights
