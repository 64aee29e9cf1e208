"""Cycles: three agents of which each beats the next, and how sure that is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from arena.ratings.counts import Floats
from arena.ratings.pair_table import PairTable

LEVEL = 0.05
MAX_CYCLES = 20


@dataclass(frozen=True)
class Cycle:
    """Each agent beats the next, the last the first, with these shares of the points.

    p_value: of at least one of the three being no better than the next, corrected for all the
    cycles that could have been found (Holm).
    """

    agents: tuple[int, int, int]
    shares: tuple[float, float, float]
    p_value: float


def find_cycles(table: PairTable, *, level: float = LEVEL, limit: int = MAX_CYCLES) -> list[Cycle]:
    """Return the cycles that are significant at this level, the surest first, at most limit."""
    doubts = _find_binomial_doubts(table)
    # The trace of the cube counts each triple whose pairs all met six times; it has two cycles.
    met_pairs = (doubts <= 1).astype(np.float64)
    n_possible = round(float(np.trace(met_pairs @ met_pairs @ met_pairs)) / 3)
    if n_possible == 0:
        return []
    # Holm's correction, largest factor first: the surest cycle is tested as if all were tested.
    candidates = sorted(_find_candidates(doubts, level / n_possible))
    shares = np.full((table.n_agents, table.n_agents), 0.5)
    shares[table.low, table.high], shares[table.high, table.low] = table.share, 1 - table.share
    cycles: list[Cycle] = []
    worst = 0.0
    for place, (doubt, agents) in enumerate(candidates[:limit]):
        worst = max(worst, min(1.0, doubt * (n_possible - place)))
        a, b, c = agents
        three = float(shares[a, b]), float(shares[b, c]), float(shares[c, a])
        cycles.append(Cycle(agents, three, worst))
    return cycles


def _find_binomial_doubts(table: PairTable) -> Floats:
    """Return for each two agents the p-value of "the first is no better": [n, n].

    The exact binomial test of the decided matches; 2 where they never met.
    """
    doubts = np.full((table.n_agents, table.n_agents), 2.0)
    for first, second, wins, losses in (
        (table.low, table.high, table.low_wins, table.high_wins),
        (table.high, table.low, table.high_wins, table.low_wins),
    ):
        tail = betainc(np.maximum(wins, 1), losses + 1, 0.5)
        doubts[first, second] = np.where(wins > 0, tail, 1.0)
    return doubts


def _find_candidates(doubts: Floats, threshold: float) -> list[tuple[float, tuple[int, int, int]]]:
    """Return (doubt, agents) of cycles whose three doubts are at most so much, lowest index first.

    A cycle stands only where all three hold, so its doubt is the largest of the three.
    """
    beats: NDArray[np.bool_] = doubts <= threshold
    candidates: list[tuple[float, tuple[int, int, int]]] = []
    for a, b in zip(*np.nonzero(np.triu(beats)), strict=True):
        for c in np.flatnonzero(beats[b] & beats[:, a]).tolist():
            # Each cycle is found from each of its agents: keep that from the lowest index.
            if c > a:
                doubt = max(doubts[a, b], doubts[b, c], doubts[c, a])
                candidates.append((float(doubt), (int(a), int(b), c)))
    return candidates
