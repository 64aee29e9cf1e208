"""How fast networks answer: ours against the limit, a copy each, plain Celery and an ideal ZMQ.

./run bench inference [--quick] [--rounds N] [--battles N] [--json FILE]
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.options import parser, whole, write_json
from benchmarks.serving import contest, stacked
from benchmarks.serving.battles import GAME
from benchmarks.serving.cells import Length
from benchmarks.serving.hall import BLOCKS, CELERY, LARGE, OURS, ZMQ, Hall, hall
from benchmarks.serving.networks import BIG, SMALL
from benchmarks.table import Cell as Text
from benchmarks.table import table
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


def measure(options: Any) -> dict[str, Any]:
    """Return all figures, each a median over the rounds."""
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as name:
        folder = Path(name)
        figures = ways(options, folder / "ways")
        siblings = [
            stacked.measure(
                size,
                folder / "cache",
                is_deterministic=is_deterministic,
                repeats=2 if options.quick else 20,
            )
            for is_deterministic in (False, True)
            for size in (stacked.NARROW, SMALL)
        ]
        figures |= {"stacked_ratio": siblings[0]["ratio"], "stacked": siblings}
        if options.battles:
            say(f"{options.battles} battles")
            figures["battles"] = contest.measure(BIG, options.battles, folder / "battles")
    return figures


def ways(options: Any, folder: Path) -> dict[str, Any]:
    """Measure every way; in each round each has its turn, so that noise meets all alike."""
    length = QUICK if options.quick else FULL
    with hall(folder) as all_:
        for number in range(1 if options.quick else options.rounds):
            for cell in all_.cells:
                say(f"round {number + 1}: {cell.name}, {cell.network}")
                all_.measure(cell, length)
        return {"rows": [cell.row() for cell in all_.cells], **ratios(all_)}


def say(what: str) -> None:
    """Show on a terminal what is being measured."""
    if sys.stderr.isatty():
        print(f"\r{what:60}", end="", file=sys.stderr, flush=True)


def ratios(all_: Hall) -> dict[str, float]:
    """Return what the figures are compared by; each is a median over the rounds."""
    return {
        "ratio_zmq_small": all_.ratio("small", OURS, ZMQ, BLOCKS),
        "ratio_zmq_big": all_.ratio("big", OURS, ZMQ, BLOCKS),
        "cpu_ratio_zmq_small": all_.cpu_ratio("small", OURS, ZMQ, BLOCKS),
        "ratio_celery_small": all_.ratio("small", OURS, CELERY, BLOCKS),
        "ratio_direct_big": all_.over_direct("big", BLOCKS),
        "ratio_direct_big_256": all_.over_direct("big", LARGE),
    }


def shown(figures: dict[str, Any]) -> str:
    """Return the figures as tables with the ratios and their targets."""
    rows: list[list[Text]] = [[row[key] for key in COLUMNS.values()] for row in figures["rows"]]
    keys = ("network", "hidden", "alone_us", "stacked_us", "ratio", "engine_ratio", "reason")
    siblings: list[list[Text]] = [
        [("free", "deterministic")[one["is_deterministic"]], *[one[key] for key in keys]]
        for one in figures["stacked"]
    ]
    return "\n".join(
        [
            table(list(COLUMNS), rows),
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
            table(
                ["mode", "network", "hidden", "16 us", "1 us", "ratio", "in the engine", "why not"],
                siblings,
            ),
            *shown_battles(figures.get("battles")),
        ]
    )


def shown_battles(figures: dict[str, Any] | None) -> list[str]:
    """Return the battles as a table, if they were played."""
    if figures is None:
        return []
    rows: list[list[Text]] = [
        [
            name,
            figures[f"{key}_s"],
            figures[f"{key}_cpu_s"],
            *figures["wins"][key].values(),
            figures.get(f"loads_{key}"),
            figures.get(f"rows_per_forward_{key}"),
            figures.get(f"utilisation_{key}"),
        ]
        for name, key in (
            ("ours, the whole stack", "ours"),
            ("ours, clients alone", "clients"),
            ("a copy per worker", "copies"),
        )
    ]
    columns = ["", "seconds", "CPU s", "wins 1", "wins 2", "draws", "loads", "rows/forward"]
    return [
        "",
        f"{figures['battles']} battles of {GAME}, {figures['workers']} workers, "
        f"{figures['network']} networks, deterministic mode:",
        table([*columns, "utilisation"], rows),
        f"wall {figures['ratio']:.1f} times, CPU {figures['cpu_ratio']:.1f} times better on the "
        f"stack, {figures['clients_ratio']:.1f} and {figures['clients_cpu_ratio']:.1f} times by "
        f"clients alone (target >= 8); outcomes equal: {figures['outcomes_equal']}; model loads "
        f"{figures['loads_per_checkpoint_ours']:g} per checkpoint (target 1)",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and write the figures; return the exit status."""
    options_parser = parser("inference", "How fast networks answer, and 500 battles of two.")
    options_parser.add_argument("--rounds", type=whole(1), default=5)
    options_parser.add_argument("--quick", action="store_true", help="one short round")
    options_parser.add_argument(
        "--battles", type=whole(0), default=500, metavar="N", help="an even number; 0: none"
    )
    options = options_parser.parse_args(arguments)
    # One thread for every forward, wherever it runs; read by the processes started from here.
    os.environ.update(ONE_THREAD)
    figures = measure(options)
    print(shown(figures))
    n_rounds = 1 if options.quick else options.rounds
    print(f"Medians of {n_rounds}; one thread per forward; every process of a way counts as CPU.")
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
