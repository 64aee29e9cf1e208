"""Marks of axes are round and few; what has not settled is left out."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.base import SIGMA
from pages.plots import charts, settling
from pages.plots.charts import LEFT, RIGHT, TimeAxis, list_round, thin_out
from pages.plots.curves import Moment, RatedMoment, draw_curves
from pages.tests.test_strength_plots import GEOMETRIC

START = datetime(2026, 3, 1, 11, 58, 47, tzinfo=UTC)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 8))
def test_marks_are_one_two_or_five_times_a_power_of_ten_apart(
    low: float, width: float, n_most: int
) -> None:
    marks = list_round(low, low + width, n_most)
    assert 1 <= len(marks) <= n_most + 1
    for before, after in pairwise(marks):
        assert f"{after - before:.0e}"[0] in "125"
    assert all(low - 1e-6 * width <= mark <= low + width * (1 + 1e-6) for mark in marks)


@pytest.mark.parametrize(
    ("span", "labels"),
    [
        (timedelta(seconds=8), ["11:58:48", "11:58:50", "11:58:52", "11:58:54"]),
        (timedelta(minutes=4), ["11:59", "12:00", "12:01", "12:02"]),
        (timedelta(minutes=50), ["12:00", "12:15", "12:30", "12:45"]),
        (timedelta(hours=13), ["12:00", "15:00", "18:00", "21:00", "02 Mar"]),
        (timedelta(days=4), ["02 Mar", "03 Mar", "04 Mar", "05 Mar"]),
    ],
)
def test_times_are_marked_at_round_ones(span: timedelta, labels: list[str]) -> None:
    assert [tick.label for tick in TimeAxis(START, START + span).list_ticks()] == labels


@given(st.integers(1, 10**8))
def test_marks_of_time_are_few_and_within_the_axis(seconds: int) -> None:
    ticks = TimeAxis(START, START + timedelta(seconds=seconds)).list_ticks()
    assert 1 <= len(ticks) <= charts.N_MARKS + 1
    assert all(LEFT <= tick.at <= RIGHT for tick in ticks)
    # The same time of another day may come again, with the day between.
    assert all(before.label != after.label for before, after in pairwise(ticks))


def test_of_many_values_evenly_spaced_ones_are_kept_with_both_ends() -> None:
    kept = thin_out(range(3_000), 100)
    assert (kept[0], kept[-1], len(kept)) == (0, 2_999, 100)
    assert thin_out(GEOMETRIC, 100) == list(GEOMETRIC)


@given(st.lists(st.floats(0.1, SIGMA), max_size=50))
def test_a_history_begins_where_all_that_follows_has_settled(doubts: list[float]) -> None:
    start = settling.find_start(doubts)
    assert all(doubt <= settling.DOUBTFUL for doubt in doubts[start:])
    assert all(doubt <= settling.WIDEST * doubts[-1] for doubt in doubts[start:])
    if 0 < start < len(doubts):
        limit = min(settling.DOUBTFUL, settling.WIDEST * doubts[-1])
        assert doubts[start - 1] > limit


def _shrink(n: int) -> list[Moment]:
    """Return moments of an agent whose doubt falls as results come, and of one without any."""
    return [
        Moment(at, {1: _rate(at, 20 + n / 10, 8 / (n + 1) ** 0.5), 2: _rate(at, 25, SIGMA)})
        for n in range(n)
        for at in [START + timedelta(minutes=n)]
    ]


def _rate(at: datetime, mu: float, sd: float) -> RatedMoment:
    return RatedMoment(at, mu, sd, mu - 2 * sd, mu + 3 * sd)


@pytest.mark.parametrize(("n", "n_drawn"), [(0, 0), (2, 0), (3, 2), (30, 27), (3_000, 2_667)])
def test_a_curve_begins_when_its_interval_has_settled(n: int, n_drawn: int) -> None:
    drawing = draw_curves(_shrink(n), {1: "one", 2: "unknown"})
    assert drawing.is_early == (n_drawn < charts.MIN_POINTS)
    if drawing.is_early:
        assert drawing.unsettled == ["one", "unknown"]
        return
    (curve,) = drawing.curves
    assert drawing.unsettled == ["unknown"]
    assert len(curve.line.split()) == n_drawn
    heights = [float(point.split(",")[1]) for point in curve.band.split()]
    # Nothing leaves the drawing, and it is filled.
    assert min(heights) >= charts.TOP - 0.1
    assert max(heights) <= drawing.height - charts.BOTTOM + 0.1
    assert max(heights) - min(heights) > drawing.height / 2
