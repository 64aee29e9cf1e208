"""Fits by name: what ratings say of the strengths of a field by its results.

A new fit is a function here and a line in FITS.
"""

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from arena.ratings.base import Z95
from arena.ratings.counts import Floats, Ints, count_results
from arena.ratings.mixtures import find_gap_variances, find_superiorities
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from arena.ratings.teamcounts import N_KINDS, TeamCounts
from benchmarks.campaigns.hard.blocks import PlayedBlocks, count_games
from benchmarks.campaigns.hard.rules import infer_from_blocks
from benchmarks.campaigns.hard.seats import PlayedRanks

SHOWN = FittedTerms(draws=True, is_shown=True)


class Estimate(NamedTuple):
    """mu: float64 [n], strengths on the scale of the ratings. above: P(row above column), [n, n].

    low, high: float64 [n], the ends of the 95 % interval of each about the mean of the field.
    find_gap_ends: those of how far agents of these indices [k] are above those of others [k].
    """

    mu: Floats
    low: Floats
    high: Floats
    above: Floats
    find_gap_ends: Callable[[Ints, Ints], tuple[Floats, Floats]]


Fit = Callable[[PlayedBlocks | PlayedRanks, int], Estimate]


def fit_as_leaderboards(results: PlayedBlocks | PlayedRanks, n_agents: int) -> Estimate:
    """Fit as leaderboards do: teams are sides."""
    if isinstance(results, PlayedBlocks):
        return read_estimate(
            settle_ratings(count_games(results), n_agents, terms=SHOWN._replace(seat=True))
        )
    if results.team_size > 1:
        return read_estimate(settle_ratings(count_sides(results), n_agents, terms=SHOWN))
    n_seats = results.lineups.shape[1]
    pairs = [
        np.stack([results.lineups[:, i], results.lineups[:, j], compare_ranks(results, i, j)], 1)
        for i, j in combinations(range(n_seats), 2)
    ]
    counts = count_results(np.concatenate(pairs))
    return read_estimate(settle_ratings(counts, n_agents, n_sides=n_seats, terms=SHOWN))


def fit_as_campaigns(results: PlayedBlocks | PlayedRanks, n_agents: int) -> Estimate:
    """Fit as campaigns do: what the model leaves out makes them less sure."""
    if not isinstance(results, PlayedBlocks):
        return fit_as_leaderboards(results, n_agents)
    belief = infer_from_blocks(results, n_agents)
    if belief.covariance is None:
        raise ValueError("a field so large has no joint covariance")
    mu, covariance, reach = belief.mu, belief.covariance, Z95 * belief.sd

    def find_gap_ends(i: Ints, j: Ints) -> tuple[Floats, Floats]:
        gap, half = mu[i] - mu[j], Z95 * np.sqrt(find_gap_variances(covariance, i, j))
        return gap - half, gap + half

    above = find_superiorities(mu, covariance)
    return Estimate(mu, mu - reach, mu + reach, above, find_gap_ends)


def compare_ranks(results: PlayedRanks, i: int, j: int) -> Ints:
    """Return the score of seat i against seat j in each match: 1, 0 or -1."""
    score: Ints = np.sign(results.ranks[:, j] - results.ranks[:, i])
    return score


def count_sides(results: PlayedRanks) -> TeamCounts:
    """Return the results of both teams of each match."""
    size, times = results.team_size, Counter[tuple[int, ...]]()
    for lineup, score in zip(
        results.lineups.tolist(), compare_ranks(results, 0, size).tolist(), strict=True
    ):
        times[(*lineup, 1 - score)] += 1
    rows = [
        (side[:size], side[size : 2 * size], [n * (kind == side[-1]) for kind in range(N_KINDS)])
        for side, n in times.items()
    ]
    return TeamCounts.from_rows(rows, size)


def read_estimate(settled: SettledRatings) -> Estimate:
    above = settled.superiorities()
    return Estimate(settled.mu, settled.low, settled.high, above, settled.gap_ends)


FITS: dict[str, Fit] = {"leaderboards": fit_as_leaderboards, "campaigns": fit_as_campaigns}
