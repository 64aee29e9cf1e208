"""Strength against training step: where a run's checkpoints stand on a leaderboard, to be drawn.

The numbers are the board's own, rounded where the board rounds them, and so is the scale of
ratings: board.js moves what is drawn here from the rows that are pushed anyway.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import floor, log2, log10
from typing import NamedTuple

from matches.models import Rating
from matches.ratings import standings
from matches.ratings.standings import Row
from pages.charts import BOTTOM, LABEL_GAP, LEFT, RIGHT, TOP, Scale, Tick, place_across

HEIGHT = 300
MAX_POINTS = 400
MAX_RUNS = 3
MIN_POINTS = 2
N_STEP_TICKS = 6
# Steps are spaced by their logarithm where the mean gap is so many times the smallest one.
UNEVEN = 4
MAX_LINES = 12


class Point(NamedTuple):
    """One checkpoint: its row of the board, percent across and pixels down."""

    step: int
    row: Row
    x: float
    y: float
    y_low: float
    y_high: float

    @property
    def title(self) -> str:
        """Return the words that appear over the point."""
        row = self.row
        return f"{row['name']}, step {self.step:,}: {row['mu']}, {row['low']} to {row['high']}"


class Segment(NamedTuple):
    """The line between neighbours."""

    x1: float
    y1: float
    x2: float
    y2: float


class Line(NamedTuple):
    """An agent without a step, to compare with; hidden where its label would cover another."""

    row: Row
    at: float
    is_hidden: bool


class Plot(NamedTuple):
    """One run, ready to be drawn."""

    run: str
    points: list[Point]
    segments: list[Segment]
    steps: list[Tick]
    ratings: list[Tick]
    lines: list[Line]
    height: int = HEIGHT
    top: int = TOP
    bottom: int = BOTTOM


class Steps:
    """Where steps stand across: by their logarithm where they grow by factors, else evenly."""

    def __init__(self, steps: Sequence[int]) -> None:
        distinct = sorted(set(steps))
        self._lowest, self._highest = distinct[0], max(distinct[-1], 1)
        self._unit = next((step for step in distinct if step), 1)
        gaps = [after - before for before, after in pairwise(distinct)]
        self.is_geometric = bool(gaps) and sum(gaps) > UNEVEN * len(gaps) * min(gaps)

    def place(self, step: float) -> float:
        """Return percent across."""
        low, high = self._spread(self._lowest), self._spread(self._highest)
        share = (self._spread(step) - low) / (high - low) if high > low else 1 / 2
        return place_across(share)

    def list_ticks(self) -> list[Tick]:
        """Return marks at round steps that do not crowd each other."""
        if self.is_geometric:
            powers = range(floor(log10(self._unit)), floor(log10(self._highest)) + 1)
            candidates = [factor * 10**power for power in powers for factor in (1, 2, 5)]
            candidates = [step for step in candidates if self._unit <= step]
        else:
            width = (self._highest - self._lowest) / (N_STEP_TICKS - 1)
            part = max(round(width, -floor(log10(width))) if width >= 1 else 1, 1)
            first = -(-self._lowest // part) * part
            candidates = [int(first + n * part) for n in range(2 * N_STEP_TICKS)]
        ticks: list[Tick] = []
        # Step 0 is the untrained network: it has its mark wherever it is shown.
        zero = [0] if self._lowest == 0 else []
        for step in zero + [step for step in candidates if 0 < step <= self._highest]:
            at = self.place(step)
            if not ticks or at - ticks[-1].at >= (RIGHT - LEFT) / (2 * N_STEP_TICKS):
                ticks.append(Tick(at, shorten_step(step)))
        return ticks

    def _spread(self, step: float) -> float:
        if not self.is_geometric:
            return step
        # As far from step 0 to the first one as for a doubling: the untrained network has a place.
        return 1 + log2(step / self._unit) if step else 0.0


def draw_plots(board_id: int, shown: Iterable[Row] = ()) -> list[Plot]:
    """Return a plot per training run that has two checkpoints or more on the board.

    One query, whatever was played. shown: the rows on the page, whose scale is taken; those without
    a step become lines to compare with.
    """
    runs: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    order = ("agent__checkpoint__step", "agent_id")
    trained = Rating.objects.filter(
        leaderboard_id=board_id, agent__checkpoint__step__isnull=False
    ).order_by(*order)
    # Chosen by key first: thousands of whole rows would be slow to sort.
    chosen = Rating.objects.filter(pk__in=trained.values("pk")[:MAX_POINTS]).order_by(*order)
    for rating in standings.read_rated(chosen):
        assert rating.run is not None
        assert rating.step is not None
        runs[rating.run].append((rating.step, standings.format_row(rating, 0)))
    drawn = {row["agent"]: row for steps in runs.values() for _, row in steps}
    others = [row for row in shown if row["agent"] not in drawn]
    # One axis for all plots, so that runs can be compared by their heights.
    axis = standings.fit_axis([*drawn.values(), *others])
    scale = Scale(axis["low"], axis["high"], height=HEIGHT)
    marks = [Tick(scale.place(tick["at"]), tick["label"]) for tick in axis["ticks"]]
    largest = sorted(runs, key=lambda run: (-len(runs[run]), run))[:MAX_RUNS]
    return [
        _draw_plot(run, runs[run], others, scale, marks)
        for run in largest
        if len(runs[run]) >= MIN_POINTS
    ]


def shorten_step(step: int) -> str:
    """Return a step as a short label: 0, 500, 1.5k, 20k, 3M."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if step >= size:
            return f"{step / size:g}{letter}"
    return str(step)


def _draw_plot(
    run: str,
    trained: Sequence[tuple[int, Row]],
    others: Sequence[Row],
    scale: Scale,
    ratings: list[Tick],
) -> Plot:
    steps, points = Steps([step for step, _ in trained]), []
    for step, row in trained:
        y, y_low, y_high = (scale.place(float(row[end])) for end in ("mu", "low", "high"))
        points.append(Point(step, row, steps.place(step), y, y_low, y_high))
    # Rows come strongest first, so that of two labels in one place the stronger agent's stays.
    lines: list[Line] = []
    free_from = 0.0
    for row in others[:MAX_LINES]:
        at = scale.place(float(row["mu"]))
        lines.append(Line(row, at, is_hidden=at < free_from))
        free_from = max(free_from, 0 if lines[-1].is_hidden else at + LABEL_GAP)
    return Plot(
        run=run,
        points=points,
        segments=[Segment(a.x, a.y, b.x, b.y) for a, b in pairwise(points)],
        steps=steps.list_ticks(),
        ratings=ratings,
        lines=lines,
    )
