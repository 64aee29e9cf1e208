"""An episode drawn: queue, latency with its limits, memory and cost over time, and what was set."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from arena.games.llmserve.grading import FREE
from arena.games.llmserve.settings import CHOICES
from arena.games.llmserve.words import FIELDS, Played, name_value
from arena.games.llmserve.workload import N_WINDOWS, PRIORITY, Task
from arena.games.pictures import Line, Picture, Rect, Shape, Text

_LEFT, _STEP, _HEIGHT, _GAP, _ROW = 2.0, 2.2, 26.0, 13.0, 11.0
_WIDTH: Final = _LEFT + _STEP * N_WINDOWS + 2
_LETTERS: Final = 7.0


class Curve(NamedTuple):
    """A row of the drawing: a number of each window up to `most`, and where its limit is."""

    title: str
    tint: str
    most: float
    read: Callable[[Played], float]
    show: Callable[[float], str]
    limit: float | None = None


def draw_episode(task: Task, played: Sequence[Played]) -> Picture:
    """Return the windows so far from left to right."""
    curves = _list_curves(task)
    shapes: list[Shape] = []
    top = 0.0
    for curve in curves:
        shapes += _draw_curve(curve, played, top)
        top += _HEIGHT + _GAP
    for field in range(len(FIELDS)):
        shapes += _draw_setting(field, played, top)
        top += _ROW + _LETTERS
    return Picture(_WIDTH, top, tuple(shapes))


def _list_curves(task: Task) -> tuple[Curve, ...]:
    strict = task.limits[PRIORITY]
    return (
        Curve("waiting", "yellow", 60, lambda w: w.sight.queue_depth, "{:.0f}".format),
        Curve(
            "first token, p99",
            "blue",
            4 * strict.first_token_s * 1_000,
            lambda w: w.sight.p99_ttft_ms,
            "{:.0f} ms".format,
            strict.first_token_s * 1_000,
        ),
        Curve(
            "each token",
            "blue",
            3 * strict.token_s * 1_000,
            lambda w: w.sight.p50_itl_ms,
            "{:.0f} ms".format,
            strict.token_s * 1_000,
        ),
        Curve(
            "memory", "green", 1, lambda w: w.sight.gpu_memory_used_gb / 160, "{:.0%}".format, FREE
        ),
        Curve(
            "dollars for 1,000 tokens",
            "red",
            0.01,
            lambda w: w.sight.estimated_cost_per_1k,
            "{:.4f}".format,
        ),
    )


def _draw_curve(curve: Curve, played: Sequence[Played], top: float) -> Iterator[Shape]:
    """Draw a bar for each window; what is above the row's most is cut there."""
    foot = top + _GAP - 2 + _HEIGHT
    now = f": {curve.show(curve.read(played[-1]))}" if played else ""
    yield Text(_WIDTH / 2, top + 5, f"{curve.title}{now}", _LETTERS)
    for index, window in enumerate(played):
        height = min(curve.read(window) / curve.most, 1.0) * _HEIGHT
        if height > 0:
            x = _LEFT + index * _STEP
            yield Rect(x, foot - height, _STEP * 0.8, height, curve.tint)
    if curve.limit is not None:
        y = foot - curve.limit / curve.most * _HEIGHT
        yield Line(_LEFT, y, _WIDTH - 2, y, "ink", 0.4)
    yield Line(_LEFT, foot, _WIDTH - 2, foot, "line", 0.6)


def _draw_setting(field: int, played: Sequence[Played], top: float) -> Iterator[Shape]:
    """Draw a setting as a strip, the higher the larger its value."""
    values = [window.settings[field] for window in played]
    now = f": {name_value(field, values[-1])}" if values else ""
    yield Text(_WIDTH / 2, top + 4, f"{FIELDS[field]}{now}", _LETTERS)
    foot = top + _ROW + _LETTERS - 2
    choices = CHOICES[field]
    for index, value in enumerate(values):
        level = choices.index(value) / (len(choices) - 1)
        height = 1 + level * (_ROW - 4)
        yield Rect(_LEFT + index * _STEP, foot - height, _STEP * 0.8, height, "ink")
