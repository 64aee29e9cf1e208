"""What paired blocks say about two agents."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.verdicts.base import VerdictError
from arena.verdicts.paired_blocks import PairedResult, compare_blocks
from arena.verdicts.scale import elo_of_score
from arena.verdicts.sprt import ELO_PER_T, EloModel, SequentialTest, estimate_elo

Counts = st.lists(st.integers(0, 500), min_size=5, max_size=5).filter(any)


def of(*counts: int) -> PairedResult:
    result = compare_blocks(counts)
    assert result is not None
    return result


def test_it_is_what_fishtest_shows_of_these_blocks() -> None:
    """A test of Stockfish, by the formulas of fishtest's stat_util, worked out by hand."""
    result = of(300, 1200, 3000, 1300, 350)
    values, shares = np.linspace(0, 1, 5), np.array([300, 1200, 3000, 1300, 350]) / 6150
    mean = float(shares @ values)
    variance = float(shares @ (values - mean) ** 2)
    assert result.score == pytest.approx(mean)
    assert result.elo.elo == pytest.approx(elo_of_score(mean), abs=0.01)
    assert result.normalised is not None
    assert result.normalised.elo == pytest.approx(
        800 / log(10) * (mean - 0.5) / sqrt(2 * variance), abs=0.01
    )
    assert result.split == pytest.approx(3000 / 6150)
    assert 0.99 < result.los < 1


@given(Counts)
def test_turned_blocks_turn_all_it_says(counts: list[int]) -> None:
    here, there = of(*counts), of(*counts[::-1])
    assert here.score == pytest.approx(1 - there.score)
    assert here.los == pytest.approx(1 - there.los)
    assert here.split == there.split
    assert here.elo.low == pytest.approx(-there.elo.high)
    if here.normalised and there.normalised:
        assert here.normalised.low == pytest.approx(-there.normalised.high)


@given(Counts)
def test_intervals_hold_what_they_are_about(counts: list[int]) -> None:
    result = of(*counts)
    assert result.elo == estimate_elo(counts)
    assert result.elo.low <= result.elo.elo <= result.elo.high
    if result.normalised:
        assert result.normalised.low < result.normalised.elo < result.normalised.high


def test_its_intervals_hold_the_truth_in_95_of_100_samples() -> None:
    rng, shape = np.random.default_rng(1), np.array([0.05, 0.2, 0.4, 0.25, 0.1])
    values = np.linspace(0, 1, 5)
    mean = float(shape @ values)
    t = (mean - 0.5) / sqrt(2 * float(shape @ (values - mean) ** 2))
    samples = [compare_blocks(counts) for counts in rng.multinomial(400, shape, size=2_000)]
    within = [
        (one.elo.low < elo_of_score(mean) < one.elo.high, low < ELO_PER_T * t < high)
        for one in samples
        if one and one.normalised
        for low, high in [(one.normalised.low, one.normalised.high)]
    ]
    assert np.mean(within, axis=0) == pytest.approx(0.95, abs=0.015)


def test_normalised_elo_at_a_bound_is_where_the_test_is_even() -> None:
    """Where normalised Elo is half-way between the bounds, the ratio is about nothing."""
    counts = [100, 400, 800, 470, 130]
    normalised = of(*counts).normalised
    assert normalised is not None
    middle = normalised.elo
    test = SequentialTest(middle - 5, middle + 5, model=EloModel.NORMALISED)
    assert float(test.llr(counts)) == pytest.approx(0.0, abs=0.02)


def test_blocks_that_are_all_alike_have_no_deviation() -> None:
    assert of(0, 0, 9, 0, 0).normalised is None
    assert of(0, 0, 9, 0, 0).los == 0.5
    assert of(0, 0, 0, 0, 9).los == 1.0
    assert of(9, 0, 0, 0, 0).los == 0.0


def test_without_blocks_nothing_is_said() -> None:
    assert compare_blocks([0] * 5) is None


def test_it_refuses_counts_of_single_games() -> None:
    with pytest.raises(VerdictError, match="counts must be of 5 cells, got 3"):
        compare_blocks([1, 2, 3])
