"""The fewest matches that any rule can take: a bound, and track-and-stop, which aims at it.

A match tells about the skills; the answer is wrong where a pair that it ordered is the other way
round, by more than the margin. Whoever errs with at most `error`, whatever the skills are, plays
log(1 / (2.4 error)) / rate matches on the average, rate being what a match tells against the
nearest such skills, under the best shares of the pairs (Garivier, Kaufmann, "Optimal best arm
identification with fixed confidence", 2016).

That is exact for two agents without draws. Of more, what pairs tell together is approximated: a gap
g is turned round at a distance of (g + margin)^2 / (2 R), with R an effective resistance in the
graph of shares times what each pair tells of being turned round itself; with ten agents that is the
divergence to 6 %. Who knows beforehand how far agents are apart, as ratings do, may take fewer.
"""

from collections.abc import Sequence
from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, rel_entr

from arena.pairing.base import Lineup
from arena.ratings.base import BETA
from arena.ratings.counts import Floats, Ints
from benchmarks.campaigns.worlds import COUPLE, Planner, Progress

N_NAMED = {"best": 1, "top_k": 3}
"""How many agents an answer names; any other question orders all of them."""
# The best shares of the pairs of larger fields take seconds each time.
MOST_AGENTS = 20
# How sharply the nearest of the other skills counts: ever more, so that each step is near the end.
_POWERS = (1, 2, 4, 8, 16, 32, 64)
_N_STEPS = 80
_UNIT = sqrt(2) * BETA
# Of a distance, in units of rating: below it all is as at it.
_LEAST = 1e-3


class BestShares(NamedTuple):
    """shares: float64 [p], of all matches, by pair; rate: what a match tells, in nats."""

    pairs: tuple[Ints, Ints]
    shares: Floats
    rate: float


def bound_matches(mu: Floats, question: str, margin: float, error: float) -> float:
    """Return how many matches an answer takes on the average, at least, if these are the skills."""
    rate = find_shares(mu, question, margin).rate
    return log(1 / (2.4 * error)) / rate if rate else inf


def find_shares(mu: Floats, question: str, margin: float) -> BestShares:
    """Return the shares of pairs that tell most against the nearest skills with another answer."""
    pairs = np.triu_indices(len(mu), 1)
    information = tell_apart(np.abs(mu[pairs[0]] - mu[pairs[1]]), margin)
    above, below = list_ordered(mu, question)
    needed = (mu[above] - mu[below] + margin) ** 2
    if not needed.all():
        return BestShares(pairs, np.full(len(pairs[0]), 1 / len(pairs[0])), 0.0)
    shares: Floats = np.full(len(pairs[0]), 1 / len(pairs[0]))
    for power in np.repeat(_POWERS, _N_STEPS):
        variances, pull = _vary(shares * information, pairs, (above, below), len(mu))
        doubt = variances / needed
        weights = (doubt / doubt.max()) ** power
        # At the best shares every pair in use tells equally much of the nearest: this is 1 there.
        worth = information * (pull**2 @ (weights / variances)) / weights.sum()
        shares = shares * worth ** (1 / (1 + power))
        shares /= shares.sum()
    variances, _ = _vary(shares * information, pairs, (above, below), len(mu))
    return BestShares(pairs, shares, float((needed / (2 * variances)).min()))


def tell_apart(gap: Floats, margin: float) -> Floats:
    """Return what a match tells against the other order, in nats by half the squared distance.

    gap: of two skills, 0 or more; they are in the other order once they are apart by -margin. Where
    that is no distance, it is the Fisher information.
    """
    distance = np.maximum(gap + margin, _LEAST)
    win, turned = ndtr((distance - margin) / _UNIT), ndtr(-margin / _UNIT)
    divergence = rel_entr(win, turned) + rel_entr(1 - win, 1 - turned)
    information: Floats = 2 * divergence / distance**2
    return information


def list_ordered(mu: Floats, question: str) -> tuple[Ints, Ints]:
    """Return the pairs, the better one first, whose order is the answer."""
    order, n = np.argsort(-mu, kind="stable"), len(mu)
    first, second = np.triu_indices(n, 1)
    if question in N_NAMED:
        is_named = (first < N_NAMED[question]) & (second >= N_NAMED[question])
        first, second = first[is_named], second[is_named]
    return order[first], order[second]


def _vary(
    weights: Floats, pairs: tuple[Ints, Ints], ordered: tuple[Ints, Ints], n: int
) -> tuple[Floats, Floats]:
    """Return the variance of each ordered gap, [c], and how each pair pulls at each, [p, c]."""
    table = np.zeros((n, n))
    table[pairs] = weights
    table += table.T
    # The mean of the field is no gap: any number there leaves them as they are.
    covariance = np.linalg.inv(np.diag(table.sum(axis=1)) - table + weights.mean())
    turned = covariance[:, ordered[0]] - covariance[:, ordered[1]]
    columns = np.arange(len(ordered[0]))
    variances = turned[ordered[0], columns] - turned[ordered[1], columns]
    return variances, turned[pairs[0]] - turned[pairs[1]]


def track_shares(question: str, margin: float) -> Planner:
    """Return a planner by track-and-stop: the best shares, were the ratings the truth.

    No agent is left behind: one that has met less often than the root of all matches comes first.
    """

    def plan_blocks(progress: Progress, n_blocks: int) -> Sequence[Lineup]:
        (first, second), shares, _ = find_shares(progress.settled.mu, question, margin)
        n_met = _count_met(progress)
        chosen: list[Lineup] = []
        while len(chosen) < n_blocks:
            n_each, total = n_met.sum(axis=0), n_met.sum() / 2
            left_behind = np.minimum(n_each[first], n_each[second]) < np.sqrt(total)
            lack = shares * (total + COUPLE) - n_met[first, second] + left_behind * total
            pair = int(lack.argmax())
            i, j = int(first[pair]), int(second[pair])
            chosen.append((i, j))
            n_met[[i, j], [j, i]] += COUPLE
        return chosen

    return plan_blocks


def _count_met(progress: Progress) -> Floats:
    counts, n = progress.count_pairs(), progress.n_agents
    n_met = np.zeros((n, n))
    np.add.at(
        n_met,
        (counts.first, counts.second),
        counts.n_first_wins + counts.n_draws + counts.n_second_wins,
    )
    for i, j in progress.in_flight:
        n_met[i, j] += COUPLE
    return n_met + n_met.T
