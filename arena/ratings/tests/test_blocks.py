"""The dispersion of blocks: 1 for independent matches, more or less where a seed decides."""

from collections import Counter

import numpy as np
import pytest

from arena.ratings.base import BETA, DEFAULT, MU, RatingError
from arena.ratings.blocks import dispersion
from arena.ratings.counts import Floats
from arena.ratings.settled import count, settle

N = 8


def played(n_blocks: int, *, opening: float, shared: float, seed: int) -> tuple[Floats, Floats]:
    """Return mu and the rows of blocks whose seeds favour a seat, or an agent in both seats.

    opening, shared: the standard deviations of the two, in beta.
    """
    rng = np.random.default_rng(seed)
    skill = rng.normal(MU, 5, N)
    rows, results = Counter[tuple[int, int, int, int]](), list[tuple[int, int, int]]()
    for _ in range(n_blocks):
        i, j = (int(agent) for agent in rng.choice(N, 2, replace=False))
        favour, lucky = BETA * rng.normal(0, opening), BETA * rng.normal(0, shared)
        leads = skill[i] - skill[j] + lucky + np.array([favour, -favour]) + rng.normal(0, 5.9, 2)
        scores = np.where(np.abs(leads) < DEFAULT.draw_margin, 0, np.sign(leads)).astype(int)
        results += [(i, j, int(scores[0])), (j, i, -int(scores[1]))]
        rows[i, j, 2, int(2 + scores.sum())] += 1
    table = np.array([(*row, n) for row, n in rows.items()])
    return settle(count(results), N).mu, table


def test_independent_matches_have_none() -> None:
    mu, rows = played(3000, opening=0, shared=0, seed=1)
    found = dispersion(rows, mu, draw_probability=0.1)
    assert found.factor == pytest.approx(1, abs=0.1)
    assert found.n_blocks == 3000


def test_openings_that_favour_a_seat_make_blocks_surer() -> None:
    mu, rows = played(3000, opening=3, shared=0, seed=2)
    assert dispersion(rows, mu, draw_probability=0.1).factor < 0.7


def test_seeds_that_favour_an_agent_make_blocks_less_sure() -> None:
    mu, rows = played(3000, opening=0, shared=3, seed=3)
    assert 1.3 < dispersion(rows, mu, draw_probability=0.1).factor <= 2


def test_one_seed_that_decides_all_is_at_most_as_bad_as_one_match() -> None:
    rows = [(0, 1, 2, 4, 500), (0, 1, 2, 0, 500)]
    assert dispersion(rows, np.full(2, MU), draw_probability=0.1).factor == 2


def test_few_blocks_say_little() -> None:
    one = dispersion([(0, 1, 2, 4, 1)], np.full(2, MU), draw_probability=0.1)
    assert 0.9 < one.factor < 1.2
    assert dispersion([], np.full(2, MU), draw_probability=0.1).factor == 1


def test_a_seat_advantage_is_no_dispersion() -> None:
    """Most win as the first: expected, where the first seat is known to be worth much."""
    rows = [(0, 1, 2, 2, 160), (0, 1, 2, 4, 20), (0, 1, 2, 0, 20)]
    known = dispersion(rows, np.full(2, MU), draw_probability=0.0, seat=1.77 * BETA)
    unknown = dispersion(rows, np.full(2, MU), draw_probability=0.0)
    assert known.factor == pytest.approx(1, abs=0.1)
    assert unknown.factor < 0.6


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ((0, 2, 2, 2, 1), r"second must be from 0\.\.1, got 2"),
        ((-1, 1, 2, 2, 1), r"first must be from 0\.\.1, got -1"),
        ((0, 1, 0, 0, 1), "n_matches must be from 1, got 0"),
        ((0, 1, 2, -1, 1), "twice_points must be from 0, got -1"),
        ((0, 1, 2, 5, 1), "twice_points must be at most"),
        ((0, 1, 2, 4, -1), "n_blocks must be from 0, got -1"),
    ],
)
def test_rows_that_cannot_be_are_refused(row: tuple[int, int, int, int, int], words: str) -> None:
    with pytest.raises(RatingError, match=words):
        dispersion([row], np.full(2, MU), draw_probability=0.1)
