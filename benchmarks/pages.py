"""How long every page and list takes with many agents and matches in the database.

./run bench pages [--agents N] [--matches N] [--repeats N] [--postgres] [--keep DIR] [--json FILE]

Server time: from the ASGI application's call to its answer, all middleware included, in one process
and without the wire. Every address is asked with emptied caches and then again and again; p95 is
over all calls. The same is done with a tenth of the rows: more rows must not mean more queries.
"""

import json
import os
import subprocess
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.report import Cell, format_table, make_parser, whole_number, write_report
from benchmarks.stacks import run_servers
from benchmarks.storm.servers import run_postgres
from launcher.programs import ONE_THREAD, PYTHON

TARGET_MS = 300
TENTH = 10
N_SHOWN = 25
UNLIMITED = 10**9
FEWEST_COLD = 3
# Calls of each kind with a tenth of the rows: only their queries are compared.
FEW = 2


def measure(options: Namespace, folder: Path) -> dict[str, Any]:
    """Return the figures: of the addresses with all rows, and where a tenth needs fewer queries."""
    # The smaller one first: a forgotten page is found before the long fill.
    few = measure_share(options, folder, share=TENTH)
    many = measure_share(options, folder, share=1)
    queries = {endpoint["path"]: endpoint["queries"] for endpoint in few}
    endpoints = [{**endpoint, "queries_tenth": queries.get(endpoint["path"])} for endpoint in many]
    return {
        "agents": options.agents,
        "matches": options.matches,
        "database": "PostgreSQL" if options.postgres else "SQLite",
        "endpoints": endpoints,
        "p95_ms_max": max((endpoint["p95_ms"] for endpoint in endpoints), default=0.0),
        "grown": [
            endpoint["path"]
            for endpoint in endpoints
            if endpoint["queries"] > queries.get(endpoint["path"], UNLIMITED)
        ],
    }


def measure_share(options: Namespace, folder: Path, *, share: int) -> list[dict[str, Any]]:
    """Return what every address took with this share of the rows, from a process of its own.

    It sees a private site: a data folder, a fast store and a database of its own.
    """
    n_agents, n_matches = options.agents // share, options.matches // share
    var = folder / f"{n_agents}-{n_matches}"
    # The web application looks for collected files there.
    (var / "static_collected").mkdir(parents=True, exist_ok=True)
    out = var / "figures.json"
    # Emptied caches are rare in real use, and cost most of the time here.
    n_cold = max(FEWEST_COLD, options.repeats // 3)
    sizes = (options.repeats, n_cold) if share == 1 else (FEW, FEW)
    order = {"n_agents": n_agents, "n_matches": n_matches, "out": str(out), "only": options.only}
    order |= dict(zip(("n_warm", "n_cold"), sizes, strict=True))
    command = [PYTHON, "-m", "benchmarks.field", json.dumps(order)]
    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(prefix="evalsite-bench-"))
        environment = {
            **{name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
            **stack.enter_context(run_servers(Path(scratch))).variables,
            # As the launcher starts the web server: threads of BLAS wait for each other.
            **ONE_THREAD,
            "EVALSITE_VAR": str(var),
            "EVALSITE_SECRET_KEY": "for this benchmark only",
            # Requests are counted as always, and none is refused.
            "EVALSITE_USER_RATE": str(UNLIMITED),
            "EVALSITE_ANONYMOUS_RATE": str(UNLIMITED),
        }
        if options.postgres:
            environment["DATABASE_URL"] = stack.enter_context(run_postgres(var / "postgres"))
        print(f"{n_agents:,} agents, {n_matches:,} matches:", flush=True)
        subprocess.run(command, env=environment, check=True)
    figures: list[dict[str, Any]] = json.loads(out.read_text())
    return figures


def format_figures(figures: dict[str, Any]) -> str:
    slowest = sorted(figures["endpoints"], key=lambda endpoint: -endpoint["p95_ms"])[:N_SHOWN]
    names = ("p95_ms", "warm_ms", "cold_ms", "cpu_ms", "kb", "queries", "queries_tenth")
    rows: list[list[Cell]] = [
        [endpoint["path"], *(endpoint[name] for name in names)] for endpoint in slowest
    ]
    over = sum(endpoint["p95_ms"] > TARGET_MS for endpoint in figures["endpoints"])
    return "\n".join(
        [
            format_table(["slowest", *names], rows),
            "",
            f"{len(figures['endpoints'])} addresses, {figures['agents']:,} agents, "
            f"{figures['matches']:,} matches, {figures['database']}: p95 at most "
            f"{figures['p95_ms_max']:.0f} ms (target {TARGET_MS}), {over} above it.",
            f"More queries than with a tenth: {', '.join(figures['grown']) or 'none'}.",
        ]
    )


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables and write the figures; 1 where more rows mean more queries."""
    parser = make_parser("pages", "How long every page and list takes.")
    add = parser.add_argument
    add("--agents", type=whole_number(1_000), default=10_000)
    add("--matches", type=whole_number(10_000), default=1_000_000)
    add("--repeats", type=whole_number(1), default=30, help="calls of each address")
    add("--only", default="", metavar="TEXT", help="addresses that hold this text")
    add("--postgres", action="store_true", help="a PostgreSQL of its own")
    add("--keep", type=Path, metavar="DIR", help="keep the databases there and use them again")
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="evalsite-bench-") as scratch:
        try:
            figures = measure(options, options.keep or Path(scratch))
        except subprocess.CalledProcessError as error:
            return int(error.returncode)
    write_report(format_figures(figures), figures, options.json)
    return int(bool(figures["grown"]))
