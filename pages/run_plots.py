"""Strength by training step of several runs in one diagram, each in a colour of its own."""

from collections import defaultdict
from collections.abc import Collection
from itertools import pairwise
from typing import NamedTuple

from matches.models import Rating
from matches.ratings import standings
from matches.ratings.standings import Row
from pages.charts import BOTTOM, Scale, Tick, spread_labels
from pages.strength_plots import HEIGHT, MAX_POINTS, MIN_POINTS, Point, Segment, Steps

MAX_RUNS = 6
"""As many colours are told apart."""


class Series(NamedTuple):
    """A run: its checkpoints in the order of steps, and where its name stands."""

    run: str
    number: int
    points: list[Point]
    segments: list[Segment]
    label_at: float


class RunsPlot(NamedTuple):
    """Several runs on one scale, ready to be drawn."""

    series: list[Series]
    steps: list[Tick]
    ratings: list[Tick]
    height: int = HEIGHT


def draw_runs(board_id: int, runs: Collection[str]) -> RunsPlot | None:
    """Return these runs as they stand on a leaderboard; None with less than two checkpoints each.

    One query, whatever was played.
    """
    chosen = sorted(runs)[:MAX_RUNS]
    order = ("agent__checkpoint__step", "agent_id")
    trained = Rating.objects.filter(
        leaderboard=board_id,
        agent__checkpoint__run__in=chosen,
        agent__checkpoint__step__isnull=False,
    )
    # Chosen by key first: thousands of whole rows would be slow to sort.
    kept = Rating.objects.filter(pk__in=trained.order_by(*order).values("pk")[:MAX_POINTS])
    rows: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    for rating in standings.read_rated(kept.order_by(*order)):
        rows[rating.run or ""].append((rating.step or 0, standings.format_row(rating, 0)))
    if max(map(len, rows.values()), default=0) < MIN_POINTS:
        return None
    axis = standings.fit_axis([row for of_run in rows.values() for _, row in of_run])
    scale = Scale(axis["low"], axis["high"], height=HEIGHT)
    steps = Steps([step for of_run in rows.values() for step, _ in of_run])
    points = {run: [_place(step, row, steps, scale) for step, row in rows[run]] for run in rows}
    by_height = sorted(points, key=lambda run: points[run][-1].y)
    labels = spread_labels([points[run][-1].y for run in by_height], lowest=HEIGHT - BOTTOM)
    return RunsPlot(
        [
            Series(
                run,
                chosen.index(run) + 1,
                points[run],
                [Segment(a.x, a.y, b.x, b.y) for a, b in pairwise(points[run])],
                label_at,
            )
            for run, label_at in zip(by_height, labels, strict=True)
        ],
        steps.list_ticks(),
        [Tick(scale.place(tick["at"]), tick["label"]) for tick in axis["ticks"]],
    )


def _place(step: int, row: Row, steps: Steps, scale: Scale) -> Point:
    y, y_low, y_high = (scale.place(float(row[end])) for end in ("mu", "low", "high"))
    return Point(step, row, steps.place(step), y, y_low, y_high)
