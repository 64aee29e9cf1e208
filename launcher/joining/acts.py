"""The acts of `./run node`: join, leave, start again, show."""

import argparse
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from arena.queues import play_queue
from launcher.errors import SetupError
from launcher.folders import read_variables, require_writable, var_folder, write_variables
from launcher.joining.checks import (
    INVITE,
    await_servers,
    check_options,
    read_own_settings,
    refuse_loopback,
    write_plugins,
)
from launcher.joining.server import JoinAnswer, JoinServer, ShutOutError
from launcher.programs import ONE_THREAD, Program, worker
from launcher.supervision import Supervisor, find_leftovers, kill_leftovers

UP_S: Final = 120.0
LOOK_S: Final = 0.5
STOP_S: Final = 10
NOTICE: Final = "EVALSITE_NOTICE_S"
TOLD: Final = "node.env"
"""What the node's process is told, and beside it the address by which the clone leaves."""
URL, NAME, KEY = "EVALSITE_JOINED", "EVALSITE_NODE", "EVALSITE_NODE_KEY"


def join(options: argparse.Namespace) -> int:
    """Join, start the node and wait until the server has heard of it. Raises SetupError."""
    check_options(options.join, options.token)
    own = read_own_settings(os.environ, options.slots)
    folder, server = _find_node_folder(), JoinServer(options.join)
    _refuse_strange(folder)
    with _alone(folder):
        _refuse_joined(folder)
        try:
            joined = server.join(options.token)
            _begin_node(folder, server, joined, own)
        except BaseException:  # Ctrl-C, too: nothing stays half-started
            if not (folder / TOLD).exists():
                shutil.rmtree(folder, ignore_errors=True)  # it may be gone already
            raise
    logs = folder / "log"
    print(f"{joined.name} plays for {server.url}; logs in {logs}; ./run node --leave ends it")
    return 0


def _begin_node(
    folder: Path, server: JoinServer, joined: JoinAnswer, own: Mapping[str, str]
) -> None:
    """Start the node that was let in, or give it back."""
    variables = {**joined.environment, **own, URL: server.url}
    try:
        # Before anything else is done: from now on ./run node --leave undoes it.
        write_variables(folder / TOLD, variables)
        refuse_loopback(server.url, joined.environment)
        await_servers(joined.environment)
        plugins = write_plugins(folder / "plugins", joined.plugins)
        write_variables(folder / TOLD, {**variables, "EVALSITE_PLUGINS": plugins})
        _start_node(folder, server)
    except (SetupError, OSError) as error:
        undone = _give_back(folder, server, variables)
        raise SetupError(f"{_end_sentence(error)} {undone}") from None
    except BaseException:
        print(_give_back(folder, server, variables), file=sys.stderr)
        raise


def leave(_: argparse.Namespace) -> int:
    """End the node, have it shut out, and remove what it wrote. Raises SetupError."""
    folder = _find_node_folder()
    variables = _read_told(folder)
    with _alone(folder):
        _stop_node(folder, variables)
        try:
            JoinServer(variables[URL]).leave(variables[NAME], variables[KEY])
        except ShutOutError:
            print(f"{variables[NAME]} was shut out at {variables[URL]} already")
        except SetupError as error:
            raise SetupError(
                f"its processes have ended, but it is still admitted: {_end_sentence(error)} Type "
                f"it again, or on the server ./run manage node revoke {variables[NAME]} and here "
                f"rm -r {folder}"
            ) from None
        shutil.rmtree(folder)
    print(f"{variables[NAME]} has left {variables[URL]}")
    return 0


def start(_: argparse.Namespace) -> int:
    """Start a node that has joined and does not run, as after a restart of its machine."""
    folder = _find_node_folder()
    variables = _read_told(folder)
    with _alone(folder):
        if Supervisor(folder).pid() is not None:
            raise SetupError(f"{variables[NAME]} runs already: ./run node shows it")
        _stop_node(folder, variables)  # what a killed supervisor has left
        _start_node(folder, JoinServer(variables[URL]))
    print(f"{variables[NAME]} plays for {variables[URL]}")
    return 0


def show(_: argparse.Namespace) -> int:
    """Say whether this clone is a node; 1 when it is none, or does not run."""
    folder = _find_node_folder()
    if not (folder / TOLD).exists():
        print("this clone is no node: ./run node --join URL --token T makes it one")
        return 1
    variables, supervisor = _read_told(folder), Supervisor(folder)
    states = supervisor.states() if supervisor.pid() is not None else []
    how = ", ".join(state.state.lower() for state in states)
    how = how or "not running, ./run node --start starts it"
    print(f"{variables[NAME]} of {variables[URL]}: {how}")
    return 0 if states else 1


