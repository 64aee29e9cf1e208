"""How fast networks answer: ours against the limit, a copy each, plain Celery and an ideal ZMQ.

./run bench inference [--quick] [--rounds N] [--battles N] [--json FILE]
"""

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.report import Cell, format_table, make_parser, whole_number, write_report
from benchmarks.serving import battles, hall, stacked
from benchmarks.serving.hall import BLOCKS, LARGE, Length
from launcher.programs import ONE_THREAD

FULL, QUICK = Length(warm_s=0.4, window_s=1.5), Length(warm_s=0.2, window_s=0.4)
COLUMNS = {
    "way": "name",
    "network": "network",
    "clients": "clients",
    "block": "block",
    "requests/s": "requests_per_s",
    "observations/s": "observations_per_s",
    "p50 ms": "p50_ms",
    "p99 ms": "p99_ms",
    "CPU us/obs": "cpu_us_per_observation",
    "rows/forward": "rows_per_forward",
}


def measure(options: Namespace) -> dict[str, Any]:
    with TemporaryDirectory(prefix="evalsite-bench-") as name:
        folder = Path(name)
        figures = measure_ways(options, folder / "ways")
        repeats = 2 if options.quick else 20
        # The engine may stack in one mode and refuse to in the other: both are measured.
        siblings = [
            stacked.measure(size, folder / "cache", is_deterministic=is_exact, repeats=repeats)
            for is_exact in (False, True)
            for size in (stacked.NARROW, hall.SMALL)
        ]
        figures |= {"stacked_ratio": siblings[0]["ratio"], "stacked": siblings}
        if options.battles:
            show_progress(f"{options.battles} battles")
            figures["battles"] = battles.measure(hall.BIG, options.battles, folder / "battles")
    return figures


def measure_ways(options: Namespace, folder: Path) -> dict[str, Any]:
    """Measure every way; in each round each has its turn, so that noise meets all alike."""
    length = QUICK if options.quick else FULL
    with hall.open_hall(folder) as all_ways:
        for number in range(options.rounds):
            for cell in all_ways.cells:
                show_progress(f"round {number + 1}: {cell.name}, {cell.network}")
                all_ways.measure_cell(cell, length)
        per_s, cpu = (
            lambda window: window.observations_per_s,
            lambda window: 1 / window.cpu_us_per_observation,
        )
        return {
            "rows": [cell.make_row() for cell in all_ways.cells],
            "ratio_zmq_small": all_ways.find_ratio("small", hall.ZMQ, per_s),
            "ratio_zmq_big": all_ways.find_ratio("big", hall.ZMQ, per_s),
            "cpu_ratio_zmq_small": all_ways.find_ratio("small", hall.ZMQ, cpu),
            "ratio_celery_small": all_ways.find_ratio("small", hall.CELERY, per_s),
            "ratio_direct_big": all_ways.find_share_of_direct("big", BLOCKS),
            "ratio_direct_big_256": all_ways.find_share_of_direct("big", LARGE),
        }


def show_progress(step: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{step:60}", end="", file=sys.stderr, flush=True)


def format_figures(figures: dict[str, Any]) -> str:
    rows: list[list[Cell]] = [[row[key] for key in COLUMNS.values()] for row in figures["rows"]]
    keys = ("network", "hidden", "alone_us", "stacked_us", "ratio", "engine_ratio", "reason")
    siblings: list[list[Cell]] = [
        [("free", "deterministic")[row["is_deterministic"]], *[row[key] for key in keys]]
        for row in figures["stacked"]
    ]
    columns = ["mode", "network", "hidden", "16 us", "1 us", "ratio", "in the engine", "why not"]
    return "\n".join(
        [
            format_table(list(COLUMNS), rows),
            "",
            "observations/s, ours over another, 4 x 64: "
            f"small / ideal ZMQ {figures['ratio_zmq_small']:.2f} (target >= 0.6, aim 0.9), "
            f"CPU {figures['cpu_ratio_zmq_small']:.2f}; "
            f"small / plain Celery {figures['ratio_celery_small']:.1f} (target >= 10); "
            f"big / ideal ZMQ {figures['ratio_zmq_big']:.2f}; "
            f"big / direct forward of as many rows {figures['ratio_direct_big']:.2f} "
            f"(target >= 0.95), 4 x 256 {figures['ratio_direct_big_256']:.2f}",
            "",
            "16 siblings with 4 rows each, one forward against 16 (target >= 3):",
            format_table(columns, siblings),
            *(format_battles(figures["battles"]) if "battles" in figures else []),
        ]
    )


def format_battles(figures: dict[str, Any]) -> list[str]:
    rows: list[list[Cell]] = [
        [
            name,
            *(figures[f"{key}_s"], figures[f"{key}_cpu_s"], *figures["wins"][key].values()),
            *(
                figures[f"{figure}_{key}"]
                for figure in ("loads", "rows_per_forward", "utilisation")
            ),
        ]
        for key, name in (("ours", "ours, the whole stack"), ("copies", "a copy per worker"))
    ]
    columns = ["", "seconds", "CPU s", "wins 1", "wins 2", "draws", "loads", "rows/forward"]
    return [
        "",
        f"{figures['battles']} battles of {battles.GAME}, {figures['workers']} workers, "
        f"{figures['network']} networks, deterministic mode:",
        format_table([*columns, "utilisation"], rows),
        f"wall {figures['ratio']:.1f} times, CPU {figures['cpu_ratio']:.1f} times better on the "
        f"stack (target >= 8); outcomes equal: {figures['outcomes_equal']}; model loads "
        f"{figures['loads_per_checkpoint_ours']:g} per checkpoint (target 1)",
    ]


def main(arguments: Sequence[str]) -> int:
    parser = make_parser("inference", "How fast networks answer, and 500 battles of two.")
    add, help_n = parser.add_argument, "an even number; 0: none"
    add("--rounds", type=whole_number(1), default=5)
    add("--quick", action="store_true", help="one short round")
    add("--battles", type=whole_number(0), default=500, metavar="N", help=help_n)
    options = parser.parse_args(arguments)
    # A quick run shows that everything works; its figures are noise.
    options.rounds = 1 if options.quick else options.rounds
    # One thread for every forward, wherever it runs; read by the processes started from here.
    os.environ.update(ONE_THREAD)
    figures = measure(options)
    write_report(format_figures(figures), figures, options.json)
    print(f"Medians of {options.rounds}; one thread per forward; every process counts as CPU.")
    return 0
