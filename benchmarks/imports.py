"""How long it takes until a file of results is on a board, settled, known again, and struck.

./run bench imports [--rows N] [--agents N] [--json FILE]

The client sends it to a server of its own, as a user would: rows of agents of known strength.
"""

import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.ratings import simulate_results
from benchmarks.report import format_table, make_parser, whole_number, write_report
from benchmarks.stacks import cpu_seconds, private_stack, wait_until
from evalsite_client import Client
from launcher.folders import ROOT
from launcher.programs import PYTHON
from launcher.stack import Stack

BOARD, GAME = "imported", "connect_four"
MAX_SETTLED_S = 60.0
LIMIT_S = 600.0
RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1"}


def write_file(path: Path, n_rows: int, n_agents: int) -> None:
    """Write results of random pairs under TrueSkill's own model as CSV."""
    with path.open("w") as file:
        file.write("first,second,result\n")
        for first, second, result in simulate_results(n_agents, n_rows).tolist():
            file.write(f"agent {first:04},agent {second:04},{RESULTS[result]}\n")


def make_client(stack: Stack) -> Client:
    scopes = [f"--scope={scope}" for scope in ("read", "submit", "operate")]
    command = [PYTHON, "manage.py", "token", "bench", *scopes]
    token = subprocess.run(
        command, cwd=ROOT, env=dict(stack.env), capture_output=True, text=True, check=True
    )
    return Client(stack.plan.addresses()["Board"], token.stdout.strip())


def measure(client: Client, path: Path, n_rows: int) -> dict[str, float]:
    """Return the seconds that each step took, from the first byte that is sent."""
    client.leaderboards.open(name=BOARD, game=GAME)
    took_s = {}
    begin = perf_counter()
    batch = client.imports.upload(path, leaderboard=BOARD, adds_agents=True)
    took_s["answered"] = perf_counter() - begin
    _await_settled(client, n_rows)
    took_s["settled"] = perf_counter() - begin
    begin = perf_counter()
    assert client.imports.upload(path, leaderboard=BOARD).n_new == 0
    took_s["the same file again"] = perf_counter() - begin
    begin = perf_counter()
    client.imports.strike(batch.id, reason="measured")
    took_s["struck"] = perf_counter() - begin
    _await_settled(client, 0)
    took_s["rated without it"] = perf_counter() - begin
    return took_s


def _await_settled(client: Client, n_rows: int) -> None:
    def is_settled() -> bool:
        board = client.leaderboards.get(BOARD)
        return board.n_counted == board.n_settled == n_rows and not board.is_rerating

    wait_until(is_settled, limit_s=LIMIT_S, what=f"{BOARD} of {n_rows:,} results")


def read_options(arguments: Sequence[str]) -> Namespace:
    parser = make_parser("imports", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=whole_number(1), default=1_000_000, metavar="N")
    parser.add_argument("--agents", type=whole_number(2), default=200, metavar="N")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Measure and report; 1 when it took longer than it may."""
    options = read_options(arguments)
    with TemporaryDirectory() as folder, private_stack(web=True, nodes=0) as stack:
        path = Path(folder) / "results.csv"
        write_file(path, options.rows, options.agents)
        with make_client(stack) as client:
            took_s = measure(client, path, options.rows)
        cpu_s = cpu_seconds(stack)
    figures: dict[str, Any] = {
        **{"rows": options.rows, "agents": options.agents},
        "took_s": took_s,
        "cpu_s": cpu_s,
        "rows_per_s": options.rows / took_s["settled"],
        "is_in_time": took_s["settled"] <= MAX_SETTLED_S,
    }
    table = format_table(("step", "s"), [[name, s] for name, s in took_s.items()])
    verdict = "in time" if figures["is_in_time"] else "TOO LONG"
    summary = f"{options.rows:,} results settled in {took_s['settled']:.1f} s: {verdict}"
    write_report(f"{table}\n\n{summary} (at most {MAX_SETTLED_S:g} s)", figures, options.json)
    return 0 if figures["is_in_time"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
