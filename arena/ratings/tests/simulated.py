"""Fields of agents whose true skills are known, and their results under TrueSkill's own model."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arena.ratings.base import BETA, DEFAULT, MU
from arena.ratings.counts import Ints
from arena.ratings.teamcounts import N_KINDS, TeamCounts, TeamSide, split_sides


@dataclass(frozen=True)
class Simulated:
    """True skills, float64 [n], and results (first, second, score), int64 [m, 3]."""

    skill: NDArray[np.float64]
    results: Ints

    def triples(self) -> list[tuple[int, int, int]]:
        return [(first, second, score) for first, second, score in self.results.tolist()]


def simulated(n_agents: int, n_results: int, *, spread: float = 25 / 3, seed: int = 0) -> Simulated:
    """Return random pairs of agents with skills N(MU, spread^2)."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(MU, spread, n_agents)
    first = rng.integers(0, n_agents, n_results)
    second = (first + rng.integers(1, n_agents, n_results)) % n_agents
    lead = skill[first] - skill[second] + rng.normal(0, np.sqrt(2) * BETA, n_results)
    score = np.where(np.abs(lead) < DEFAULT.draw_margin, 0, np.sign(lead)).astype(np.int64)
    return Simulated(skill, np.stack([first, second, score], axis=1))


def count_teams(
    matches: Iterable[tuple[Sequence[int], Sequence[int]]], teams: Sequence[int]
) -> TeamCounts:
    """Return the counts of matches (agents by seat, their ranks)."""
    total: Counter[tuple[TeamSide, TeamSide, int]] = Counter()
    for lineup, ranks in matches:
        total.update(split_sides(lineup, ranks, teams))
    rows = [
        (first, second, [n * (kind == other) for other in range(N_KINDS)])
        for (first, second, kind), n in total.items()
    ]
    return TeamCounts.from_rows(rows, teams.count(0))
