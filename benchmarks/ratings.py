"""How fast results become ratings: updates against the trueskill package, and the settled rating.

python -m benchmarks.ratings [--json FILE]
"""

import sys
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
import trueskill

from arena.ratings.base import BETA, DEFAULT, MU, SIGMA
from arena.ratings.counts import Ints
from arena.ratings.settled import count_results, settle_ratings
from arena.ratings.trueskill import fold_results
from benchmarks.options import parser, write_json
from benchmarks.table import Cell, table

N_RUNS = 5
MIN_UPDATES_PER_S = 500_000
MIN_RATIO_PACKAGE = 50
MAX_SETTLE_1E5_S, MAX_SETTLE_1E6_S, MAX_REFIT_S = 0.3, 0.5, 0.2


class Sizes(NamedTuple):
    """How many results each figure is measured on."""

    updates: int = 300_000
    package_updates: int = 2_000
    small: int = 100_000
    large: int = 1_000_000


SIZES = Sizes()

Triple = tuple[int, int, int]


def simulated(n_agents: int, n_results: int, *, seed: int = 1) -> Ints:
    """Return results of random pairs under TrueSkill's own model: int64 [m, 3]."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(MU, SIGMA, n_agents)
    first = rng.integers(0, n_agents, n_results)
    second = (first + rng.integers(1, n_agents, n_results)) % n_agents
    noise = rng.normal(0, np.sqrt(2) * BETA, n_results)
    lead = skill[first] - skill[second] + noise
    score = np.where(np.abs(lead) < DEFAULT.draw_margin, 0, np.sign(lead)).astype(np.int64)
    return np.stack([first, second, score], axis=1)


def seconds(work: Callable[[], object]) -> float:
    """Return the median time of N_RUNS runs."""
    times = []
    for _ in range(N_RUNS):
        begun = perf_counter()
        work()
        times.append(perf_counter() - begun)
    return median(times)


def fold_ours(n_agents: int, results: Sequence[Triple]) -> list[float]:
    """Return all mu by the closed form."""
    mus = [MU] * n_agents
    fold_results(mus, [SIGMA] * n_agents, results)
    return mus


def fold_package(n_agents: int, results: Sequence[Triple]) -> list[float]:
    """Return all mu by the package, as its documentation shows."""
    model = trueskill.TrueSkill(tau=0.0)
    ratings = [model.create_rating() for _ in range(n_agents)]
    for first, second, score in results:
        best, other = (first, second) if score >= 0 else (second, first)
        ratings[best], ratings[other] = trueskill.rate_1vs1(
            ratings[best], ratings[other], drawn=score == 0, env=model
        )
    return [float(rating.mu) for rating in ratings]


def measure() -> dict[str, float]:
    """Return all figures, medians of N_RUNS runs."""
    updates: list[Triple] = [(i, j, s) for i, j, s in simulated(100, SIZES.updates).tolist()]
    few = updates[: SIZES.package_updates]
    updates_per_s = len(updates) / seconds(lambda: fold_ours(100, updates))
    package_updates_per_s = len(few) / seconds(lambda: fold_package(100, few))
    small, large = simulated(200, SIZES.small), simulated(200, SIZES.large)
    counts = count_results(large)
    start = settle_ratings(counts, 200).mu
    return {
        "updates_per_s": updates_per_s,
        "package_updates_per_s": package_updates_per_s,
        "ratio_package": updates_per_s / package_updates_per_s,
        "settle_1e5_s": seconds(lambda: settle_ratings(count_results(small), 200)),
        "settle_1e6_s": seconds(lambda: settle_ratings(count_results(large), 200)),
        "refit_s": seconds(lambda: settle_ratings(counts, 200, start=start)),
    }


def shown(figures: dict[str, float]) -> str:
    """Return the figures as a table with their targets."""
    package = figures["package_updates_per_s"]
    timed = [
        ("1e5 results counted and settled, s", "settle_1e5_s", 1e5, MAX_SETTLE_1E5_S),
        ("1e6 results counted and settled, s", "settle_1e6_s", 1e6, MAX_SETTLE_1E6_S),
        ("1e6 results, counted before, refitted, s", "refit_s", 1e6, MAX_REFIT_S),
    ]
    rows: list[list[Cell]] = [
        ["updates/s", figures["updates_per_s"], package, figures["ratio_package"],
         f">= {MIN_UPDATES_PER_S:,}, {MIN_RATIO_PACKAGE} times the package"]
    ]  # fmt: skip
    for what, name, n_results, limit in timed:
        alone = n_results / package
        rows.append([what, figures[name], alone, alone / figures[name], f"<= {limit}"])
    return table(["", "ours", "trueskill", "ratio", "target"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the figures; return the exit status."""
    options = parser("ratings", "How fast results become ratings.").parse_args(arguments)
    figures = measure()
    print(shown(figures))
    print(
        f"Medians of {N_RUNS}; 100 agents for the updates, 200 for the rest, where the figures of"
    )
    print("the trueskill package are what its updates/s would take.")
    write_json(options.json, dict(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
