"""Mean scores of one-seat games with 95 % intervals: a paired bootstrap over the game seeds.

All agents are resampled by the same draws of seeds, so that what a seed makes easy or hard for all
of them moves them together. Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993),
chapter 13, widened by sqrt(n / (n - 1)), as few seeds vary less than what they are drawn from.
"""

from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from arena.ratings.counts import Floats, Ints

N_RESAMPLES = 1_000
# More seeds than this are resampled in so many bags of seeds, which comes to the same.
MOST_BAGS = 1_000
_AGENTS_AT_ONCE = 200
_TAILS = (0.025, 0.975)


@dataclass(frozen=True, eq=False)
class ScoreMeans:
    """The mean of each agent, exactly rounded, and its interval, all float64 [n].

    agents: int64 [n], sorted. n_seeds: int64 [n]. low, high: NaN with a single seed.
    """

    agents: Ints
    n_seeds: Ints
    mean: Floats
    low: Floats
    high: Floats


def summarize_scores(agents: Ints, seeds: Ints, scores: Floats, *, seed: int = 0) -> ScoreMeans:
    """Return the mean score of each agent with its interval; rows may come in any order.

    agents, seeds: int64 [m]. scores: float64 [m], finite. One row for each agent and seed. seed:
    of the draws.
    """
    order = np.lexsort((seeds, agents))
    agents, seeds, scores = agents[order], seeds[order], scores[order]
    names, starts, n_seeds = np.unique(agents, return_index=True, return_counts=True)
    # fsum is exact, so that no order of adding shows in the last bit.
    means = np.array(
        [fsum(scores[at : at + n]) / n for at, n in zip(starts, n_seeds, strict=True)], np.float64
    )
    agent_rows = np.repeat(np.arange(len(names)), n_seeds)
    every_seed, of_seed = np.unique(seeds, return_inverse=True)
    n_bags = min(max(1, len(every_seed)), MOST_BAGS)
    # Deviations, not scores: large ones would lose the digits in which agents differ.
    table = agent_rows, of_seed % n_bags, scores - means[agent_rows]
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(n_bags, [1 / n_bags] * n_bags, N_RESAMPLES)
    low, high = np.full((2, len(names)), np.nan)
    for begin in range(0, len(names), _AGENTS_AT_ONCE):
        end = min(begin + _AGENTS_AT_ONCE, len(names))
        part = _resample(table, begin, end, weights.astype(np.float64))
        widened = part * np.sqrt(n_seeds[begin:end] / np.maximum(1, n_seeds[begin:end] - 1))
        low[begin:end], high[begin:end] = np.nanquantile(widened, _TAILS, axis=0)
    is_sure = n_seeds > 1
    return ScoreMeans(
        names,
        n_seeds,
        means,
        np.where(is_sure, means + low, np.nan),
        np.where(is_sure, means + high, np.nan),
    )


def _resample(
    table: tuple[Ints, Ints, Floats], begin: int, end: int, weights: Floats
) -> NDArray[np.float64]:
    """Return the mean deviation of these agents in each resample: [N_RESAMPLES, end - begin].

    NaN where none of an agent's seeds was drawn.
    """
    agent_rows, bags, deviations = table
    rows = slice(*np.searchsorted(agent_rows, (begin, end)))
    n_agents, n_bags = end - begin, weights.shape[1]
    cells = bags[rows] * n_agents + (agent_rows[rows] - begin)
    sums = np.bincount(cells, deviations[rows], n_bags * n_agents).reshape(n_bags, n_agents)
    times = np.bincount(cells, minlength=n_bags * n_agents).reshape(n_bags, n_agents)
    n_drawn = weights @ times
    means = np.full(n_drawn.shape, np.nan)
    np.divide(weights @ sums, n_drawn, out=means, where=n_drawn > 0)
    return means
