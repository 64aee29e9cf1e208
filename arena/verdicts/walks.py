"""How fast strength walks, by how well each speed foretells the results.

Of each speed the ratings are followed from part to part of the blocks: what is believed of them
spreads by the walk, and then the results of the part tell (a Kalman filter, with Laplace's
approximation for a likelihood that is not normal: Fahrmeir 1992). The product of what each part was
thought beforehand to bring is the evidence of a speed. Bayes' rule weighs them, none included, so
that what is expected of the walk falls as fast as results speak against one.

Agents do better on some seeds than on others. Where many pairs play one seed before the next, as in
a round robin, that looks like a walk; it does so in any order of the seeds, so a walk is believed
in only as far as it foretells the results better in the order of time than in others.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import log, pi, sqrt
from typing import Final, NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr

from arena.ratings.base import BETA, unit_draw_margin
from arena.ratings.counts import Floats, Ints
from arena.ratings.settled import SettledRatings
from arena.verdicts.seed_blocks import SeedBlocks

# Variances of a step from block to block, in those of a performance: from one of a performance's
# size in 800 blocks to one in 12. And how probable none of them is beforehand.
STEPS: Final = np.array([0.0, 1 / 800, 1 / 200, 1 / 50, 1 / 12.5]) * BETA**2
_STEADY = 0.8
# Of larger fields it would take seconds.
MOST_AGENTS: Final = 64
_UNIT = sqrt(2) * BETA
_N_NEWTON, _LONGEST_STEP = 6, 2 * BETA
_LEAST = 1e-12


class _Posterior(NamedTuple):
    """What is believed of all agents, of each speed k: float64 [k, n] and [k, n, n]."""

    mu: Floats
    covariance: Floats


class _Likelihood(NamedTuple):
    """What results say at some leads, of each speed k: float64 [k], [k, b] and [k, b]."""

    log_likelihood: Floats
    slope: Floats
    information: Floats


def weigh_steps(
    blocks: SeedBlocks,
    settled: SettledRatings,
    *,
    dispersion: float,
    n_parts: int,
    other_orders: Sequence[SeedBlocks] = (),
) -> Floats:
    """Return how likely each of STEPS is by the results: float64 [k].

    other_orders: of the same blocks, each as likely where nothing walks.
    """
    share = (1 - _STEADY) / (len(STEPS) - 1)
    prior = np.where(STEPS > 0, share, _STEADY)
    evidence = _find_evidence(blocks, settled, dispersion, n_parts)
    if other_orders:
        others = [_find_evidence(order, settled, dispersion, n_parts) for order in other_orders]
        evidence = evidence - np.maximum(0, logsumexp(others, axis=0) - log(len(others)))
    weights = prior * np.exp(evidence - evidence.max())
    likely: Floats = weights / weights.sum()
    return likely


def _find_evidence(
    blocks: SeedBlocks, settled: SettledRatings, dispersion: float, n_parts: int
) -> Floats:
    """Return the log of the evidence of each of STEPS, against that of none."""
    n, n_blocks = len(settled.mu), len(blocks.first)
    covariance = np.eye(n) * settled.spread**2
    posterior = _Posterior(np.zeros((len(STEPS), n)), np.tile(covariance, (len(STEPS), 1, 1)))
    evidence = np.zeros(len(STEPS))
    for start, stop in pairwise(np.arange(n_parts + 1) * n_blocks // n_parts):
        part = blocks.take(slice(start, stop))
        gained, posterior = _learn(posterior, part, settled, dispersion)
        evidence += gained
        walk = (stop - start) * STEPS[:, None, None] * np.eye(n)
        posterior = posterior._replace(covariance=posterior.covariance + walk)
    against_none: Floats = evidence - evidence[0]
    return against_none


def _learn(
    prior: _Posterior, part: SeedBlocks, settled: SettledRatings, dispersion: float
) -> tuple[Floats, _Posterior]:
    """Return the log evidence of a part, and the posterior."""
    meets = np.zeros((len(part.first), prior.mu.shape[1]))
    row = np.arange(len(meets))
    meets[row, part.first], meets[row, part.second] = 1, -1
    precision = _invert(prior.covariance)
    mu = prior.mu
    for _ in range(_N_NEWTON):
        results = _read_results(mu @ meets.T, part.scores, settled, dispersion)
        sharper = precision + _inform(meets, results)
        gradient = results.slope @ meets - _times(precision, mu - prior.mu)
        mu = mu + np.clip(_times(_invert(sharper), gradient), -_LONGEST_STEP, _LONGEST_STEP)
    results = _read_results(mu @ meets.T, part.scores, settled, dispersion)
    covariance = _invert(precision + _inform(meets, results))
    off = ((mu - prior.mu) * _times(precision, mu - prior.mu)).sum(axis=1)
    narrowed = np.linalg.slogdet(prior.covariance)[1] - np.linalg.slogdet(covariance)[1]
    evidence: Floats = results.log_likelihood - (off + narrowed) / 2
    return evidence, _Posterior(mu, covariance)


def _inform(meets: Floats, results: _Likelihood) -> Floats:
    """Return what results tell of the agents, float64 [k, n, n]."""
    information: Floats = meets.T @ (results.information[:, :, None] * meets)
    return information


def _invert(matrices: Floats) -> Floats:
    return np.linalg.inv(matrices).astype(np.float64, copy=False)


def _times(matrices: Floats, vectors: Floats) -> Floats:
    product: Floats = (matrices @ vectors[:, :, None])[:, :, 0]
    return product


def _read_results(
    leads: Floats, scores: Ints, settled: SettledRatings, dispersion: float
) -> _Likelihood:
    """Return what the results of blocks say of the leads float64 [k, b] of the first agent."""
    margin = unit_draw_margin(settled.draw_probability)
    seat = settled.seat.mu if settled.seat else 0.0
    there = _read_game((leads + seat) / _UNIT, scores[:, 0], margin)
    back = _read_game((leads - seat) / _UNIT, scores[:, 1], margin)
    return _Likelihood(
        *((one + other) / dispersion for one, other in zip(there, back, strict=True))
    )


def _read_game(lead: Floats, score: Ints, margin: float) -> _Likelihood:
    at_win, at_loss = _density(lead - margin), _density(lead + margin)
    win, loss = ndtr(lead - margin), ndtr(-lead - margin)
    chances = [np.maximum(chance, _LEAST) for chance in (win, 1 - win - loss, loss)]
    slopes = [at_win, at_loss - at_win, -at_loss]
    is_one = [score > 0, score == 0, score < 0]
    log_likelihood = np.select(is_one, [np.log(chance) for chance in chances]).sum(axis=1)
    slope = np.select(is_one, [up / chance for up, chance in zip(slopes, chances, strict=True)])
    information = sum(up**2 / chance for up, chance in zip(slopes, chances, strict=True))
    return _Likelihood(log_likelihood, slope / _UNIT, np.asarray(information) / _UNIT**2)


def _density(x: Floats) -> Floats:
    density: Floats = np.exp(-(x**2) / 2) / sqrt(2 * pi)
    return density
