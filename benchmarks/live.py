"""How soon, and at what cost, many viewers of a board see what was recorded.

./run bench live [--viewers N] [--agents N] [--seconds S] [--json FILE]

Matches are played and recorded as fast as they come all the while. The viewers are one process of
their own, so that their cost is not counted as that of the web server.
"""

import resource
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import monotonic, sleep, time
from typing import Any

import numpy as np
import psutil

from benchmarks.report import (
    format_table,
    make_parser,
    number_of_seconds,
    whole_number,
    write_report,
)
from benchmarks.stacks import add_cpu_seconds, cpu_seconds, private_stack
from benchmarks.watching.figures import (
    Watched,
    count_delays,
    find_growth,
    find_most_behind,
    find_quantile_ms,
)
from benchmarks.watching.viewers import Seen, run_viewers
from launcher.stack import Stack
from launcher.supervision import allow_files

N_SLOTS = 2
# From the last viewer's snapshot to the beginning of the measurement.
WARM_UP_S = 10.0
COOL_DOWN_S = 3.0
SAMPLE_S = 0.5
SAY_EVERY_S = 30.0
# Open files of a process besides the viewers' sockets.
FILES_BESIDES = 200
MB = 2**20
SPAWN = get_context("spawn")


@dataclass
class Sampler:
    """The web server's memory, and the CPU time of all processes, in a window."""

    stack: Stack
    viewers: psutil.Process
    rss: list[int] = field(default_factory=list)
    begin: float = 0.0
    end: float = 0.0
    cpu_s: dict[str, float] = field(default_factory=dict)

    def read_cpu(self) -> dict[str, float]:
        return {**cpu_seconds(self.stack), "viewers": add_cpu_seconds([self.viewers])}

    def note_memory(self) -> None:
        self.rss.append(psutil.Process(self.stack.pids()["web"]).memory_info().rss)

    @contextmanager
    def open_window(self) -> Iterator[None]:
        """Measure what is spent in the block."""
        # Wall-clock time: the moments of outcomes are the database's.
        self.begin, before = time(), self.read_cpu()
        yield
        self.end = time()
        self.cpu_s = {name: s - before.get(name, 0) for name, s in self.read_cpu().items()}


@contextmanager
def start_viewers(port: int, path: str, n: int) -> Iterator[tuple[int, Connection]]:
    """Start the process of viewers, wait until all have a first snapshot; yield how to reach it."""
    own_end, child_end = SPAWN.Pipe()
    viewers = SPAWN.Process(target=run_viewers, args=(port, path, n, child_end), daemon=True)
    viewers.start()
    child_end.close()
    try:
        own_end.recv()
        yield viewers.pid or 0, own_end
    except EOFError:
        raise ConnectionError("the viewers have ended: see what they printed above") from None
    finally:
        # Also after an error in the block: a thousand sockets would go on for ever.
        viewers.kill()
        viewers.join()


def measure(stack: Stack, options: Namespace) -> dict[str, Any]:
    """Let viewers watch a board of the running stack for so long; return all figures."""
    watching = import_module("benchmarks.watching.board")  # Django is set up only now
    board = watching.Board(options.agents)
    board.keep_busy()
    began = monotonic()
    with (
        watching.note_pushes(board.leaderboard) as pushed_at,
        start_viewers(stack.plan.ports.web, board.path, options.viewers) as (pid, orders),
    ):
        arrival_s = monotonic() - began
        sampler = Sampler(stack, psutil.Process(pid))
        keep_busy(board, WARM_UP_S)
        with sampler.open_window():
            keep_busy(board, options.seconds, sampler)
        keep_busy(board, COOL_DOWN_S)
        orders.send("end")
        states: Seen = orders.recv()
    board.cancel_rest()
    chosen = {"viewers": options.viewers, "agents": options.agents, "arrival_s": arrival_s}
    return chosen | make_figures(board.read_outcomes(), states, pushed_at, sampler)


def keep_busy(board: Any, for_s: float, sampler: Sampler | None = None) -> None:
    """Keep matches coming for so long; with a sampler, sample and say how far it is."""
    began = said_at = monotonic()
    while (now := monotonic()) - began < for_s:
        n_recorded = board.keep_busy()
        if sampler:
            sampler.note_memory()
            if now - said_at >= SAY_EVERY_S:
                said_at = now
                print(f"{now - began:,.0f} of {for_s:,.0f} s, {n_recorded:,} matches recorded")
        sleep(min(SAMPLE_S, max(0.0, began + for_s - monotonic())))


