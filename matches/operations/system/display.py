"""The state of the system as it is shown: every number rounded here, once, for page and socket."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

from matches.operations.system.sample import Sample, SystemState
from matches.operations.system.tables import NONE, Table, format_delay, list_tables
from matches.store.formats import format_count, format_short, format_span

SILENT_AFTER = timedelta(seconds=5)
"""Control looks every second; what is older than this says that it does not any more."""


MAX_DRAWN = 150
"""Points of a line: more than these are drawn as the highest of two, and so on."""


HIGHEST = 80
"""Where the highest point of a line is drawn, in percent from below; system.html has its mark."""


class Fact(TypedDict):
    """A number of the page's head, by the name of its place."""

    name: str
    label: str
    value: str


class Chart(TypedDict):
    """A line of the last minutes: points across 0..100 and down 0..100, and what is highest."""

    name: str
    label: str
    now: str
    most: str
    points: str


class SystemPage(TypedDict):
    """The whole page."""

    type: str
    at: str
    standstill: str
    trouble: str
    facts: list[Fact]
    charts: list[Chart]
    tables: list[Table]


def format_state(state: SystemState) -> SystemPage:
    """Return what page and socket show of a state."""
    sample, points = state.sample, state.history
    waiting = [float(point.n_waiting) for point in points]
    return {
        "type": "system",
        "at": sample.at.isoformat(),
        "standstill": sample.standstill,
        "trouble": _describe_trouble(state),
        "facts": _list_facts(sample),
        "charts": [
            _draw_chart("pace", "matches a second", [point.matches_per_s for point in points]),
            _draw_chart("waiting", "messages waiting", waiting),
            _draw_chart(
                "rows", "positions per network call", [point.rows_per_forward for point in points]
            ),
        ],
        "tables": list_tables(sample),
    }


CONTROL = "control, which plans matches and judges campaigns,"


def _describe_trouble(state: SystemState) -> str:
    troubles = [f"the {part} does not answer" for part in state.sample.trouble]
    troubles += [_describe_file(name) for name in state.sample.set_aside]
    if state.control_at is None:
        troubles.append(f"{CONTROL} has not looked yet: is it running?")
    elif (silent := state.sample.at - state.control_at) > SILENT_AFTER:
        troubles.append(f"{CONTROL} has not looked for {format_span(silent.total_seconds())}")
    return "; ".join(troubles)


def _describe_file(name: str) -> str:
    """Return what became of what was in a damaged file of a server, such as broker/set-aside-..."""
    server = name.partition("/")[0]
    lost = "what waited in it is sent again"
    if server == "stream":
        lost = "what the sink had not written is in it alone"
    return f"the {server}'s file was damaged and is kept as {name} in the data folder: {lost}"


def _list_facts(sample: Sample) -> list[Fact]:
    counts, delays = sample.counts, sample.delays
    start, rating = NONE, "0 s"
    if delays.start_p50_s is not None:
        p50, p99 = format_delay(delays.start_p50_s), format_delay(delays.start_p99_s)
        start = p50 if p50 == p99 else f"{p50} in the median, 99 of 100 at most {p99}"
    if sample.n_uncounted:
        rating = f"{format_delay(delays.rating_s)}, {format_count(sample.n_uncounted, 'outcome')}"
    return [
        _make_fact("nodes", "play nodes", f"{counts.n_play:,}"),
        _make_fact("slots", "matches at once", f"{counts.n_slots:,}"),
        _make_fact("gpus", "gpu workers", f"{counts.n_gpu:,}"),
        _make_fact("lost", "nodes lost within the hour", f"{counts.n_lost:,}"),
        _make_fact("start", "matches wait to start", start),
        _make_fact("recorder", f"{delays.recorder} behind", format_delay(delays.recorder_s)),
        _make_fact("rating", "ratings behind", rating),
    ]


def _make_fact(name: str, label: str, value: str) -> Fact:
    return {"name": name, "label": label, "value": value}


def _draw_chart(name: str, label: str, values: Sequence[float]) -> Chart:
    width = -(-len(values) // MAX_DRAWN) or 1
    drawn = [max(values[n : n + width]) for n in range(0, len(values), width)]
    most = max(drawn, default=0.0)
    across = 100 / max(1, len(drawn) - 1)
    # Down the picture; a line that is nowhere above 0 lies at its foot.
    scale = HIGHEST / most if most else 0.0
    points = [f"{n * across:.1f},{100 - scale * value:.1f}" for n, value in enumerate(drawn)]
    return {
        "name": name,
        "label": label,
        "now": format_short(values[-1]) if values else NONE,
        "most": format_short(most),
        "points": " ".join(points),
    }
