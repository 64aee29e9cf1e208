"""Simulated sequential tests: their error rates, and the games they need on biased openings."""

from dataclasses import dataclass
from math import sqrt
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from arena.ratings.base import DRAW_PROBABILITY, unit_draw_margin
from arena.ratings.counts import Floats, Ints
from arena.verdicts.scale import score_of_elo
from arena.verdicts.sprt import BLOCKS, SINGLES, Decision, SequentialTest

MARGIN = unit_draw_margin(DRAW_PROBABILITY)
# A test is looked at after so many games, as often as reports come in.
GAMES_A_LOOK = 8
MAX_GAMES = 60_000
# What a test decided, and after how many games.
Ended = tuple[Decision, int]


@dataclass(frozen=True)
class Openings:
    """Games between agents `elo` apart, from openings that favour a seat by N(0, bias^2) beta."""

    elo: float
    bias: float

    @property
    def gap(self) -> float:
        """The difference of the skills, in standard deviations of a performance difference."""
        # Openings add to the spread: the skills must differ by more for the same score.
        wide, score = sqrt(1 + self.bias**2 / 2), score_of_elo(self.elo)

        def miss_score(gap: float) -> float:
            return float(ndtr((gap - MARGIN) / wide) + ndtr((gap + MARGIN) / wide)) / 2 - score

        return float(brentq(miss_score, -10, 10))

    def draw_blocks(self, shape: tuple[int, int], rng: np.random.Generator) -> Ints:
        """Return the outcomes 0..4 of blocks: one opening, both seats."""
        # The same opening for both seats: its favour cancels, which is why blocks save games.
        opening = rng.normal(0, self.bias / sqrt(2), shape)
        return self._draw_points(opening, rng) + self._draw_points(-opening, rng)

    def draw_singles(self, shape: tuple[int, int], rng: np.random.Generator) -> Ints:
        """Return the outcomes 0..2 of games, each from an opening of its own."""
        return self._draw_points(rng.normal(0, self.bias / sqrt(2), shape), rng)

    def _draw_points(self, favour: Floats, rng: np.random.Generator) -> Ints:
        lead = self.gap + favour + rng.standard_normal(favour.shape)
        return (lead > -MARGIN).astype(np.int64) + (lead > MARGIN)


def run_tests(
    test: SequentialTest, openings: Openings, n_cells: int, n: int, *, seed: int
) -> list[Ended]:
    """Return how n tests end, on blocks (5 cells) or single games (3)."""
    rng, games = np.random.default_rng([seed, n_cells]), 2 if n_cells == BLOCKS else 1
    draw = openings.draw_blocks if n_cells == BLOCKS else openings.draw_singles
    counts, ended, n_games = np.zeros((n, n_cells), np.int64), list[Ended](), 0
    cells = np.arange(n_cells)
    while len(counts) and n_games < MAX_GAMES:
        outcomes = draw((len(counts), GAMES_A_LOOK // games), rng)
        counts += (outcomes[:, :, None] == cells).sum(axis=1)
        n_games += GAMES_A_LOOK
        llr = test.llr(counts)
        ended += [(Decision.ACCEPT, n_games)] * int((llr >= test.upper).sum())
        ended += [(Decision.REJECT, n_games)] * int((llr <= test.lower).sum())
        # Tests that have ended are not simulated any further.
        counts = counts[(test.lower < llr) & (llr < test.upper)]
    return ended + [(Decision.CONTINUE, n_games)] * len(counts)


class Task(NamedTuple):
    test: SequentialTest
    openings: Openings
    n: int
    seed: int


def make_row(task: Task) -> dict[str, object]:
    """Return a row of the benchmark: the pentanomial test, and its games against the unpaired."""
    test, openings = task.test, task.openings
    paired, unpaired = (
        run_tests(test, openings, n_cells, task.n, seed=task.seed) for n_cells in (BLOCKS, SINGLES)
    )
    decisions, unpaired_decisions = (
        [decision for decision, _ in way] for way in (paired, unpaired)
    )
    return {
        "truth": openings.elo,
        "elo1": test.elo1,
        "opening_bias": openings.bias,
        "model": str(test.model),
        "accepted": decisions.count(Decision.ACCEPT),
        "undecided": decisions.count(Decision.CONTINUE),
        "n": task.n,
        "median_games": median(n_games for _, n_games in paired),
        "unpaired_median_games": median(n_games for _, n_games in unpaired),
        "unpaired_accepted": unpaired_decisions.count(Decision.ACCEPT),
    }
