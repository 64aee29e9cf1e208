"""The last 24 hours of the system: a point each ten minutes, a gap where nothing was kept."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from statistics import mean
from typing import NamedTuple

from matches.models import SystemMinute
from matches.operations.system.display import HIGHEST
from matches.operations.system.minutes import KEPT
from matches.store.formats import format_short
from pages.plots.charts import MIN_POINTS, Tick, list_round

STEP = timedelta(minutes=10)
N_STEPS = KEPT // STEP


class History(NamedTuple):
    """A line of 24 hours: its parts between gaps, in percent across and down."""

    label: str
    most: str
    lines: list[str]
    is_early: bool
    levels: list[Tick]


class _Minute(NamedTuple):
    at: datetime
    matches_per_s: float
    n_waiting: int
    n_slots: int


def draw_day(*, now: datetime) -> list[History]:
    """Return what is drawn of the last 24 hours: one query."""
    rows = SystemMinute.objects.filter(at__gt=now - KEPT).order_by("at")
    minutes = [_Minute(*row) for row in rows.values_list(*_Minute._fields)]
    steps: dict[int, list[_Minute]] = {}
    for minute in minutes:
        steps.setdefault(int((minute.at - (now - KEPT)) / STEP), []).append(minute)
    return [
        _draw_line("matches a second, mean of ten minutes", steps, _average_pace),
        _draw_line("messages waiting, the most", steps, _find_most_waiting),
        _draw_line("matches at once", steps, _find_most_slots),
    ]


def _average_pace(minutes: Sequence[_Minute]) -> float:
    return mean(minute.matches_per_s for minute in minutes)


def _find_most_waiting(minutes: Sequence[_Minute]) -> float:
    return max(minute.n_waiting for minute in minutes)


def _find_most_slots(minutes: Sequence[_Minute]) -> float:
    return max(minute.n_slots for minute in minutes)


def _draw_line(
    label: str,
    steps: dict[int, list[_Minute]],
    measure: Callable[[Sequence[_Minute]], float],
) -> History:
    values = {step: measure(minutes) for step, minutes in steps.items()}
    most = max(values.values(), default=0.0)
    scale = HIGHEST / most if most else 0.0
    parts: list[list[str]] = []
    for step in sorted(values):
        if step - 1 not in values:
            parts.append([])
        parts[-1].append(f"{100 * step / (N_STEPS - 1):.1f},{100 - scale * values[step]:.1f}")
    # Twice, so that ten minutes between two gaps are seen: a line of one point is not drawn.
    lines = [" ".join(part if len(part) > 1 else part * 2) for part in parts]
    marks = list_round(0, most, 3) if most else [0.0]
    levels = [Tick(round(100 - scale * mark, 1), f"{mark:,g}") for mark in marks]
    return History(label, format_short(most), lines, len(values) < MIN_POINTS, levels)
