"""The bar: a server on ZMQ that merges all that waits into one forward and never waits for more."""

import ctypes
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import zmq

from benchmarks.serving.forward import forwards
from benchmarks.serving.load import Served
from benchmarks.serving.processes import context

MAX_REQUESTS = 1024


@contextmanager
def zmq_server(paths: Mapping[str, Path]) -> Iterator[tuple[str, Served]]:
    """Run the server in a process of its own; yield its address and what to read of it."""
    forking = context()
    counts: Any = forking.RawArray(ctypes.c_longlong, 2)
    ours, theirs = forking.Pipe()
    server = forking.Process(target=_serve, args=(paths, counts, theirs), daemon=True)
    server.start()
    theirs.close()
    try:
        yield ours.recv(), Served(lambda: (server.pid or 0,), lambda: (counts[0], counts[1]))
    finally:
        server.kill()
        server.join()


def _serve(paths: Mapping[str, Path], counts: Any, ready: Connection) -> None:
    networks = {name.encode(): one for name, one in forwards(paths).items()}
    router: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    ready.send(f"tcp://127.0.0.1:{port}")
    while True:
        waiting: dict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
        for client, name, packed in _all_that_waits(router):
            waiting[name].append((client, packed))
        for name, requests in waiting.items():
            merged = bytearray().join([packed for _, packed in requests])
            answers = networks[name].of_bytes(merged)
            counts[0] += 1
            counts[1] += len(answers)
            _answer(router, requests, answers.tobytes(), n_asked=len(merged))


def _all_that_waits(router: zmq.Socket[bytes]) -> Iterator[list[bytes]]:
    """Wait for one request, then take every other that is there."""
    yield router.recv_multipart()
    try:
        for _ in range(MAX_REQUESTS - 1):
            yield router.recv_multipart(zmq.NOBLOCK)
    except zmq.Again:
        return


def _answer(
    router: zmq.Socket[bytes],
    requests: Sequence[tuple[bytes, bytes]],
    answers: bytes,
    *,
    n_asked: int,
) -> None:
    """Send every client its part of the answers: as large a part as it had of the question."""
    begin = 0
    for client, packed in requests:
        end = begin + len(packed) * len(answers) // n_asked
        router.send_multipart((client, answers[begin:end]))
        begin = end
