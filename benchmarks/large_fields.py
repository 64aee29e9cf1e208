"""How long 10,000 agents take: to settle 10^6 results, to pair more, to say who is best.

./run bench large_fields [--json FILE], or the part "large" of ./run bench verdicts
"""

import sys
from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import NamedTuple, TypeVar

import numpy as np

from arena.pairing import registry
from arena.pairing.base import Field, Standing, count_blocks
from arena.ratings.base import DRAW_PROBABILITY
from arena.ratings.samples import Sampler, best_shares, superiority_shares
from arena.ratings.settled import PairCounts, SettledRatings, count_results, settle_ratings
from benchmarks.options import parser, write_json
from benchmarks.ratings import simulated
from benchmarks.table import Cell, table

MAX_CHOOSE_S, MAX_REFIT_S = 2.0, 10.0


class Sizes(NamedTuple):
    """Of the field, of its results, of what is chosen, and of what is said about its top."""

    agents: int = 10_000
    results: int = 1_000_000
    matches: int = 1_000
    top: int = 200
    samples: int = 200


SIZES = Sizes()


Result = TypeVar("Result")
Timed = tuple[Result, float, float]
"""What work returned, its seconds on the wall and on the processor."""


def timed(work: Callable[[], Result]) -> Timed[Result]:
    wall, cpu = perf_counter(), process_time()
    result = work()
    return result, perf_counter() - wall, process_time() - cpu


def measure() -> dict[str, float]:
    """Return all figures in seconds, on the wall and on the processor (_cpu)."""
    n, results = SIZES.agents, simulated(SIZES.agents, SIZES.results)
    counts, *counted = timed(lambda: count_results(results))
    settled, *cold = timed(lambda: settle_ratings(counts, n))
    _, *warm = timed(lambda: settle_ratings(counts, n, start=settled.mu))
    _, *chosen = timed(lambda: choose(settled, counts))
    _, *chosen_top = timed(lambda: choose(settled, counts, top=2))
    _, *top = timed(lambda: of_the_top(settled, counts))
    steps = {
        "count": counted,
        "refit_cold": cold,
        "refit_warm": warm,
        "choose": chosen,
        "choose_top": chosen_top,
        "top": top,
    }
    wall = {f"{name}_s": wall for name, (wall, _) in steps.items()}
    return wall | {f"{name}_cpu_s": cpu for name, (_, cpu) in steps.items()}


def choose(settled: SettledRatings, counts: PairCounts, *, top: int = 0) -> list[tuple[int, ...]]:
    """Return the lineups of the next matches, with a quarter as many in flight.

    top: as of the pairing: 2 for the question which agent is the best.
    """
    first = range(0, SIZES.matches // 4, 2)
    standing = Standing(
        field=Field(SIZES.agents, 2),
        mu=settled.mu,
        covariance=settled.covariance,
        sd=settled.sd,
        spread=settled.spread,
        counts=counts,
        n_in_flight={(agent, agent + 1): 2 for agent in first},
        meetings=(),
        draw_probability=DRAW_PROBABILITY,
    )
    pairing = registry.get_adaptive("posterior_sample").configured({"top": top})
    return pairing.choose(standing, count_blocks(SIZES.matches, 2), seed=1)


def of_the_top(
    settled: SettledRatings, counts: PairCounts
) -> tuple[list[float], list[list[float]]]:
    """Return P(best) of the highest agents and P(row above column) among them."""
    sampler = Sampler.of_field(
        counts,
        settled.mu,
        settled.covariance,
        settled.spread,
        draw_probability=DRAW_PROBABILITY,
    )
    samples = sampler.draw(np.random.default_rng(1), SIZES.samples)
    top = np.argsort(-settled.mu)[: SIZES.top]
    return best_shares(samples)[top].tolist(), superiority_shares(samples[:, top]).tolist()


def shown(figures: dict[str, float]) -> str:
    """Return the figures as a table with their targets."""
    named = {
        "count": (f"{SIZES.results:,} results counted", ""),
        "refit_cold": ("settled, cold start", f"<= {MAX_REFIT_S}"),
        "refit_warm": ("settled, warm start", f"<= {MAX_REFIT_S}"),
        "choose": (f"next {SIZES.matches:,} matches chosen", f"<= {MAX_CHOOSE_S}"),
        "choose_top": ("the same for the question which is best", f"<= {MAX_CHOOSE_S}"),
        "top": (f"P(best), P(above) of the top {SIZES.top}, {SIZES.samples} samples", ""),
    }
    rows: list[list[Cell]] = [
        [what, figures[f"{name}_s"], figures[f"{name}_cpu_s"], target]
        for name, (what, target) in named.items()
    ]
    return table([f"{SIZES.agents:,} agents", "wall, s", "processor, s", "target"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the figures; return the exit status."""
    options = parser("large_fields", "How long 10,000 agents take.").parse_args(arguments)
    figures = measure()
    print(shown(figures))
    write_json(options.json, dict(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
