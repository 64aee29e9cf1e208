"""Runs the same work on many seeds, on all cores, with a line of progress."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.pool import Pool
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def pool(n_processes: int) -> Iterator[Pool]:
    """Yield processes of one BLAS thread each; they end with the block, also after Ctrl-C."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        # Spawned, as the number of BLAS threads is read when NumPy is first imported.
        with get_context("spawn").Pool(n_processes, _ignore_interrupts) as made:
            yield made
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def each(
    workers: Pool, work: Callable[[Item], Found], items: Sequence[Item], title: str
) -> list[Found]:
    """Return what the work finds for each item, in order; show how far it is."""
    found = []
    for one in workers.imap(work, items):
        found.append(one)
        _show(f"{title}: {len(found):,} of {len(items):,}")
    _show("")
    return found


def _show(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
