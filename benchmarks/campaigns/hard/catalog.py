"""The hard worlds by name, made from the number of agents and random numbers.

Four of them are nobody's list but our own, fixed before the rule was known:

- exploiter: somebody trained the weakest agent against one frozen opponent, as leagues and
  adversarial policies do. It beats that one and nobody else, a single entry in the table of pairs.
- seed_runs: seeds are numbered in a row, and neighbouring ones give similar maps or levels; each
  agent likes some of them. So blocks that follow each other agree, though no seed is played twice.
  (scattered_seeds, beside them: the same where seeds are hashes, as evalsite draws them.)
- strong_draws: strong agents know how not to lose, so the share of draws grows from none among weak
  ones to most among strong ones, as in chess. One share for all takes peace for equality.
- erratic: half of the agents play at a high temperature, or learnt a gamble: their performance
  varies three times as much. They lose to weak ones and beat strong ones, so that gaps do not add.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from arena.games.catalog.skill_game import RATING_RANGE
from arena.ratings.base import BETA, MU, SIGMA, unit_draw_margin
from arena.ratings.counts import Floats
from benchmarks.campaigns.hard.base import HardWorld
from benchmarks.campaigns.hard.dependent import Drifting, Repeating, SameWinner, SeedRuns
from benchmarks.campaigns.hard.probit import Probit
from benchmarks.campaigns.hard.skill_levels import SkillLevels
from benchmarks.campaigns.worlds import CLOSE, NOISE

Rng = np.random.Generator

# Sd of what a session adds to a skill: as much as one performance varies. With half of it today's
# rule names a wrong best agent in 3 %, with all of it in 10 %.
DRIFT = BETA
BLOCK_SD = 2 * BETA
FORFEITS = 0.1
SEAT = 20.0
DEVIATION = SIGMA / 2
TAIL_DOF = 2.5
CLUSTER_GAP = 2.5 * SIGMA
DRAWS = 0.8
# How many times as long a game lasts that a slow agent loses.
SLOWNESS = 4.0
# By how much the exploiter beats its victim: some 91 % of the points.
EXPLOIT = 8.0
# Draws of two equal agents of endless strength.
MOST_DRAWS = 0.9
STEADY, ERRATIC = BETA, 3 * BETA


def draw_gauss(n: int, rng: Rng) -> Floats:
    return rng.normal(MU, SIGMA, n)


def draw_clusters(n: int, rng: Rng) -> Floats:
    """Return skills of two groups of close agents, far from each other."""
    return MU + CLUSTER_GAP * (rng.permutation(n) % 2 - 0.5) + rng.normal(0, CLOSE, n)


def draw_two_best(n: int, rng: Rng) -> Floats:
    """Return skills of which the two highest are equal."""
    skills = np.sort(draw_gauss(n, rng))
    skills[-2] = skills[-1]
    return rng.permutation(skills)


def choose_half(n: int, rng: Rng) -> Floats:
    """Return 1 for a half of the agents, at random, and 0 for the others."""
    return (rng.permutation(n) % 2).astype(np.float64)


def make_intransitive(n: int, rng: Rng) -> Probit:
    """Let each pair depart from its gap: as rock, paper and scissors do."""
    above = np.triu(rng.normal(0, DEVIATION, (n, n)), 1)
    return Probit(draw_gauss(n, rng), deviation=above - above.T)


def make_exploiter(n: int, rng: Rng) -> Probit:
    truth = draw_gauss(n, rng)
    order = np.argsort(truth)
    weakest, victim = order[0], order[int(rng.integers(1, n))]
    deviation = np.zeros((n, n))
    deviation[weakest, victim] = truth[victim] - truth[weakest] + EXPLOIT
    return Probit(truth, deviation=deviation - deviation.T)


def make_strong_draws(n: int, rng: Rng) -> Probit:
    truth = draw_gauss(n, rng)
    mean = (truth[:, None] + truth) / 2
    share = MOST_DRAWS * ndtr((mean - MU) / (SIGMA / 2))
    return Probit(truth, margin=NOISE * ndtri((1 + share) / 2))


def make_erratic(n: int, rng: Rng) -> Probit:
    variance = np.where(choose_half(n, rng) > 0, ERRATIC, STEADY) ** 2
    return Probit(draw_gauss(n, rng), noise=np.sqrt(variance[:, None] + variance))


HARD_WORLDS: dict[str, Callable[[int, Rng], HardWorld]] = {
    "gauss": lambda n, rng: Probit(draw_gauss(n, rng)),
    "close": lambda n, rng: Probit(rng.normal(MU, CLOSE, n)),
    "openings_1": lambda n, rng: Repeating.draw(draw_gauss(n, rng), 1, rng),
    "openings_4": lambda n, rng: Repeating.draw(draw_gauss(n, rng), 4, rng),
    "openings_16": lambda n, rng: Repeating.draw(draw_gauss(n, rng), 16, rng),
    "block_effect": lambda n, rng: Probit(draw_gauss(n, rng), block_sd=BLOCK_SD),
    "same_winner": lambda n, rng: SameWinner(draw_gauss(n, rng)),
    "drift": lambda n, rng: Drifting.draw(draw_gauss(n, rng), DRIFT, rng),
    "forfeits": lambda n, rng: Probit(draw_gauss(n, rng), failing=FORFEITS * choose_half(n, rng)),
    "seat": lambda n, rng: Probit(draw_gauss(n, rng), seat=SEAT),
    "intransitive": make_intransitive,
    "heavy_tails": lambda n, rng: Probit(MU + SIGMA * rng.standard_t(TAIL_DOF, n)),
    "clusters": lambda n, rng: Probit(draw_clusters(n, rng)),
    "draws": lambda n, rng: Probit(draw_gauss(n, rng), margin=NOISE * unit_draw_margin(DRAWS)),
    "slow_losses": lambda n, rng: Probit(
        # Close agents, as what slow losses hide is a few results.
        rng.normal(MU, CLOSE, n),
        slowness=1 + (SLOWNESS - 1) * choose_half(n, rng),
    ),
    "many": lambda n, rng: Probit(draw_gauss(n, rng)),
    "exploiter": make_exploiter,
    "seed_runs": lambda n, rng: SeedRuns.draw(draw_gauss(n, rng), rng),
    "scattered_seeds": lambda n, rng: SeedRuns.draw(draw_gauss(n, rng), rng, is_scattered=True),
    "strong_draws": make_strong_draws,
    "erratic": make_erratic,
    "equal": lambda n, rng: Probit(draw_two_best(n, rng)),
    "skill_game": lambda n, rng: SkillLevels(rng.integers(0, RATING_RANGE, n)),
}
