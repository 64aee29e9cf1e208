"""Private stacks for benchmarks: started in a temporary folder, seen by this process's Django."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import django
import psutil

from evalsite.stack import Stack, start_stack


@contextmanager
def private_stack(
    *, nodes: int, slots: int, settings: Mapping[str, str] | None = None
) -> Iterator[Stack]:
    """Run a stack without pages and let this process's Django use it; once per process."""
    with (
        tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder,
        start_stack(Path(folder), nodes=nodes, slots=slots, settings=settings or {}) as stack,
    ):
        os.environ.update(stack.env)
        os.environ["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"
        django.setup()
        yield stack


def cpu_seconds(stack: Stack) -> dict[str, float]:
    """Return the CPU time that each program and its children have used so far, by name."""
    used: dict[str, float] = {}
    for name, pid in stack.pids().items():
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        times = [one.cpu_times() for one in family]
        used[name] = sum(spent.user + spent.system for spent in times)
        if len(family) > 1:
            used[name] = times[0].user + times[0].system
            used[f"{name}, players"] = sum(spent.user + spent.system for spent in times[1:])
    return used
