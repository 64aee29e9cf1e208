"""A head with something to show, for the browser tests and the picture of the README."""

import json
import math
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from gameservers.head.stats import N_POINTS, Point
from gameservers.head.tests.running import Running, free_port, hello, running_head, serving

SERVERS = (
    ("sim-1", {"cpu": 0.62, "memory": 0.31, "playing": 48, "episodes": 18_204}),
    ("sim-2", {"cpu": 0.58, "memory": 0.29, "playing": 51, "episodes": 17_950}),
)


def made_point(place: int, now: float) -> Point:
    wave = math.sin(place / 21)
    return Point(
        at=now - 2.0 * (N_POINTS - place),
        servers=2 + (place > 60),
        playing=99 + 20 * wave,
        episodes=130.0 * place,
        batches=60.0 * place,
        rows=1_400.0 * place + 900 * wave,
        p50_ms=6.1 + wave,
        p99_ms=14.2 + 4 * wave,
        cpu=0.6 + 0.15 * wave,
        memory=0.42,
    )


@contextmanager
def shown_head() -> Iterator[Running]:
    """Run a head with three healthy servers, one that nobody answers at and one that is refused."""
    with ExitStack() as stack:
        hellos = [json.dumps([hello(name, load=load)]) for name, load in SERVERS]
        addresses = [stack.enter_context(serving(partial(str, text))) for text in hellos]
        all_addresses = (*addresses, f"127.0.0.1:{free_port()}", "10.0.0.9:8081")
        head = stack.enter_context(running_head(addresses=all_addresses))
        now = time.time()
        head.head.stats.restore(made_point(place, now) for place in range(N_POINTS))
        load = {"cpu": 0.91, "memory": 0.55, "playing": 64, "episodes": 9_120}
        stack.enter_context(head.dial_in("showdown", game="leduc_poker", load=load))
        board, stats = head.head.board, head.head.stats
        board.n_episodes, stats.n_batches = 130.0 * N_POINTS, 60 * N_POINTS
        stats.n_rows, stats.n_requests = 1_400 * N_POINTS, 1_300 * N_POINTS
        for wait_s in (0.005, 0.006, 0.007, 0.014):
            stats.note_latency(wait_s)
        yield head
