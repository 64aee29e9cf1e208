"""The dispersion of seed blocks."""

import numpy as np
import pytest

from arena.ratings.base import DEFAULT, unit_draw_margin
from arena.ratings.counts import Ints
from arena.verdicts.base import VerdictError
from arena.verdicts.dispersion import GUESS, measure_dispersion, measure_sum_dispersion

ONE, OTHER = np.array([0]), np.array([1])
MU = np.array([26.0, 25.0])


def outcomes(n_blocks: int, together: bool) -> Ints:
    """Return the outcomes of blocks whose second game is one of its own, or repeats the first."""
    rng = np.random.default_rng(3)
    lead = 1.0 + rng.normal(0, np.sqrt(2) * 25 / 6, (2, n_blocks))
    points = (lead > -DEFAULT.draw_margin).astype(int) + (lead > DEFAULT.draw_margin)
    both = 2 * points[0] if together else points.sum(axis=0)
    return np.bincount(both, minlength=5)[None]


def test_independent_games_are_not_dispersed() -> None:
    assert measure_dispersion(MU, ONE, OTHER, outcomes(20_000, False)) == pytest.approx(
        1.0, abs=0.03
    )


def test_games_that_repeat_each_other_count_half() -> None:
    assert measure_dispersion(MU, ONE, OTHER, outcomes(20_000, True)) == pytest.approx(
        2.0, abs=0.06
    )


def test_opposite_games_do_not_make_it_surer() -> None:
    assert measure_dispersion(MU, ONE, OTHER, np.array([[0, 0, 500, 0, 0]])) == 1.0


def test_few_blocks_are_thought_to_repeat_each_other_a_little() -> None:
    none, one = np.zeros((1, 5), np.int64), np.array([[0, 0, 1, 0, 0]])
    assert measure_dispersion(MU, ONE, OTHER, none) == pytest.approx(1.0)
    assert 1.3 < measure_dispersion(MU, ONE, OTHER, one) < GUESS
    few = [measure_dispersion(MU, ONE, OTHER, outcomes(n, False)) for n in (10, 40, 160)]
    assert few == sorted(few, reverse=True)
    repeated = [measure_dispersion(MU, ONE, OTHER, outcomes(n, True)) for n in (10, 40, 160)]
    assert min(repeated) > 1.5


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(VerdictError, match=r"outcomes must be \[1, 5\], got \(2, 5\)"):
        measure_dispersion(MU, ONE, OTHER, np.zeros((2, 5), np.int64))


def _sums(n_same: int) -> float:
    """Return the dispersion of blocks of four games of which so many at a time are one game."""
    rng = np.random.default_rng(n_same)
    lead = rng.normal(0, 0.7, 3_000)
    gaps = lead[:, None] + rng.normal(0, 1, (3_000, 4 // n_same))
    margin = unit_draw_margin(0.1)
    points = np.where(np.abs(gaps) < margin, 0.5, gaps > 0).sum(axis=1) * n_same
    return measure_sum_dispersion(lead, np.full(3_000, 4), points)


def test_blocks_of_independent_games_vary_as_expected() -> None:
    assert _sums(1) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("n_same", [2, 4])
def test_games_that_repeat_each_other_vary_the_more(n_same: int) -> None:
    assert _sums(n_same) == pytest.approx(n_same, rel=0.1)


def test_few_blocks_of_many_games_are_thought_to_repeat_each_other_a_little() -> None:
    games = np.full(3, 4)
    assert 1.1 < measure_sum_dispersion(np.zeros(3), games, games / 2) < GUESS
    assert measure_sum_dispersion(np.zeros(0), games[:0], np.zeros(0)) == 1


def test_sums_that_do_not_fit_are_refused() -> None:
    with pytest.raises(VerdictError, match="of one length, got 2, 3 and 2"):
        measure_sum_dispersion(np.zeros(2), np.ones(3, np.int64), np.zeros(2))
