"""Clients in a closed loop: each is a process that asks, waits for the answer and asks again.

One pool serves every way of answering, so that all of them meet the same loop.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from typing import Any, NamedTuple

import numpy as np
import psutil

from arena.policies.network_policy import FloatBatch
from benchmarks.stacks import add_cpu_seconds

LEAD_S = 0.05
PRELOADED = ["benchmarks.serving.servers", "benchmarks.serving.battles"]

# Returns the logits [B, A] of a block.
Asker = Callable[[FloatBatch], FloatBatch]
# Connects a client; it is sent to a process, so it must pickle.
Maker = Callable[[], Asker]
# Of the process of a client: it connects once to each way.
ASKERS: dict[str, Asker] = {}


def make_context() -> ForkServerContext:
    """Return what forks processes from a server that has imported what they need, once.

    Not from the benchmark itself: it has threads and connections. A thread of torch or a connection
    never crosses the fork either: both are made by the process that uses them.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


class Pool:
    """Processes that live as long as the benchmark, so that none is started in a window."""

    def __init__(self, size: int) -> None:
        context = make_context()
        self._orders, self._processes = list[Connection](), []
        for _ in range(size):
            own_end, child_end = context.Pipe()
            process = context.Process(target=serve_orders, args=(child_end,), daemon=True)
            process.start()
            child_end.close()
            self._orders.append(own_end)
            self._processes.append(process)

    def begin(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> int:
        """Call the function in one process for each of the arguments; return how many there are."""
        calls = list(zip(self._orders, arguments, strict=False))
        for orders, own in calls:
            orders.send((function, own))
        return len(calls)

    def end(self, n: int) -> list[Any]:
        """Return what the first n processes have returned."""
        return [orders.recv() for orders in self._orders[:n]]

    def close(self) -> None:
        for orders in self._orders:
            orders.close()
        for process in self._processes:
            process.join()


def serve_orders(orders: Connection) -> None:
    while True:
        try:
            function, arguments = orders.recv()
        except EOFError:
            return
        orders.send(function(*arguments))


class Tally(NamedTuple):
    """What a client saw in the window: seconds of each request, in all, and of its own CPU."""

    latencies: list[float]
    elapsed_s: float
    cpu_s: float
    observations: FloatBatch
    answer: FloatBatch


class Window(NamedTuple):
    """What all clients and the processes that served them saw in one window."""

    tallies: list[Tally]
    # CPU seconds a second of the processes that served.
    served_cpus: float
    forwards: int
    rows: int

    @property
    def requests_per_s(self) -> float:
        return sum(len(tally.latencies) / tally.elapsed_s for tally in self.tallies)

    @property
    def observations_per_s(self) -> float:
        return self.requests_per_s * len(self.tallies[0].observations)

    @property
    def cpu_us_per_observation(self) -> float:
        clients = sum(tally.cpu_s / tally.elapsed_s for tally in self.tallies)
        return 1e6 * (self.served_cpus + clients) / self.observations_per_s

    def find_percentile_ms(self, percent: float) -> float:
        """Return within how many milliseconds so many percent of the requests were answered."""
        latencies = [latency for tally in self.tallies for latency in tally.latencies]
        return 1000 * float(np.percentile(latencies, percent))


def ask_in_a_loop(
    client: int, shape: Sequence[int], key: str, make: Maker, start_at: float, end_at: float
) -> Tally:
    """Ask until the window ends; what is asked before it begins warms up and is not counted."""
    clock, asker = time.monotonic, ASKERS.get(key)
    if asker is None:
        asker = ASKERS[key] = make()
    # The block of a client is the same in every run.
    observations = np.random.default_rng(client).standard_normal(shape, dtype=np.float32)
    # The first answer may take long, as a model is loaded or compiled for it.
    answer = asker(observations)
    while (began := clock()) < start_at:
        answer = asker(observations)
    first, cpu_s, latencies = began, time.process_time(), list[float]()
    while began < end_at or not latencies:
        answer = asker(observations)
        ended = clock()
        latencies.append(ended - began)
        began = ended
    return Tally(latencies, began - first, time.process_time() - cpu_s, observations, answer)


class Served(NamedTuple):
    """What a window reads of a server: its processes, and the forwards and rows so far."""

    pids: Callable[[], Iterable[int]] = tuple
    counts: Callable[[], tuple[int, int]] = lambda: (0, 0)

    def cpu_s(self) -> float:
        """Return the CPU time so far of its processes and what they started."""
        programs = [psutil.Process(pid) for pid in self.pids()]
        children = [child for program in programs for child in program.children(recursive=True)]
        return add_cpu_seconds([*programs, *children])


def measure_window(
    pool: Pool,
    make: Maker,
    shapes: Sequence[Sequence[int]],
    *,
    key: str,
    served: Served,
    warm_s: float,
    window_s: float,
) -> Window:
    """Let one client per shape ask in a closed loop; return what was seen in the window."""

    def begin(start_at: float, end_at: float) -> int:
        clients = enumerate(shapes)
        return pool.begin(
            ask_in_a_loop, ((*client, key, make, start_at, end_at) for client in clients)
        )

    pool.end(begin(0, 0))
    # All begin at one moment: monotonic clocks are one on a machine.
    start_at = time.monotonic() + LEAD_S + warm_s
    n_clients = begin(start_at, start_at + window_s)
    time.sleep(max(0.0, start_at - time.monotonic()))
    began, cpu_s, (forwards, rows) = time.monotonic(), served.cpu_s(), served.counts()
    time.sleep(max(0.0, start_at + window_s - time.monotonic()))
    ended, spent_s, (all_forwards, all_rows) = time.monotonic(), served.cpu_s(), served.counts()
    return Window(
        pool.end(n_clients),
        served_cpus=(spent_s - cpu_s) / (ended - began),
        forwards=all_forwards - forwards,
        rows=all_rows - rows,
    )