def _find_node_folder() -> Path:
    return var_folder(os.environ) / "node"


def _read_told(folder: Path) -> dict[str, str]:
    variables = read_variables(folder / TOLD)
    if not variables.keys() >= {URL, NAME, KEY}:
        raise SetupError(f"this clone is no node: {folder / TOLD} is not there")
    return variables


def _refuse_strange(folder: Path) -> None:
    """Raise SetupError where the folder holds what is of no node: it will be removed as a whole."""
    # A join that was killed early may have left the folder of its logs.
    if not folder.is_dir() or (folder / TOLD).exists():
        return
    for path in (*folder.iterdir(), *(folder / "log").glob("*")):
        if path != folder / "log":
            raise SetupError(
                f"{path} is of no node, and ./run node --leave would remove it: move it away, or "
                "name another data folder with EVALSITE_VAR"
            )


def _refuse_joined(folder: Path) -> None:
    if (folder / TOLD).exists():
        variables = _read_told(folder)
        raise SetupError(
            f"this clone is the node {variables[NAME]} of {variables[URL]} already: "
            "./run node --leave first"
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one `./run node` at a time change the node of this clone. Raises SetupError."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"the data folder {folder.parent} cannot be written ({error.strerror}): name another "
            "with EVALSITE_VAR"
        ) from None
    require_writable(folder)
    # Beside the folder, which may be removed meanwhile; the lock goes with the process.
    path = folder.with_name("node.lock")
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupError("another ./run node is under way in this clone: wait for it") from None
        try:
            yield
        finally:
            if not folder.exists():
                path.unlink()
                with suppress(OSError):  # a stack has its data there
                    folder.parent.rmdir()


def _start_node(folder: Path, server: JoinServer) -> None:
    """Start the node and wait until the server has heard of it. Raises SetupError."""
    variables = read_variables(folder / TOLD)
    name, key = variables[NAME], variables[KEY]
    before = server.last_seen(name, key)
    (folder / "cache").mkdir(exist_ok=True)
    own = {variable: value for variable, value in variables.items() if variable != URL}
    environment = {**ONE_THREAD, **own, "EVALSITE_CACHE": str(folder / "cache")}
    command = worker("workers", name, play_queue(name), ("-P", "solo"))
    program = Program(name, command, environment, stop_wait_s=_stop_limit(variables))
    Supervisor(folder).start([program], at_once=[name])
    until, pids = time.monotonic() + UP_S, set[int]()
    while _last_seen(server, variables, before) == before:
        pids |= {state.pid for state in Supervisor(folder).states() if state.pid}
        # Supervisor starts again what has ended: one that comes up has one number.
        if len(pids) > 1 or time.monotonic() > until:
            how = "ends at once" if len(pids) > 1 else f"is not heard of within {UP_S:g} s"
            raise SetupError(f"the node {how}: {_last_line(folder / 'log' / f'{name}.log')}")
        time.sleep(LOOK_S)


def _last_seen(server: JoinServer, variables: Mapping[str, str], before: str) -> str:
    """Return when the server heard of the node last; as before where it does not answer now."""
    try:
        return server.last_seen(variables[NAME], variables[KEY])
    except ShutOutError:
        raise
    except SetupError:
        return before


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    return next(
        (line.strip()[:300] for line in reversed(lines) if line.strip()), "its log is empty"
    )


def _stop_limit(variables: Mapping[str, str]) -> int:
    """Return how many seconds a node may take to hand back what it holds, and to end."""
    try:
        return max(STOP_S, int(float(variables.get(NOTICE, "5"))) + 5)
    except (ValueError, OverflowError):  # the node refuses it, too
        return STOP_S


def _stop_node(folder: Path, variables: Mapping[str, str]) -> None:
    supervisor, limit_s = Supervisor(folder), _stop_limit(variables) + 1.0
    if supervisor.pid() is not None:
        names = {state.name for state in supervisor.states()}
        supervisor.stop_programs(names, limit_s=limit_s)
        supervisor.shut_down(limit_s=limit_s)
    if find_leftovers(folder):
        kill_leftovers(folder)


def _give_back(folder: Path, server: JoinServer, variables: Mapping[str, str]) -> str:
    """Undo what was begun; return what that means for who tries again."""
    _stop_node(folder, variables)
    try:
        server.leave(variables[NAME], variables[KEY])
        undone = f"{variables[NAME]} is given back: {INVITE} makes a new token"
    except SetupError as error:
        undone = f"It stays admitted ({error}): there, ./run manage node revoke {variables[NAME]}"
    shutil.rmtree(folder)
    return undone


def _end_sentence(error: Exception) -> str:
    """Return what an error says, for another sentence to follow."""
    text = str(error)
    return text if text.endswith((".", "?")) else f"{text}."
