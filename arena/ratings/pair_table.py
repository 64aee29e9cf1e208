"""The results of each pair of agents, whatever their seats."""

from dataclasses import dataclass

import numpy as np

from arena.ratings.counts import Floats, Ints, PairCounts, sum_by_key


@dataclass(frozen=True, eq=False)
class PairTable:
    """One row for each pair that met, low < high: their wins and draws, float64 [m] each."""

    n_agents: int
    low: Ints
    high: Ints
    low_wins: Floats
    draws: Floats
    high_wins: Floats

    @property
    def n_results(self) -> Floats:
        """How many results each pair has: float64 [m], 1 or more."""
        return self.low_wins + self.draws + self.high_wins

    @property
    def share(self) -> Floats:
        """The share of the points that the lower index has, a draw one half."""
        return (self.low_wins + self.draws / 2) / self.n_results


def tabulate_pairs(counts: PairCounts, n_agents: int) -> PairTable:
    """Return the results of each pair that met, rows sorted by pair, whoever sat first."""
    is_turned = counts.first > counts.second
    low = np.minimum(counts.first, counts.second)
    high = np.maximum(counts.first, counts.second)
    pairs, which = np.unique(low * n_agents + high, return_inverse=True)
    low_wins = np.where(is_turned, counts.n_second_wins, counts.n_first_wins)
    high_wins = np.where(is_turned, counts.n_first_wins, counts.n_second_wins)
    columns = [
        sum_by_key(which, column.astype(np.float64), len(pairs))
        for column in (low_wins, counts.n_draws, high_wins)
    ]
    return PairTable(n_agents, *np.divmod(pairs, n_agents), *columns)


def tabulate_seats(counts: PairCounts, n_agents: int) -> Floats:
    """Return how often the row's agent won, drew and lost in the first seat: float64 [3, n, n]."""
    times = np.zeros((3, n_agents, n_agents))
    columns = (counts.n_first_wins, counts.n_draws, counts.n_second_wins)
    for kind, column in enumerate(columns):
        times[kind, counts.first, counts.second] = column
    return times
