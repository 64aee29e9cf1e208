"""The commands of `./run showdown`."""

import argparse
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from launcher.addresses import HIGHEST_PORT, LOOPBACK, why_unusable
from launcher.errors import SetupError
from launcher.folders import require_writable, var_folder
from launcher.foreground import Interruption
from launcher.options import whole_number
from launcher.showdown.home import make_home, require_node, write_config
from launcher.showdown.server import (
    ServerDiedError,
    describe_end,
    launch,
    log_path,
    measure_cost,
    read_record,
    record_path,
    server_url,
    stop,
    wait_until_it_answers,
    why_silent,
)
from launcher.showdown.teams import add_teams_command
from launcher.tools import find_tool

FAILED: Final = 1
DEFAULT_PORT: Final = 8000
MAX_SIMULATORS: Final = 64
STATUS_S: Final = 5.0
MINUTE_S: Final = 60


def add_showdown_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare `showdown` and its options."""
    showdown = commands.add_parser("showdown", help="the server of Pokemon Showdown, on loopback")
    names = "start|stop|status|serve|teams"
    acts = showdown.add_subparsers(dest="act", required=True, metavar=names)
    start = acts.add_parser("start", help="start it and return once it answers")
    start.add_argument(
        "--port",
        type=whole_number(1, HIGHEST_PORT),
        default=DEFAULT_PORT,
        metavar="P",
        help=f"({DEFAULT_PORT})",
    )
    start.add_argument(
        "--simulators",
        type=whole_number(1, MAX_SIMULATORS),
        default=1,
        metavar="N",
        help="processes that play battles (1)",
    )
    start.set_defaults(run=start_server)
    add_teams_command(acts)
    for name, act, text in (
        ("stop", stop_server, "end it"),
        ("status", show_server, "say whether it answers, where, since when, and what it costs"),
    ):
        acts.add_parser(name, help=text).set_defaults(run=act)
    # Its options are those of the program that it becomes (launcher.cli).
    text = "play battles on such a server, as a game server: ./run showdown serve --help"
    acts.add_parser("serve", help=text, add_help=False)


def start_server(options: argparse.Namespace) -> int:
    """Start the server and return once it answers; 1 where one runs already or it ends."""
    var = var_folder(os.environ)
    tool, node = find_tool("showdown", var), require_node()
    require_writable(var)
    with _hold_lock(var):
        if (running := read_record(var)) and running.process:
            print(
                f"a server of Pokemon Showdown runs here already (pid {running.pid}, port "
                f"{running.port}): ./run showdown stop ends it"
            )
            return FAILED
        if reason := why_unusable(LOOPBACK, options.port):
            raise SetupError(
                f"port {options.port} {reason}: end it, or choose another port with --port"
            )
        home = var / "showdown" / "server"
        make_home(tool, home)
        write_config(home, port=options.port, simulators=options.simulators)
        return _start_and_wait(node, home, var, options.port)


def _start_and_wait(node: str, home: Path, var: Path, port: int) -> int:
    interruption = Interruption()  # SIGTERM, too, is a KeyboardInterrupt from here on
    # Between its start and its record it would be lost.
    interruption.is_raising = False
    running = launch(node, home, var, port=port)
    try:
        interruption.is_raising = True
        if interruption.is_asked:
            raise KeyboardInterrupt
        print(f"Starting Pokemon Showdown at {LOOPBACK}:{port} ...", flush=True)
        wait_until_it_answers(running, var, lambda text: print(text, flush=True))
    except ServerDiedError as error:
        record_path(var).unlink(missing_ok=True)
        print(error, file=sys.stderr)
        return FAILED
    except BaseException:
        # Nobody has been told that it runs, so nobody would stop it.
        stop(running)
        record_path(var).unlink(missing_ok=True)
        raise
    print(f"It answers at {server_url(port)}, log: {log_path(var)}")
    print("./run showdown stop ends it.")
    return 0


def stop_server(_: argparse.Namespace) -> int:
    """End the server of this data folder."""
    var = var_folder(os.environ)
    running = read_record(var)
    if running is None or not stop(running):
        print(f"no server of Pokemon Showdown runs in {var}")
    else:
        print(f"stopped (pid {running.pid})")
    record_path(var).unlink(missing_ok=True)
    return 0


def show_server(_: argparse.Namespace) -> int:
    """Print whether the server answers, and what it costs; 1 where it does not."""
    var = var_folder(os.environ)
    running = read_record(var)
    if running is None:
        print(f"no server of Pokemon Showdown runs in {var}: ./run showdown start")
        return FAILED
    if (main := running.process) is None:
        print(describe_end(var, f"pid {running.pid} is gone"))
        return FAILED
    problem = why_silent(running.port, limit_s=STATUS_S)
    state = f"does not answer: {problem}" if problem else "answers"
    born_at = datetime.fromtimestamp(running.born_at, tz=UTC)
    minutes = (time.time() - running.born_at) / MINUTE_S
    n_processes, memory, cpu_s = measure_cost(main)
    print(f"Pokemon Showdown {state} at {server_url(running.port)}")
    print(f"since   {born_at:%Y-%m-%d %H:%M:%S} UTC ({minutes:.0f} min), pid {running.pid}")
    print(f"costs   {n_processes} processes, {memory:.0f} MiB, {cpu_s:.0f} s of CPU so far")
    print(f"log     {log_path(var)}")
    return FAILED if problem else 0


@contextmanager
def _hold_lock(var: Path) -> Iterator[None]:
    """Let nobody else start a server here meanwhile. Raises SetupError where somebody does."""
    folder = record_path(var).parent
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SetupError(f"another ./run showdown start is at work in {var}") from error
        yield
