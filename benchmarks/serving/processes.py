"""Processes of the benchmark: forked from a server that has imported what they need, once.

They are not forked from the benchmark itself: it has threads and connections. A thread of torch or
a connection never crosses the fork either: both are made by the process that uses them.
"""

from multiprocessing import get_context
from multiprocessing.context import ForkServerContext

_PRELOADED = ["benchmarks.serving.copies", "benchmarks.serving.ours", "benchmarks.serving.battles"]


def context() -> ForkServerContext:
    """Return what starts processes and makes their pipes."""
    found = get_context("forkserver")
    found.set_forkserver_preload(_PRELOADED)
    return found
