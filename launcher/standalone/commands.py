"""start, stop and status of a server that runs alone."""

import argparse
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from launcher.addresses import HIGHEST_PORT, LOOPBACK, why_unusable
from launcher.errors import SetupError
from launcher.folders import require_writable, var_folder
from launcher.foreground import Interruption
from launcher.options import whole_number
from launcher.standalone.service import (
    Launch,
    ServerDiedError,
    Service,
    launch,
    measure_cost,
    stop,
    wait_until_it_answers,
)

FAILED: Final = 1
STATUS_S: Final = 5.0
MINUTE_S: Final = 60

Acts: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_port(start: argparse.ArgumentParser, default: int) -> None:
    """Declare --port."""
    read_port = whole_number(1, HIGHEST_PORT)
    start.add_argument("--port", type=read_port, default=default, metavar="P", help=f"({default})")


def add_stop_and_status(acts: Acts, service: Service) -> None:
    """Declare the commands that need no options."""

    def stop_it(_: argparse.Namespace) -> int:
        return stop_server(service)

    def show_it(_: argparse.Namespace) -> int:
        return show_server(service)

    acts.add_parser("stop", help="end it").set_defaults(run=stop_it)
    text = "say whether it answers, where, since when, and what it costs"
    acts.add_parser("status", help=text).set_defaults(run=show_it)


def start_server(service: Service, port: int, prepare: Callable[[Path], Launch]) -> int:
    """Start a server and return once it answers; 1 where one runs already or it ends.

    prepare: makes ready, in the data folder, what is started; only called where none runs.
    """
    var = var_folder(os.environ)
    require_writable(var)
    with _hold_lock(service, var):
        if (running := service.read_record(var)) and running.process:
            print(
                f"a server of {service.title} runs here already (pid {running.pid}, port "
                f"{running.port}): ./run {service.name} stop ends it"
            )
            return FAILED
        if reason := why_unusable(LOOPBACK, port):
            raise SetupError(f"port {port} {reason}: end it, or choose another port with --port")
        return _start_and_wait(service, var, prepare(var))


def _start_and_wait(service: Service, var: Path, program: Launch) -> int:
    interruption = Interruption()  # SIGTERM, too, is a KeyboardInterrupt from here on
    # Between its start and its record it would be lost.
    interruption.is_raising = False
    running = launch(service, var, program)
    try:
        interruption.is_raising = True
        if interruption.is_asked:
            raise KeyboardInterrupt
        print(f"Starting {service.title} at {LOOPBACK}:{program.port} ...", flush=True)
        wait_until_it_answers(service, running, var, lambda text: print(text, flush=True))
    except ServerDiedError as error:
        service.forget(var)
        print(error, file=sys.stderr)
        return FAILED
    except BaseException:
        # Nobody has been told that it runs, so nobody would stop it.
        stop(running)
        service.forget(var)
        raise
    print(f"It answers at {service.url(program.port)}, log: {service.log_path(var)}")
    print(f"./run {service.name} stop ends it.")
    return 0


def stop_server(service: Service) -> int:
    """End the server of this data folder."""
    var = var_folder(os.environ)
    running = service.read_record(var)
    if running is None or not stop(running):
        print(f"no server of {service.title} runs in {var}")
    else:
        print(f"stopped (pid {running.pid})")
    service.forget(var)
    return 0


def show_server(service: Service) -> int:
    """Print whether the server answers, and what it costs; 1 where it does not."""
    var = var_folder(os.environ)
    running = service.read_record(var)
    if running is None:
        print(f"no server of {service.title} runs in {var}: ./run {service.name} start")
        return FAILED
    if (main := running.process) is None:
        print(service.describe_end(var, f"pid {running.pid} is gone"))
        return FAILED
    problem = service.why_silent(running.port, limit_s=STATUS_S)
    state = f"does not answer: {problem}" if problem else "answers"
    born_at = datetime.fromtimestamp(running.born_at, tz=UTC)
    minutes = (time.time() - running.born_at) / MINUTE_S
    n_processes, memory, cpu_s = measure_cost(main)
    print(f"{service.title} {state} at {service.url(running.port)}")
    print(f"since   {born_at:%Y-%m-%d %H:%M:%S} UTC ({minutes:.0f} min), pid {running.pid}")
    print(f"costs   {n_processes} processes, {memory:.0f} MiB, {cpu_s:.0f} s of CPU so far")
    print(f"log     {service.log_path(var)}")
    return FAILED if problem else 0


@contextmanager
def _hold_lock(service: Service, var: Path) -> Iterator[None]:
    """Let nobody else start a server here meanwhile. Raises SetupError where somebody does."""
    folder = service.record_path(var).parent
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SetupError(f"another ./run {service.name} start is at work in {var}") from error
        yield
