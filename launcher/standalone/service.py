"""A server that was started here: its record in the data folder, its life and its end."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol

import psutil

from launcher.folders import write_private

ANSWER_S: Final = 10.0
"""How long it may take to answer while it starts, before that is said."""
LOOK_EVERY_S: Final = 0.2
STOP_S: Final = 10.0
# Of its log, told when it dies.
LAST_LINES: Final = 8
SAME_MOMENT_S: Final = 1.0


class ServerDiedError(Exception):
    """The server ended while it was starting; the message has the last lines of its log."""


class Question(Protocol):
    """Asks whoever listens at this port of loopback, and returns why it is silent; "" if not."""

    def __call__(self, port: int, *, limit_s: float) -> str: ...


@dataclass(frozen=True)
class Service:
    """A kind of server.

    name: of its command and its files; title: as in "no server of Pokemon Showdown runs"; url: at
    which clients dial it, by its port.
    """

    name: str
    title: str
    url: Callable[[int], str]
    why_silent: Question

    def record_path(self, var: Path) -> Path:
        """Return the file that says which server runs here."""
        return var / self.name / "server.json"

    def log_path(self, var: Path) -> Path:
        """Return where the server's output goes."""
        return var / "log" / f"{self.name}.log"

    def read_record(self, var: Path) -> "RunningService | None":
        """Return the server that was started last and not stopped, None without one."""
        try:
            return RunningService(**json.loads(self.record_path(var).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def forget(self, var: Path) -> None:
        """Remove the record of a server that has ended."""
        self.record_path(var).unlink(missing_ok=True)

    def describe_end(self, var: Path, how: str) -> str:
        """Return how a server ended, with the last lines of its log."""
        log = self.log_path(var)
        lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
        last = [line for line in lines if line.strip()][-LAST_LINES:]
        text = "\n".join(f"  {line:.200}" for line in last) or "  (it has written nothing)"
        return f"the server of {self.title} does not run: {how}. The end of {log}:\n{text}"


@dataclass(frozen=True)
class RunningService:
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


@dataclass(frozen=True)
class Launch:
    """What is started; environment: all of its variables, by default those of this process."""

    command: Sequence[str]
    folder: Path
    port: int
    environment: Mapping[str, str] | None = None


def launch(service: Service, var: Path, program: Launch) -> RunningService:
    """Start a server, in a session of its own so that Ctrl-C in this terminal is not for it."""
    with service.log_path(var).open("wb") as log:
        process = subprocess.Popen(
            program.command,
            cwd=program.folder,
            env=program.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with suppress(psutil.Error):
        running = RunningService(
            process.pid, program.port, psutil.Process(process.pid).create_time()
        )
        write_private(service.record_path(var), json.dumps(asdict(running)))
        return running
    raise ServerDiedError(service.describe_end(var, "it ended at once"))


def wait_until_it_answers(
    service: Service, running: RunningService, var: Path, say: Callable[[str], None]
) -> None:
    """Return once the server answers. Raises ServerDiedError where it ends before."""
    began = said_at = time.monotonic()
    while problem := service.why_silent(running.port, limit_s=ANSWER_S):
        if running.process is None:
            lived_s = time.monotonic() - began
            raise ServerDiedError(service.describe_end(var, f"it ended after {lived_s:.0f} s"))
        if time.monotonic() - said_at >= ANSWER_S:
            said_at = time.monotonic()
            say(f"waits for the server ({problem})")
        time.sleep(LOOK_EVERY_S)


def stop(running: RunningService) -> bool:
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
