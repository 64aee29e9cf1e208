"""How soon, and at what cost, many viewers of a board see what was recorded.

./run bench live [--viewers N] [--agents N] [--seconds S] [--json FILE]

Matches are played and recorded as fast as they come all the while. The viewers are one process of
their own, so that their cost is not counted as that of the web server.
"""

import resource
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep, time
from typing import Any

import numpy as np
import psutil

from benchmarks.options import parser, seconds, whole, write_json
from benchmarks.stacks import cpu_seconds, private_stack
from benchmarks.table import Cell, table
from benchmarks.watching.crowds import Viewers
from benchmarks.watching.figures import Watched, delays, growth, most_behind, quantile_ms
from launcher.stack import Stack
from launcher.supervision import allow_files

N_SLOTS = 2
N_MATCHES = 100_000
"""Matches of one tournament; one after the other is scheduled."""
WARM_UP_S = 10.0
"""From the last viewer's snapshot to the beginning of the measurement."""
COOL_DOWN_S = 3.0
SAMPLE_S = 0.5
SAY_EVERY_S = 30.0
FILES_BESIDES = 200
"""Open files of a process besides the viewers' sockets."""
MB = 2**20


@dataclass
class Sampler:
    """The web server's memory, and the CPU time of all processes, in a window."""

    stack: Stack
    viewers: int
    rss: list[int] = field(default_factory=list)
    begin: float = 0.0
    end: float = 0.0
    cpu_at_begin: dict[str, float] = field(default_factory=dict)
    cpu_s: dict[str, float] = field(default_factory=dict)

    def start(self) -> None:
        """Begin the window."""
        self.begin, self.cpu_at_begin = time(), self._cpu()

    def sample(self) -> None:
        """Note the memory."""
        self.rss.append(psutil.Process(self.stack.pids()["web"]).memory_info().rss)

    def stop(self) -> None:
        """End the window."""
        self.end = time()
        self.cpu_s = {name: s - self.cpu_at_begin.get(name, 0) for name, s in self._cpu().items()}

    def cores(self, name: str) -> float:
        """Return how many cores a program kept busy."""
        return self.cpu_s[name] / (self.end - self.begin)

    def _cpu(self) -> dict[str, float]:
        times = psutil.Process(self.viewers).cpu_times()
        return {**cpu_seconds(self.stack), "viewers": times.user + times.system}


def measure(stack: Stack, options: Namespace, folder: Path) -> dict[str, Any]:
    """Let viewers watch a board of the running stack for so long; return all figures."""
    parts = import_module("benchmarks.watching.board")  # it needs Django, which is set up only now
    board = parts.Board(options.agents, n_matches=N_MATCHES)
    board.keep_on()
    port = stack.plan.ports.web
    with (
        parts.Pushes(board.leaderboard) as pushes,
        Viewers(port, board.path, options.viewers, folder / "seen.npz") as viewers,
    ):
        began = monotonic()
        viewers.wait_until_all_watch()
        arrival_s = monotonic() - began
        sampler = Sampler(stack, viewers.pid)
        _go_on(board, WARM_UP_S)
        sampler.start()
        _go_on(board, options.seconds, sampler)
        sampler.stop()
        _go_on(board, COOL_DOWN_S)
        seen = viewers.leave()
    board.finish()
    figures = _figures(board.outcomes(), seen, pushes.at, sampler)
    return {
        "viewers": options.viewers,
        "agents": options.agents,
        "arrival_s": arrival_s,
        **figures,
    }


def _go_on(board: Any, for_s: float, sampler: Sampler | None = None) -> None:
    """Keep matches coming for so long; with a sampler, sample and say how far it is."""
    began = said_at = monotonic()
    while (now := monotonic()) - began < for_s:
        n_recorded = board.keep_on()
        if sampler:
            sampler.sample()
            if now - said_at >= SAY_EVERY_S:
                said_at = now
                print(f"{now - began:,.0f} of {for_s:,.0f} s, {n_recorded:,} matches recorded")
        sleep(min(SAMPLE_S, max(0.0, began + for_s - monotonic())))


