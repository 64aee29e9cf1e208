"""Rock, paper and scissors: fields that no single number can rank."""

import numpy as np

from arena.ratings.counts import Floats, PairCounts
from arena.ratings.settled import count_results

BEATS = {("r", "s"), ("s", "p"), ("p", "r")}


def shares(kinds: str) -> Floats:
    """Return who wins how often: r, p, s beat each other in turn, d loses to all of them."""
    table = np.full((len(kinds), len(kinds)), 0.5)
    for i, one in enumerate(kinds):
        for j, other in enumerate(kinds):
            if (one, other) in BEATS or (other == "d" != one):
                table[i, j], table[j, i] = 0.9, 0.1
    return table


def played(kinds: str, n_each: int, seed: int = 0) -> PairCounts:
    """Return the counts of n_each matches for each two agents."""
    rng, table = np.random.default_rng(seed), shares(kinds)
    pairs = [(i, j) for i in range(len(kinds)) for j in range(i)]
    return count_results(
        [(i, j, 1 if rng.random() < table[i, j] else -1) for i, j in pairs for _ in range(n_each)]
    )
