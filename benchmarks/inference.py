"""How fast networks answer: ours against the limit, a copy each, plain Celery and an ideal ZMQ.

./run bench inference [--quick] [--rounds N] [--battles N] [--json FILE]
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.options import parser, whole, write_json
from benchmarks.serving.cells import Length
from benchmarks.serving.hall import BLOCKS, CELERY, LARGE, OURS, ZMQ, Hall, hall
from benchmarks.table import Cell as Text
from benchmarks.table import table

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
    """Return all figures; in every round each way has its turn, so that noise meets all alike."""
    length = QUICK if options.quick else FULL
    with (
        tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder,
        hall(Path(folder)) as all_,
    ):
        for number in range(options.rounds):
            for cell in all_.cells:
                print(f"\rround {number + 1}: {cell.name:30}", end="", file=sys.stderr, flush=True)
                all_.measure(cell, length)
        print(file=sys.stderr)
        return {"rows": [cell.row() for cell in all_.cells], **ratios(all_)}


def ratios(all_: Hall) -> dict[str, float]:
    """Return what the figures are compared by; each is a median over the rounds."""
    return {
        "ratio_zmq_small": all_.ratio("small", OURS, ZMQ, BLOCKS),
        "ratio_zmq_big": all_.ratio("big", OURS, ZMQ, BLOCKS),
        "ratio_celery_small": all_.ratio("small", OURS, CELERY, BLOCKS),
        "ratio_direct_big": all_.over_direct("big", BLOCKS),
        "ratio_direct_big_256": all_.over_direct("big", LARGE),
    }


def shown(figures: dict[str, Any]) -> str:
    """Return the figures as a table with the ratios and their targets."""
    rows: list[list[Text]] = [[row[key] for key in COLUMNS.values()] for row in figures["rows"]]
    return table(list(COLUMNS), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and write the figures; return the exit status."""
    options_parser = parser("inference", "How fast networks answer, and 500 battles of two.")
    options_parser.add_argument("--rounds", type=whole(1), default=5)
    options_parser.add_argument("--quick", action="store_true", help="about a minute, less exact")
    options_parser.add_argument("--battles", type=whole(0), default=500, metavar="N")
    options = options_parser.parse_args(arguments)
    figures = measure(options)
    print(shown(figures))
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
