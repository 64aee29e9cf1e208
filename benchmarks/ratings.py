"""How fast results become ratings: updates against the trueskill package, and the settled rating.

./run bench ratings [--json FILE]
"""

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
import trueskill

from arena.ratings.base import MU, SIGMA
from arena.ratings.counts import Ints
from arena.ratings.settled import FittedTerms, count_results, settle_ratings
from arena.ratings.trueskill import fold_results
from benchmarks.campaigns.worlds import Normal, play_at_random
from benchmarks.report import Cell, format_table, make_parser, write_report

# As leaderboards of two seats are fitted.
SHOWN = FittedTerms(seat=True, draws=True, is_shown=True)
N_RUNS = 5
MIN_UPDATES_PER_S = 500_000
MIN_RATIO_PACKAGE = 50
MAX_SETTLE_1E5_S, MAX_SETTLE_1E6_S, MAX_REFIT_S = 0.3, 0.4, 0.2


class Sizes(NamedTuple):
    updates: int = 300_000
    package_updates: int = 2_000
    small: int = 100_000
    large: int = 1_000_000


SIZES = Sizes()

Triple = tuple[int, int, int]


def simulate_results(n_agents: int, n_results: int, *, seed: int = 1) -> Ints:
    """Return results of random pairs under TrueSkill's own model: int64 [m, 3]."""
    rng = np.random.default_rng(seed)
    return play_at_random(Normal(rng.normal(MU, SIGMA, n_agents)), n_results, rng)


def time_median(work: Callable[[], object]) -> float:
    """Return the median seconds of N_RUNS runs."""
    times = []
    for _ in range(N_RUNS):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return median(times)


def fold_ours(n_agents: int, results: Sequence[Triple]) -> list[float]:
    mus = [MU] * n_agents
    fold_results(mus, [SIGMA] * n_agents, results)
    return mus


def fold_package(n_agents: int, results: Sequence[Triple]) -> list[float]:
    """Return all mu by the package, as its documentation shows."""
    # Without drift, as ours: tau is for players who learn between matches.
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
    updates: list[Triple] = [(i, j, s) for i, j, s in simulate_results(100, SIZES.updates).tolist()]
    # The package takes some 100 times as long: two thousand are enough for its rate.
    few = updates[: SIZES.package_updates]
    updates_per_s = len(updates) / time_median(lambda: fold_ours(100, updates))
    package_updates_per_s = len(few) / time_median(lambda: fold_package(100, few))
    small, large = simulate_results(200, SIZES.small), simulate_results(200, SIZES.large)
    counts = count_results(large)
    # A refit starts from the last one's ratings, as the rater does.
    start = settle_ratings(counts, 200).mu
    return {
        "updates_per_s": updates_per_s,
        "package_updates_per_s": package_updates_per_s,
        "ratio_package": updates_per_s / package_updates_per_s,
        "settle_1e5_s": time_median(lambda: settle_ratings(count_results(small), 200, terms=SHOWN)),
        "settle_1e6_s": time_median(lambda: settle_ratings(count_results(large), 200, terms=SHOWN)),
        "refit_s": time_median(lambda: settle_ratings(counts, 200, start=start, terms=SHOWN)),
    }


def format_figures(figures: dict[str, float]) -> str:
    package = figures["package_updates_per_s"]
    timed = [
        ("1e5 results counted and settled, s", "settle_1e5_s", 1e5, MAX_SETTLE_1E5_S),
        ("1e6 results counted and settled, s", "settle_1e6_s", 1e6, MAX_SETTLE_1E6_S),
        ("1e6 results, counted before, refitted, s", "refit_s", 1e6, MAX_REFIT_S),
    ]
    target = f">= {MIN_UPDATES_PER_S:,}, {MIN_RATIO_PACKAGE} times the package"
    rows: list[list[Cell]] = [
        ["updates/s", figures["updates_per_s"], package, figures["ratio_package"], target]
    ]
    for title, name, n_results, limit in timed:
        package_s = n_results / package
        rows.append([title, figures[name], package_s, package_s / figures[name], f"<= {limit}"])
    return format_table(["", "ours", "trueskill", "ratio", "target"], rows)


def main(arguments: Sequence[str]) -> int:
    options = make_parser("ratings", "How fast results become ratings.").parse_args(arguments)
    figures = measure()
    write_report(format_figures(figures), figures, options.json)
    print(f"Medians of {N_RUNS}; 100 agents for updates, 200 for the rest, where the figures of")
    print("the trueskill package are what its updates/s would take.")
    return 0
