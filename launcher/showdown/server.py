"""A running server of Pokemon Showdown: its record in the data folder, its life and its end."""

import json
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from launcher.addresses import LOOPBACK
from launcher.folders import write_private

ANSWER_S: Final = 10.0
"""Its first answer after a start lists all formats, for which it reads its whole data."""
LOOK_EVERY_S: Final = 0.2
STOP_S: Final = 10.0
# Of its log, told when it dies.
LAST_LINES: Final = 8
SAME_MOMENT_S: Final = 1.0


class ServerDiedError(Exception):
    """The server ended while it was starting; the message has the last lines of its log."""


@dataclass(frozen=True)
class Running:
    """A server that was started here; born_at: of its process, since a pid comes again."""

    pid: int
    port: int
    born_at: float

    @property
    def process(self) -> psutil.Process | None:
        """Its process, None once it is gone."""
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            is_same = abs(process.create_time() - self.born_at) < SAME_MOMENT_S
            if is_same and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None


def record_path(var: Path) -> Path:
    """Return the file that says which server runs here."""
    return var / "showdown" / "server.json"


def log_path(var: Path) -> Path:
    """Return where the server's output goes."""
    return var / "log" / "showdown.log"


def read_record(var: Path) -> Running | None:
    """Return the server that was started last and not stopped, None without one."""
    try:
        return Running(**json.loads(record_path(var).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def launch(node: str, home: Path, var: Path, *, port: int) -> Running:
    """Start the server, in a session of its own so that Ctrl-C in this terminal is not for it."""
    command = [node, "pokemon-showdown", "start", "--skip-build", "--no-security", str(port)]
    with log_path(var).open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with suppress(psutil.Error):
        running = Running(process.pid, port, psutil.Process(process.pid).create_time())
        write_private(record_path(var), json.dumps(asdict(running)))
        return running
    raise ServerDiedError(describe_end(var, "it ended at once"))


def wait_until_it_answers(running: Running, var: Path, say: Callable[[str], None]) -> None:
    """Return once somebody could log in. Raises ServerDiedError where it ends before."""
    began = said_at = time.monotonic()
    while problem := why_silent(running.port, limit_s=ANSWER_S):
        if running.process is None:
            lived_s = time.monotonic() - began
            raise ServerDiedError(describe_end(var, f"it ended after {lived_s:.0f} s"))
        if time.monotonic() - said_at >= ANSWER_S:
            said_at = time.monotonic()
            say(f"waits for the server ({problem})")
        time.sleep(LOOK_EVERY_S)


def why_silent(port: int, *, limit_s: float) -> str:
    """Return why nobody could log in at this port of loopback; empty where one could."""
    try:
        url = server_url(port)
        # A proxy that our environment names would look for the server on its own machine.
        with connect(url, open_timeout=limit_s, close_timeout=1, proxy=None) as socket:
            until = time.monotonic() + limit_s
            # A login begins with the server's challenge: what comes before it says little.
            while "|challstr|" not in str(socket.recv(timeout=until - time.monotonic())):
                pass
    except TimeoutError:
        return f"it has not answered within {limit_s:g} s"
    except (OSError, WebSocketException) as error:
        return str(error)
    return ""


def server_url(port: int) -> str:
    """Return the address at which clients dial the server."""
    return f"ws://{LOOPBACK}:{port}/showdown/websocket"


def stop(running: Running) -> bool:
    """End a server with all of its processes; say whether it ran."""
    if (main := running.process) is None:
        return False
    family = [main, *main.children(recursive=True)]
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, left = psutil.wait_procs(family, timeout=STOP_S)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=STOP_S)
    return True


def measure_cost(main: psutil.Process) -> tuple[int, float, float]:
    """Return how many processes a server has, their memory in MiB and their seconds of CPU."""
    n_processes, memory, cpu_s = 0, 0, 0.0
    for process in (main, *main.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            memory += process.memory_info().rss
            cpu_s += times.user + times.system
            n_processes += 1
    return n_processes, memory / 2**20, cpu_s


def describe_end(var: Path, how: str) -> str:
    """Return how a server ended, with the last lines of its log."""
    log = log_path(var)
    lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
    last = [line for line in lines if line.strip()][-LAST_LINES:]
    text = "\n".join(f"  {line:.200}" for line in last) or "  (it has written nothing)"
    return f"the server of Pokemon Showdown does not run: {how}. The end of {log}:\n{text}"
