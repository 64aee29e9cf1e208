"""All that is said about whether one number misleads, and the warning for the board."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from arena.ratings.base import BETA, RatingError
from arena.ratings.counts import Floats, PairCounts
from arena.ratings.pair_table import PairTable, tabulate_pairs
from arena.transitivity.cycles import Cycle, find_cycles
from arena.transitivity.deviance import N_REPLICATES, Deviance, deviance_test
from arena.transitivity.nash import NashAverage, nash_average

LEVEL = 0.01
# About ten seconds; the time grows with the square of the agents and more.
MAX_AGENTS = 500
# So many matches of each pair are thought to have gone as the ratings say.
_PRIOR_MATCHES = 1.0


@dataclass(frozen=True, eq=False)
class Examination:
    """The deviance test, the significant cycles, the shares of points and their Nash average."""

    deviance: Deviance
    cycles: list[Cycle]
    shares: Floats
    nash: NashAverage

    def warning(self, names: Sequence[str], *, level: float = LEVEL) -> str | None:
        """Return a warning where one number misleads, else None. names: of the agents, [n]."""
        if self.deviance.p_value > level:
            return None
        if not self.cycles:
            return (
                "No single order fits: the results depart from every ranking by more than chance."
            )
        first, second, third = (names[agent] for agent in self.cycles[0].agents)
        return f"No single order fits: {first} beats {second} beats {third} beats {first}."


def examine_results(
    counts: PairCounts, mu: Floats, *, seed: int, n_replicates: int = N_REPLICATES
) -> Examination:
    """Return what the results of these settled agents say. Raises RatingError.

    mu: float64 [n], for the shares of pairs that met little or never.
    """
    if len(mu) > MAX_AGENTS:
        raise RatingError(
            f"the order of {MAX_AGENTS} agents at most is examined, got {len(mu)}: pass the highest"
        )
    table = tabulate_pairs(counts, len(mu))
    shares = smooth_shares(table, mu)
    deviance = deviance_test(counts, len(mu), seed=seed, n_replicates=n_replicates)
    return Examination(deviance, find_cycles(table), shares, nash_average(shares))


def smooth_shares(table: PairTable, mu: Floats) -> Floats:
    """Return the share of points of row against column, [n, n], one half on the diagonal."""
    shares: Floats = ndtr((mu[:, None] - mu) / (np.sqrt(2) * BETA))
    n = table.n_results
    # A pair that met once is not a sure win: the ratings count as one match more of each pair.
    smoothed = (n * table.share + _PRIOR_MATCHES * shares[table.low, table.high]) / (
        n + _PRIOR_MATCHES
    )
    shares[table.low, table.high], shares[table.high, table.low] = smoothed, 1 - smoothed
    return shares
