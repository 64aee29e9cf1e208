"""Matches that simulated fields need until so many of their pairs are in the right order."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import NamedTuple

import numpy as np

from arena.pairing import registry as pairings
from arena.ratings.accuracy import strict_accuracy
from arena.ratings.base import MU, SIGMA
from arena.ratings.counts import Floats
from arena.ratings.trueskill import fold_results
from benchmarks.campaigns import reliability
from benchmarks.campaigns.play import Adaptive, Fixed, Planner, watch
from benchmarks.campaigns.worlds import WORLDS, World

LEVELS = (0.90, 0.95, 0.99)
_STEP = 1.05
"""The random order is looked at when its matches have grown by this much."""
_FIRST_LOOK = 20
_EVERY = 3
"""Of so many refits, one is asked for its claims, as neighbours say nearly the same."""
Curve = list[tuple[float, float]]
"""Matches and the share of pairs in the right order, growing in matches."""


@dataclass(frozen=True)
class Task:
    """One field of one seed, and up to how many matches it is followed."""

    field: str
    n_agents: int
    budget: int
    random_budget: int
    seed: int


class Followed(NamedTuple):
    """How a field goes in three ways, and what the first of them claims.

    ours: by order information. settled: by random blocks, settled as well. online: by random
    matches and online TrueSkill.
    """

    ours: Curve
    settled: Curve
    online: Curve
    claims: Floats


def follow(task: Task) -> Followed:
    """Return how one field goes."""
    world = WORLDS[task.field](task.n_agents, np.random.default_rng([task.seed, task.n_agents]))
    ours = Adaptive(pairings.get_adaptive("order_information"), task.seed)
    random = Fixed(pairings.get("random"), task.n_agents, task.budget, task.seed)
    curve, claimed = _watched(world, ours, task)
    return Followed(curve, _watched(world, random, task)[0], _online(world, task), claimed)


def _watched(world: World, planner: Planner, task: Task) -> tuple[Curve, Floats]:
    curve: Curve = []
    tables = []
    for look, moment in enumerate(watch(world, planner, budget=task.budget, seed=task.seed)):
        accuracy = strict_accuracy(world.truth.tolist(), moment.settled.mu.tolist())
        curve.append((moment.counts.n_results, accuracy or 0.0))
        if look % _EVERY == 0:
            tables.append(reliability.claims(moment.settled, world.truth))
    return curve, reliability.total(tables)


def _online(world: World, task: Task) -> Curve:
    rng, n = np.random.default_rng([task.seed, 1]), task.n_agents
    first = rng.integers(0, n, task.random_budget)
    second = (first + rng.integers(1, n, task.random_budget)) % n
    scores = world.play(first, second, rng)
    results = list(zip(first.tolist(), second.tolist(), scores.tolist(), strict=True))
    mus, sigmas, curve = [MU] * n, [SIGMA] * n, Curve()
    for start, stop in pairwise([0, *_looks(task.random_budget)]):
        fold_results(mus, sigmas, results[start:stop])
        curve.append((stop, strict_accuracy(world.truth.tolist(), mus) or 0.0))
    return curve


def _looks(budget: int) -> list[int]:
    looks = [_FIRST_LOOK]
    while looks[-1] < budget:
        looks.append(min(budget, max(looks[-1] + 1, int(looks[-1] * _STEP))))
    return looks


def mean(curves: Sequence[Curve]) -> Curve:
    """Return the mean of curves with the same matches."""
    table = np.array(curves)
    return [(float(m), float(a)) for m, a in zip(table[0, :, 0], table[:, :, 1].mean(axis=0))]  # noqa: B905


def crossing(curve: Curve, level: float) -> float | None:
    """Return the matches at which the curve first reaches the level, by the logarithm between."""
    last = curve[0]
    for here in curve:
        if here[1] >= level:
            part = (level - last[1]) / (here[1] - last[1]) if here[1] > last[1] else 1.0
            return exp(log(last[0]) + part * (log(here[0]) - log(last[0])))
        last = here
    return None


def rows(field: str, n_agents: int, followed: Sequence[Followed]) -> list[dict[str, object]]:
    """Return the rows of the benchmark, one a level."""
    ours, settled, online = (
        mean([getattr(one, name) for one in followed]) for name in ("ours", "settled", "online")
    )
    return [_row(field, n_agents, level, (ours, settled, online)) for level in LEVELS]


def _row(
    field: str, n_agents: int, level: float, curves: tuple[Curve, Curve, Curve]
) -> dict[str, object]:
    matches, settled, online = (crossing(curve, level) for curve in curves)
    return {
        "name": field,
        "agents": n_agents,
        "level": level,
        "matches": matches,
        "random_matches": online,
        "factor": online / matches if online and matches else None,
        "random_settled_matches": settled,
    }
