"""Private stacks for benchmarks: started in a temporary folder, seen by this process's Django."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Unpack

import django
import psutil

from launcher.stack import Shape, Stack, start_stack


@contextmanager
def private_stack(**shape: Unpack[Shape]) -> Iterator[Stack]:
    """Run a stack, without pages by default, and let this process's Django use it; once each."""
    with (
        tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder,
        start_stack(Path(folder), **shape) as stack,
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
