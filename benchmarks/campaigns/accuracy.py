"""Matches that simulated fields need until so many of their pairs are in the right order.

Also what is claimed meanwhile, against the truth: that one agent is above another.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import exp, log
from typing import NamedTuple

import numpy as np

from arena.pairing import registry as pairings
from arena.ratings.accuracy import strict_accuracy
from arena.ratings.base import MU, SIGMA
from arena.ratings.counts import Floats, Ints
from arena.ratings.settled import SettledRatings
from arena.ratings.trueskill import fold_results
from benchmarks.campaigns.worlds import (
    WORLDS,
    Planner,
    World,
    plan_adaptively,
    play_at_random,
    watch_field,
)

LEVELS = (0.90, 0.95, 0.99)
# The random order is looked at when its matches have grown by this much.
LOOK_GROWTH = 1.05
FIRST_LOOK = 20
# Of so many refits, one is asked for its claims, as neighbours say nearly the same.
CLAIMS_EVERY = 3
# Of claims from 1/2 to 1.
N_BINS = 10
# Claims that a bin needs, to be judged.
FEWEST = 2_000
# Matches and the share of pairs in the right order, growing in matches.
Curve = list[tuple[float, float]]


class Task(NamedTuple):
    """One field of one seed, and up to how many matches it is followed."""

    field: str
    n_agents: int
    budget: int
    random_budget: int
    seed: int


class Followed(NamedTuple):
    """How a field goes by order information, and by random matches and online TrueSkill.

    claims: what the first of them claims meanwhile.
    """

    ours: Curve
    online: Curve
    claims: Floats


def follow_field(task: Task) -> Followed:
    world = WORLDS[task.field](task.n_agents, np.random.default_rng([task.seed, task.n_agents]))
    planner = plan_adaptively(pairings.get_adaptive("order_information"), task.seed)
    curve, claims = watch_accuracy(world, planner, task)
    return Followed(curve, follow_online(world, task), claims)


def watch_accuracy(world: World, planner: Planner, task: Task) -> tuple[Curve, Floats]:
    """Return how the order of a settled field gets right, and all that it claims meanwhile."""
    curve, claims, truth = Curve(), [], world.truth.tolist()
    for look, moment in enumerate(watch_field(world, planner, budget=task.budget, seed=task.seed)):
        accuracy = strict_accuracy(truth, moment.settled.mu.tolist())
        curve.append((moment.counts.n_results, accuracy or 0.0))
        # Whoever counts all of them counts nearly the same claim again and again.
        if look % CLAIMS_EVERY == 0:
            claims.append(count_claims(moment.settled, world.truth))
    return curve, add_claims(claims)


def follow_online(world: World, task: Task) -> Curve:
    """Return the same for random matches, rated update by update."""
    rng, n = np.random.default_rng([task.seed, 1]), task.n_agents
    results = [(i, j, s) for i, j, s in play_at_random(world, task.random_budget, rng).tolist()]
    # By a factor, as an accuracy is read over the logarithm of the matches.
    looks = [0, FIRST_LOOK]
    while looks[-1] < task.random_budget:
        looks.append(min(task.random_budget, max(looks[-1] + 1, int(looks[-1] * LOOK_GROWTH))))
    mus, sigmas, curve = [MU] * n, [SIGMA] * n, Curve()
    for start, stop in pairwise(looks):
        fold_results(mus, sigmas, results[start:stop])
        curve.append((stop, strict_accuracy(world.truth.tolist(), mus) or 0.0))
    return curve


def find_crossing(curve: Curve, level: float) -> float | None:
    """Return the matches at which the curve first reaches the level, by the logarithm between."""
    last = curve[0]
    for here in curve:
        if here[1] >= level:
            part = (level - last[1]) / (here[1] - last[1]) if here[1] > last[1] else 1.0
            return exp(log(last[0]) + part * (log(here[0]) - log(last[0])))
        last = here
    return None


def make_rows(field: str, n_agents: int, followed: Sequence[Followed]) -> list[dict[str, object]]:
    """Return the rows of the benchmark, one a level, of the mean of all seeds."""
    means = []
    for name in ("ours", "online"):
        curves = np.array([getattr(run, name) for run in followed])
        means.append(list(zip(curves[0, :, 0], curves[:, :, 1].mean(axis=0), strict=True)))
    return [
        make_level_row(field, n_agents, level, *(find_crossing(curve, level) for curve in means))
        for level in LEVELS
    ]


def make_level_row(
    field: str, n_agents: int, level: float, ours: float | None, at_random: float | None
) -> dict[str, object]:
    """Return the matches to a level in our way and at random; None: never."""
    return {
        "name": field,
        "agents": n_agents,
        "level": level,
        "matches": ours,
        "random_matches": at_random,
        "factor": at_random / ours if at_random and ours else None,
    }


def count_claims(settled: SettledRatings, truth: Floats) -> Floats:
    """Return float64 [3, N_BINS]: how many claims, the sum of their probabilities, how many true.

    One claim a pair of agents that differ: the one with the higher rating is the better one.
    """
    # A pair of equal agents claims nothing: neither is the better one.
    above = settled.superiorities()
    i, j = np.nonzero(np.triu(truth[:, None] != truth, 1))
    claimed, is_first = np.maximum(above[i, j], above[j, i]), above[i, j] >= above[j, i]
    is_true = (truth[i] > truth[j]) == is_first
    # A claim of exactly 1 belongs into the last bin.
    bins: Ints = np.minimum(((claimed - 0.5) * 2 * N_BINS).astype(np.int64), N_BINS - 1)
    columns = (np.ones_like(claimed), claimed, is_true.astype(np.float64))
    return np.stack([np.bincount(bins, column, N_BINS) for column in columns])


def add_claims(tables: Iterable[Floats]) -> Floats:
    return sum(tables, np.zeros((3, N_BINS)))


def find_gaps(table: Floats) -> list[tuple[int, float, float]]:
    """Return (claims, mean claimed, share true) of each bin with enough of them."""
    return [
        (int(n), float(claimed / n), float(true / n)) for n, claimed, true in table.T if n >= FEWEST
    ]


def find_largest_gap(table: Floats) -> float | None:
    """Return the largest difference of claimed and true, in points; None without enough claims."""
    gaps = find_gaps(table)
    return max((100 * abs(claimed - true) for _, claimed, true in gaps), default=None)


SIZE, EDGE = 360, 48
COLOURS = (
    *("#111", "#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    *("#e69f00", "#56b4e9", "#777", "#8f5a2a"),
)
FRAME = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 456 456" font-family="sans-serif" \
font-size="12">
<rect width="100%" height="100%" fill="white"/>
<path d="M48 48V408H408" fill="none" stroke="#555"/>
<path d="M48 408L408 48" stroke="#bbb" stroke-dasharray="4 4"/>
<text x="228" y="444" text-anchor="middle">claimed: above the other</text>
<text transform="translate(12 228) rotate(-90)" text-anchor="middle">true</text>"""


def draw_reliability(tables: Sequence[tuple[str, Floats]]) -> str:
    """Return the reliability diagram of these fields as SVG; both axes from 1/2 to 1."""

    def place(claimed: float, true: float) -> tuple[float, float]:
        return EDGE + (2 * claimed - 1) * SIZE, EDGE + SIZE - (2 * true - 1) * SIZE

    parts = [FRAME]
    for share in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        x, y = place(share, share)
        parts.append(f'<text x="{x:.0f}" y="424" text-anchor="middle">{share:.0%}</text>')
        parts.append(f'<text x="42" y="{y + 4:.0f}" text-anchor="end">{share:.0%}</text>')
    for number, (name, table) in enumerate(tables):
        colour = COLOURS[number % len(COLOURS)]
        points = [place(claimed, true) for _, claimed, true in find_gaps(table)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        # The first line, of all fields together, is the thick one.
        line = f'fill="none" stroke="{colour}" stroke-width="{1.2 if number else 2.5}"'
        parts.append(f'<polyline points="{path}" {line}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(f'<text x="58" y="{62 + 15 * number}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])
