"""How long 10,000 agents take: to settle 10^6 results, to pair more, to say who is best.

./run bench large_fields [--json FILE], or the part "large" of ./run bench verdicts
"""

from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

from arena.pairing import registry
from arena.pairing.base import Field, Standing, count_blocks
from arena.ratings.base import DRAW_PROBABILITY
from arena.ratings.samples import Sampler, best_shares, superiority_shares
from arena.ratings.settled import PairCounts, SettledRatings, count_results, settle_ratings
from benchmarks.ratings import simulate_results
from benchmarks.report import Cell, format_table, make_parser, write_report

MAX_CHOOSE_S, MAX_REFIT_S = 2.0, 10.0


class Sizes(NamedTuple):
    agents: int = 10_000
    results: int = 1_000_000
    matches: int = 1_000
    top: int = 200
    samples: int = 200


SIZES = Sizes()


def measure() -> dict[str, float]:
    """Return all figures in seconds, on the wall and on the processor (_cpu)."""
    n, results = SIZES.agents, simulate_results(SIZES.agents, SIZES.results)
    # Made once more beside the clock: the steps below need what the first ones return.
    counts = count_results(results)
    settled = settle_ratings(counts, n)
    steps: dict[str, Callable[[], object]] = {
        "count": lambda: count_results(results),
        "refit_cold": lambda: settle_ratings(counts, n),
        "refit_warm": lambda: settle_ratings(counts, n, start=settled.mu),
        "choose": lambda: choose_matches(settled, counts),
        # The question which agent is best looks at the first two ranks.
        "choose_top": lambda: choose_matches(settled, counts, top=2),
        "top": lambda: sample_top(settled, counts),
    }
    wall, cpu = {}, {}
    for name, work in steps.items():
        began_s, began_cpu_s = perf_counter(), process_time()
        work()
        wall[f"{name}_s"] = perf_counter() - began_s
        cpu[f"{name}_cpu_s"] = process_time() - began_cpu_s
    return wall | cpu


def choose_matches(
    settled: SettledRatings, counts: PairCounts, *, top: int = 0
) -> Sequence[tuple[int, ...]]:
    """Return the lineups of the next matches, with a quarter as many in flight."""
    in_flight = range(0, SIZES.matches // 4, 2)
    standing = Standing(
        field=Field(SIZES.agents, 2),
        mu=settled.mu,
        covariance=settled.covariance,
        sd=settled.sd,
        spread=settled.spread,
        counts=counts,
        n_in_flight={(agent, agent + 1): 2 for agent in in_flight},
        meetings=(),
        draw_probability=DRAW_PROBABILITY,
    )
    pairing = registry.get_adaptive("posterior_sample").configured({"top": top})
    return pairing.choose(standing, count_blocks(SIZES.matches, 2), seed=1)


def sample_top(
    settled: SettledRatings, counts: PairCounts
) -> tuple[list[float], list[list[float]]]:
    """Return P(best) of the highest agents and P(row above column) among them."""
    # Sampled, as no closed form says which of thousands is the best.
    belief = (counts, settled.mu, settled.covariance, settled.spread)
    sampler = Sampler.of_field(*belief, draw_probability=DRAW_PROBABILITY)
    samples = sampler.draw(np.random.default_rng(1), SIZES.samples)
    top = np.argsort(-settled.mu)[: SIZES.top]
    return best_shares(samples)[top].tolist(), superiority_shares(samples[:, top]).tolist()


def format_figures(figures: dict[str, float]) -> str:
    named = {
        "count": (f"{SIZES.results:,} results counted", ""),
        "refit_cold": ("settled, cold start", f"<= {MAX_REFIT_S}"),
        "refit_warm": ("settled, warm start", f"<= {MAX_REFIT_S}"),
        "choose": (f"next {SIZES.matches:,} matches chosen", f"<= {MAX_CHOOSE_S}"),
        "choose_top": ("the same for the question which is best", f"<= {MAX_CHOOSE_S}"),
        "top": (f"P(best), P(above) of the top {SIZES.top}, {SIZES.samples} samples", ""),
    }
    rows: list[list[Cell]] = [
        [title, figures[f"{name}_s"], figures[f"{name}_cpu_s"], target]
        for name, (title, target) in named.items()
    ]
    return format_table([f"{SIZES.agents:,} agents", "wall, s", "processor, s", "target"], rows)


def main(arguments: Sequence[str]) -> int:
    options = make_parser("large_fields", "How long 10,000 agents take.").parse_args(arguments)
    figures = measure()
    write_report(format_figures(figures), figures, options.json)
    return 0