def _figures(
    outcomes: Any, seen: dict[str, Any], pushed: dict[int, float], sampler: Sampler
) -> dict[str, Any]:
    window = {"begin": sampler.begin, "end": sampler.end}
    length = sampler.end - sampler.begin
    order = np.argsort(seen["sequence"])
    sequence, received = seen["sequence"][order], seen["received"][order]
    watched = Watched(seen["n_counted"][order], received)
    waits = delays(outcomes, watched, **window)
    n_viewers = received.shape[1]
    n_matches = int(waits.sum()) // n_viewers
    if not set(sequence.tolist()) & pushed.keys():
        raise ConnectionError("nothing was pushed: the logs of control and fast may say why")
    pushed_at = np.array([pushed.get(int(number), -np.inf) for number in sequence])
    is_inside = (pushed_at >= sampler.begin) & (pushed_at < sampler.end)
    n_pushes = int(is_inside.sum())
    delivery_ms = 1e3 * (received[is_inside] - pushed_at[is_inside][:, None])
    return {
        "seconds": length,
        "matches": n_matches,
        "matches_per_s": n_matches / length,
        "pushes": n_pushes,
        "pushes_per_s": n_pushes / length,
        "p50_ms": quantile_ms(waits, 0.5),
        "p95_ms": quantile_ms(waits, 0.95),
        "p99_ms": quantile_ms(waits, 0.99),
        "delivery_p95_ms": float(np.quantile(delivery_ms, 0.95)),
        "max_snapshots_behind": most_behind(pushed_at, received, **window),
        "web_cpu_cores": sampler.cores("web"),
        "web_cpu_us_per_delta": 1e6 * sampler.cpu_s["web"] / max(1, n_pushes * n_viewers),
        "rss_mb": sampler.rss[-1] / MB,
        "rss_growth_mb": growth(np.array(sampler.rss, float)) / MB,
        "kb_per_delta": float(seen["n_bytes"]) / max(1, int(seen["n_messages"])) / 1024,
        "gaps": int(seen["n_gaps"]),
        "drops": int(seen["n_drops"]),
        "cpu_cores": {name: sampler.cores(name) for name in sampler.cpu_s},
    }


def shown(figures: dict[str, Any]) -> str:
    """Return the figures as tables with their targets."""
    rows: list[list[Cell]] = [
        ["viewers", figures["viewers"], "1,000"],
        ["matches/s recorded meanwhile", figures["matches_per_s"], ""],
        ["pushes/s", figures["pushes_per_s"], "<= 2"],
        ["recorded to received, p50 ms", figures["p50_ms"], ""],
        ["recorded to received, p95 ms", figures["p95_ms"], "<= 1,000"],
        ["pushed to received, p95 ms", figures["delivery_p95_ms"], ""],
        ["snapshots behind, at worst", figures["max_snapshots_behind"], "<= 1"],
        ["web, cores", figures["web_cpu_cores"], "<= 1"],
        ["web, CPU us a viewer's delta", figures["web_cpu_us_per_delta"], ""],
        ["web, memory MB", figures["rss_mb"], ""],
        ["its growth MB", figures["rss_growth_mb"], "flat"],
        ["viewers that missed something", figures["gaps"], ""],
        ["viewers dropped", figures["drops"], "0"],
    ]
    cores: list[list[Cell]] = [[name, used] for name, used in figures["cpu_cores"].items()]
    return "\n".join(
        [table(["", "measured", "target"], rows), "", table(["where it goes", "cores"], cores)]
    )


def require_files(n_viewers: int) -> None:
    """Let this process and those it starts open a file per viewer, and some.

    Raises ValueError when the machine does not allow it.
    """
    needed = n_viewers + FILES_BESIDES
    allowed = allow_files(needed)
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        raise ValueError(
            f"{n_viewers} viewers need {needed} open files, but ulimit -Hn is {allowed}: "
            "raise it, or choose fewer --viewers"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the figures; return the exit status."""
    options_parser = parser("live", "How soon, and at what cost, viewers see what was recorded.")
    options_parser.add_argument("--viewers", type=whole(1), default=1_000)
    options_parser.add_argument("--agents", type=whole(2), default=50)
    options_parser.add_argument("--seconds", type=seconds(1), default=600.0)
    options = options_parser.parse_args(arguments)
    try:
        require_files(options.viewers)
    except ValueError as error:
        options_parser.error(f"argument --viewers: {error}")
    with (
        private_stack(nodes=1, slots=N_SLOTS, web=True) as stack,
        TemporaryDirectory(prefix="evalsite-viewers-") as folder,
    ):
        try:
            figures = measure(stack, options, Path(folder))
        except ConnectionError as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    print(shown(figures))
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
