"""Strength against training step: where runs' checkpoints stand on a leaderboard, to be drawn.

The numbers are the board's own, rounded where the board rounds them. board.js moves what is drawn
here from the rows that are pushed anyway, on a scale that it fits in the same way.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from matches.ratings import axes
from matches.ratings.standings import Row
from pages.plots.charts import BOTTOM, LABEL_GAP, MAX_DOTS, TOP, Scale, Tick, spread_labels
from pages.plots.checkpoints import (
    Checkpoint,
    ListedCheckpoint,
    choose_drawn,
    count_checkpoints,
    list_runs,
    list_trained,
    read_checkpoints,
)
from pages.plots.steps import Steps

HEIGHT = 300
FEWEST = 2
"""A run of one checkpoint went no way that could be drawn."""
MAX_PLOTS = 3
MAX_RUNS = 6
"""In one drawing: as many colours are told apart."""
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

    @property
    def fields(self) -> dict[str, Any]:
        """Return what its template shows."""
        return {**self._asdict(), "agent": self.row["agent"], "title": self.title}


class Segment(NamedTuple):
    """The line between neighbours."""

    x1: float
    y1: float
    x2: float
    y2: float


class Series(NamedTuple):
    """A run of a drawing: its points by step; number: its colour, 0 where it is the only one."""

    run: str
    number: int
    points: list[Point]
    segments: list[Segment]

    @property
    def point_fields(self) -> list[dict[str, Any]]:
        """Return what is shown of each point."""
        return [point.fields for point in self.points]

    @property
    def segment_fields(self) -> list[dict[str, Any]]:
        """Return the ends of each line."""
        return [line._asdict() for line in self.segments]


class Line(NamedTuple):
    """An agent without a step, to compare with; hidden where its label would cover another."""

    row: Row
    at: float
    is_hidden: bool


class Label(NamedTuple):
    """The name of a run at the right of its drawing."""

    run: str
    number: int
    at: float


class Plot(NamedTuple):
    """Runs in one drawing. listed: what the table shows of them, of n_all checkpoints."""

    run: str
    series: list[Series]
    labels: list[Label]
    lines: list[Line]
    steps: list[Tick]
    ratings: list[Tick]
    listed: list[ListedCheckpoint]
    n_all: int
    height: int = HEIGHT
    top: int = TOP
    bottom: int = BOTTOM

    @property
    def points(self) -> list[Point]:
        """Return the points of all runs."""
        return [point for series in self.series for point in series.points]

    @property
    def listed_fields(self) -> list[dict[str, Any]]:
        """Return the lines of the table."""
        return [{**listed.row, "run": listed.run, "step": listed.step} for listed in self.listed]

    @property
    def is_early(self) -> bool:
        """Return True where words stand instead of a drawing."""
        return not self.series

    @property
    def is_dense(self) -> bool:
        """Return True where the points are so many that they are drawn small."""
        return len(self.points) > MAX_DOTS


def draw_plots(board_id: int, rows: Sequence[Row] = ()) -> list[Plot]:
    """Return a plot per training run that has two checkpoints or more on the board.

    Four queries, whatever was played. shown: the rows on the page; those without a step become
    lines to compare with.
    """
    chosen = _read_largest(board_id, MAX_PLOTS)
    if not chosen:
        return []
    trained = list_trained(board_id, [row["agent"] for row in rows])
    others = [row for row in rows if row["agent"] not in trained][:MAX_LINES]
    listed = list_runs(board_id, chosen)
    drawn_runs = {run: choose_drawn({run: listed[run]}) for run in chosen}
    # One axis for all plots, so that runs can be compared by their heights.
    scale, marks = _fit_scale(
        [listed for runs in drawn_runs.values() for listed in _list_all(runs)], others
    )
    return [
        _draw_plot(run, drawn_runs[run], {run: 0}, scale)._replace(
            lines=_draw_lines(others, scale),
            ratings=marks,
            listed=listed[run],
            n_all=len(chosen[run]),
        )
        for run in chosen
    ]


def draw_runs(board_id: int, runs: Collection[str]) -> Plot | None:
    """Return these runs in one drawing, each in a colour; None with less than two checkpoints each.

    Two queries, whatever was played.
    """
    chosen = sorted(runs)[:MAX_RUNS]
    checkpoints = read_checkpoints(board_id, chosen)
    if max(map(len, checkpoints.values()), default=0) < FEWEST:
        return None
    listed = list_runs(board_id, checkpoints)
    drawn_runs = choose_drawn(listed)
    scale, marks = _fit_scale(_list_all(drawn_runs), [])
    numbers = {run: number for number, run in enumerate(chosen, 1)}
    plot = _draw_plot("", drawn_runs, numbers, scale)
    return plot._replace(
        labels=_draw_labels(plot.series),
        ratings=marks,
        listed=_list_all(listed),
        n_all=sum(map(len, checkpoints.values())),
    )


def draw_scores(board_id: int) -> Plot | None:
    """Return mean scores against training steps, of a game of one seat; None with no run of two.

    Four queries, whatever was played. The runs with most checkpoints, each in a colour.
    """
    chosen = _read_largest(board_id, MAX_RUNS)
    if not chosen:
        return None
    scored = list_runs(board_id, chosen, in_scores=True)
    listed = {run: checkpoints for run, checkpoints in scored.items() if checkpoints}
    drawn_runs = choose_drawn(listed)
    numbers = {run: number for number, run in enumerate(sorted(drawn_runs), 1)}
    scale, marks = _fit_scale(_list_all(drawn_runs), [])
    plot = _draw_plot("", drawn_runs, numbers, scale)
    return plot._replace(
        labels=_draw_labels(plot.series),
        ratings=marks,
        listed=_list_all(listed),
        n_all=sum(map(len, chosen.values())),
    )


def _read_largest(board_id: int, n_most: int) -> dict[str, list[Checkpoint]]:
    """Return the checkpoints of the runs that have most of them, the largest run first."""
    counts = count_checkpoints(board_id)
    largest = sorted(counts, key=lambda run: (-counts[run], run))[:n_most]
    checkpoints = read_checkpoints(board_id, [run for run in largest if counts[run] >= FEWEST])
    return {run: checkpoints[run] for run in largest if run in checkpoints}


def _list_all(runs: Mapping[str, Sequence[ListedCheckpoint]]) -> list[ListedCheckpoint]:
    return [listed for checkpoints in runs.values() for listed in checkpoints]


def _fit_scale(
    checkpoints: Sequence[ListedCheckpoint], others: Sequence[Row]
) -> tuple[Scale, list[Tick]]:
    """Return a scale that holds what is drawn, and its marks."""
    ends = [float(listed.row[end]) for listed in checkpoints for end in ("low", "high")]
    axis = axes.fit_axis_to([*ends, *(float(row["mu"]) for row in others)])
    scale = Scale(axis["low"], axis["high"], height=HEIGHT)
    return scale, [Tick(scale.place(tick["at"]), tick["label"]) for tick in axis["ticks"]]


def _draw_plot(
    run: str,
    drawn_runs: Mapping[str, Sequence[ListedCheckpoint]],
    numbers: Mapping[str, int],
    scale: Scale,
) -> Plot:
    if not drawn_runs:
        return Plot(run, [], [], [], [], [], [], 0)
    steps = Steps([listed.step for listed in _list_all(drawn_runs)])
    series = [
        _draw_series(run, numbers[run], checkpoints, steps, scale)
        for run, checkpoints in drawn_runs.items()
    ]
    return Plot(run, series, [], [], steps.list_ticks(), [], [], 0)


def _draw_series(
    run: str, number: int, checkpoints: Sequence[ListedCheckpoint], steps: Steps, scale: Scale
) -> Series:
    points = []
    for listed in checkpoints:
        y, y_low, y_high = (scale.place(float(listed.row[end])) for end in ("mu", "low", "high"))
        points.append(Point(listed.step, listed.row, steps.place(listed.step), y, y_low, y_high))
    segments = [Segment(a.x, a.y, b.x, b.y) for a, b in pairwise(points)]
    return Series(run, number, points, segments)


def _draw_labels(series: Sequence[Series]) -> list[Label]:
    """Return the names of runs, each beside its last point, none over another."""
    by_height = sorted(series, key=lambda line: line.points[-1].y)
    heights = spread_labels([line.points[-1].y for line in by_height], lowest=HEIGHT - BOTTOM)
    return [Label(line.run, line.number, at) for line, at in zip(by_height, heights, strict=True)]


def _draw_lines(others: Sequence[Row], scale: Scale) -> list[Line]:
    # Rows come strongest first, so that of two labels in one place the stronger agent's stays.
    lines: list[Line] = []
    free_from = 0.0
    for row in others:
        at = scale.place(float(row["mu"]))
        lines.append(Line(row, at, is_hidden=at < free_from))
        free_from = max(free_from, 0 if lines[-1].is_hidden else at + LABEL_GAP)
    return lines
