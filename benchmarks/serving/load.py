"""Clients in a closed loop: each is a process that asks, waits for the answer and asks again.

One pool serves every way of answering, so that all of them meet the same loop. No torch here.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple, Protocol

import numpy as np
import psutil

from arena.policies.network_policy import FloatBatch
from benchmarks.serving.processes import context

LEAD_S = 0.05


class Asker(Protocol):
    """One client's connection to a server."""

    def ask(self, observations: FloatBatch) -> FloatBatch:
        """Return the logits [B, A] of a block."""
        ...


Maker = Callable[[int], Asker]
"""Connects the client of that number; it is sent to a process, so it must pickle."""


class Load(NamedTuple):
    """What a client does: connect, warm up and ask until the window ends."""

    key: str
    make: Maker
    start_at: float
    end_at: float


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
    served_cpus: float
    """CPU seconds a second of the processes that served."""
    forwards: int
    rows: int

    @property
    def requests_per_s(self) -> float:
        """Return the requests answered a second, of all clients together."""
        return sum(len(tally.latencies) / tally.elapsed_s for tally in self.tallies)

    @property
    def observations_per_s(self) -> float:
        """Return the rows answered a second."""
        return self.requests_per_s * len(self.tallies[0].observations)

    @property
    def latencies(self) -> list[float]:
        """Return the seconds of every request."""
        return [one for tally in self.tallies for one in tally.latencies]

    @property
    def cpu_us_per_observation(self) -> float:
        """Return the CPU time of all processes per row."""
        clients = sum(tally.cpu_s / tally.elapsed_s for tally in self.tallies)
        return 1e6 * (self.served_cpus + clients) / self.observations_per_s


def observations_of(client: int, shape: Sequence[int]) -> FloatBatch:
    """Return the block that a client asks, the same in every run."""
    return np.random.default_rng(client).standard_normal(shape, dtype=np.float32)


def ask_in_a_loop(asker: Asker, load: Load, observations: FloatBatch) -> Tally:
    """Ask until the window ends; what is asked before it begins warms up and is not counted."""
    clock = time.monotonic
    answer = asker.ask(observations)
    while (began := clock()) < load.start_at:
        answer = asker.ask(observations)
    first, cpu_s, latencies = began, time.process_time(), list[float]()
    while began < load.end_at or not latencies:
        answer = asker.ask(observations)
        ended = clock()
        latencies.append(ended - began)
        began = ended
    return Tally(latencies, began - first, time.process_time() - cpu_s, observations, answer)


def _client(client: int, orders: Connection) -> None:
    askers: dict[str, Asker] = {}
    while True:
        try:
            load, shape = orders.recv()
        except EOFError:
            return
        if load.key not in askers:
            askers[load.key] = load.make(client)
        orders.send(ask_in_a_loop(askers[load.key], load, observations_of(client, shape)))


class Served(NamedTuple):
    """What a window reads of a server: its processes, and the forwards and rows so far."""

    pids: Callable[[], Iterable[int]] = tuple
    counts: Callable[[], tuple[int, int]] = lambda: (0, 0)

    def cpu_s(self) -> float:
        """Return the CPU time so far of its processes and what they started."""
        spent = 0.0
        for pid in self.pids():
            one = psutil.Process(pid)
            for member in (one, *one.children(recursive=True)):
                times = member.cpu_times()
                spent += times.user + times.system
        return spent

    def beside(self, pids: Iterable[int]) -> "Served":
        """Return the same with more processes whose CPU time counts."""
        others = tuple(pids)
        return self._replace(pids=lambda: (*self.pids(), *others))


class Pool:
    """Client processes that live as long as the benchmark, so that none is started in a window."""

    def __init__(self, size: int) -> None:
        forking = context()
        self._orders, self._clients = list[Connection](), []
        for number in range(size):
            ours, theirs = forking.Pipe()
            one = forking.Process(target=_client, args=(number, theirs), daemon=True)
            one.start()
            theirs.close()
            self._orders.append(ours)
            self._clients.append(one)

    def run(
        self,
        make: Maker,
        shapes: Sequence[tuple[int, ...]],
        *,
        key: str,
        served: Served,
        warm_s: float,
        window_s: float,
    ) -> Window:
        """Let one client per shape ask in a closed loop; return what was seen in the window."""
        connect = Load(key, make, start_at=0, end_at=0)
        self._order(connect, shapes)
        self._tallies(len(shapes))
        start_at = time.monotonic() + LEAD_S + warm_s
        self._order(connect._replace(start_at=start_at, end_at=start_at + window_s), shapes)
        _sleep_until(start_at)
        began, before, counted = time.monotonic(), served.cpu_s(), served.counts()
        _sleep_until(start_at + window_s)
        ended, after, now = time.monotonic(), served.cpu_s(), served.counts()
        return Window(
            self._tallies(len(shapes)),
            served_cpus=(after - before) / (ended - began),
            forwards=now[0] - counted[0],
            rows=now[1] - counted[1],
        )

    def _order(self, load: Load, shapes: Sequence[tuple[int, ...]]) -> None:
        for orders, shape in zip(self._orders, shapes, strict=False):
            orders.send((load, shape))

    def _tallies(self, n_clients: int) -> list[Tally]:
        return [orders.recv() for orders in self._orders[:n_clients]]

    def close(self) -> None:
        """End the clients."""
        for orders in self._orders:
            orders.close()
        for one in self._clients:
            one.join()


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
