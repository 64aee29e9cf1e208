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

_MARGIN = unit_draw_margin(DRAW_PROBABILITY)
_GAMES_A_LOOK = 8
"""A test is looked at after so many games, as often as reports come in."""
MAX_GAMES = 60_000


@dataclass(frozen=True)
class Openings:
    """Games between agents `elo` apart, from openings that favour a seat by N(0, bias^2) beta."""

    elo: float
    bias: float

    @property
    def gap(self) -> float:
        """The difference of the skills, in standard deviations of a performance difference."""
        wide, wanted = sqrt(1 + self._bias**2), score_of_elo(self.elo)

        def missed(gap: float) -> float:
            return float(ndtr((gap - _MARGIN) / wide) + ndtr((gap + _MARGIN) / wide)) / 2 - wanted

        found: float = brentq(missed, -10, 10)
        return found

    @property
    def _bias(self) -> float:
        return self.bias / sqrt(2)

    def blocks(self, shape: tuple[int, int], rng: np.random.Generator) -> Ints:
        """Return the outcomes 0..4 of blocks: one opening, both seats."""
        opening = rng.normal(0, self._bias, shape)
        return self._points(opening, rng) + self._points(-opening, rng)

    def singles(self, shape: tuple[int, int], rng: np.random.Generator) -> Ints:
        """Return the outcomes 0..2 of games, each from an opening of its own."""
        return self._points(rng.normal(0, self._bias, shape), rng)

    def _points(self, favour: Floats, rng: np.random.Generator) -> Ints:
        lead = self.gap + favour + rng.standard_normal(favour.shape)
        return (lead > -_MARGIN).astype(np.int64) + (lead > _MARGIN)


class Ended(NamedTuple):
    """How one test ended."""

    decision: Decision
    n_games: int


def tested(
    test: SequentialTest, openings: Openings, n_cells: int, n: int, *, seed: int
) -> list[Ended]:
    """Return how n tests end, on blocks (5 cells) or single games (3)."""
    rng, games = np.random.default_rng([seed, n_cells]), 2 if n_cells == BLOCKS else 1
    draw = openings.blocks if n_cells == BLOCKS else openings.singles
    counts, ended, n_games = np.zeros((n, n_cells), np.int64), list[Ended](), 0
    cells = np.arange(n_cells)
    while len(counts) and n_games < MAX_GAMES:
        outcomes = draw((len(counts), _GAMES_A_LOOK // games), rng)
        counts += (outcomes[:, :, None] == cells).sum(axis=1)
        n_games += _GAMES_A_LOOK
        llr = test.llr(counts)
        ended += [Ended(Decision.ACCEPT, n_games)] * int((llr >= test.upper).sum())
        ended += [Ended(Decision.REJECT, n_games)] * int((llr <= test.lower).sum())
        counts = counts[(test.lower < llr) & (llr < test.upper)]
    return ended + [Ended(Decision.CONTINUE, n_games)] * len(counts)


@dataclass(frozen=True)
class Task:
    """n tests of two agents."""

    test: SequentialTest
    openings: Openings
    n: int
    seed: int


def row(task: Task) -> dict[str, object]:
    """Return a row of the benchmark: the pentanomial test, and its games against the unpaired."""
    test, openings = task.test, task.openings
    paired, unpaired = (
        tested(test, openings, n_cells, task.n, seed=task.seed) for n_cells in (BLOCKS, SINGLES)
    )
    accepted, undecided = (
        sum(one.decision is decision for one in paired)
        for decision in (Decision.ACCEPT, Decision.CONTINUE)
    )
    return {
        "truth": openings.elo,
        "elo1": test.elo1,
        "opening_bias": openings.bias,
        "model": str(test.model),
        "accepted": accepted,
        "undecided": undecided,
        "n": task.n,
        "median_games": median(one.n_games for one in paired),
        "unpaired_median_games": median(one.n_games for one in unpaired),
        "unpaired_accepted": sum(one.decision is Decision.ACCEPT for one in unpaired),
    }