def make_figures(
    outcomes: Any, states: Seen, pushed: dict[int, float], sampler: Sampler
) -> dict[str, Any]:
    """Return what a window tells: delays, costs and what went wrong."""
    window = {"begin": sampler.begin, "end": sampler.end}
    length = sampler.end - sampler.begin
    order = np.argsort(states.sequence)
    sequence, received = states.sequence[order], states.received[order]
    waits = count_delays(outcomes, Watched(states.n_counted[order], received), **window)
    n_viewers = received.shape[1]
    n_matches = int(waits.sum()) // n_viewers
    # Figures without any push would look perfect.
    if not set(sequence.tolist()) & pushed.keys():
        raise ConnectionError("nothing was pushed: the logs of control and fast may say why")
    pushed_at = np.array([pushed.get(int(number), -np.inf) for number in sequence])
    # Pushes of the warm-up met viewers that were still arriving.
    is_inside = (pushed_at >= sampler.begin) & (pushed_at < sampler.end)
    n_pushes = int(is_inside.sum())
    delivery_ms = 1e3 * (received[is_inside] - pushed_at[is_inside][:, None])
    cores = {name: spent_s / length for name, spent_s in sampler.cpu_s.items()}
    return {
        "seconds": length,
        "matches": n_matches,
        "matches_per_s": n_matches / length,
        "pushes": n_pushes,
        "pushes_per_s": n_pushes / length,
        "p50_ms": find_quantile_ms(waits, 0.5),
        "p95_ms": find_quantile_ms(waits, 0.95),
        "p99_ms": find_quantile_ms(waits, 0.99),
        "delivery_p95_ms": float(np.quantile(delivery_ms, 0.95)),
        "max_snapshots_behind": find_most_behind(pushed_at, received, **window),
        "web_cpu_cores": cores["web"],
        "web_cpu_us_per_delta": 1e6 * sampler.cpu_s["web"] / max(1, n_pushes * n_viewers),
        "rss_mb": sampler.rss[-1] / MB,
        "rss_growth_mb": find_growth(np.array(sampler.rss, float)) / MB,
        "gaps": states.n_gaps,
        "drops": states.n_drops,
        "cpu_cores": cores,
    }


def format_figures(figures: dict[str, Any]) -> str:
    lines = (
        ("viewers", "viewers", "1,000"),
        ("matches/s recorded meanwhile", "matches_per_s", ""),
        ("pushes/s", "pushes_per_s", "<= 2"),
        ("recorded to received, p50 ms", "p50_ms", ""),
        ("recorded to received, p95 ms", "p95_ms", "<= 1,000"),
        ("pushed to received, p95 ms", "delivery_p95_ms", ""),
        ("snapshots behind, at worst", "max_snapshots_behind", "<= 1"),
        ("web, cores", "web_cpu_cores", "<= 1"),
        ("web, CPU us a viewer's delta", "web_cpu_us_per_delta", ""),
        ("web, memory MB", "rss_mb", ""),
        ("its growth MB", "rss_growth_mb", "flat"),
        ("viewers that missed something", "gaps", ""),
        ("viewers dropped", "drops", "0"),
    )
    rows = [[title, figures[name], target] for title, name, target in lines]
    cores = [[name, used] for name, used in figures["cpu_cores"].items()]
    measured = format_table(["", "measured", "target"], rows)
    return f"{measured}\n\n{format_table(['where it goes', 'cores'], cores)}"


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


def main(arguments: Sequence[str]) -> int:
    parser = make_parser("live", "How soon, and at what cost, viewers see what was recorded.")
    parser.add_argument("--viewers", type=whole_number(1), default=1_000)
    parser.add_argument("--agents", type=whole_number(2), default=50)
    parser.add_argument("--seconds", type=number_of_seconds(1), default=600.0)
    options = parser.parse_args(arguments)
    try:
        require_files(options.viewers)
    except ValueError as error:
        parser.error(f"argument --viewers: {error}")
    with private_stack(nodes=1, slots=N_SLOTS, web=True) as stack:
        try:
            figures = measure(stack, options)
        except ConnectionError as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    write_report(format_figures(figures), figures, options.json)
    return 0
