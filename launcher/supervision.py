"""Runs supervisord for one data folder and talks to it: start, stop, states, leftovers."""

import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xmlrpc.client import Fault, ServerProxy

import psutil
from supervisor.xmlrpc import SupervisorTransport

from launcher.errors import SetupError
from launcher.folders import MARK, ROOT, socket_path, write_private
from launcher.programs import Program

# All that a process inherits from the shell; the rest is given to each program by name.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
START_LIMIT_S = 10.0
# Open files that a program may have, where the machine allows it: each viewer of a page is one,
# and the usual limit of a shell is 1,024.
N_FILES = 65_536
UP_STATES = {"RUNNING"}
DOWN_STATES = {"STOPPED", "EXITED", "FATAL"}


@dataclass(frozen=True)
class ProgramState:
    """What the supervisor says about one program."""

    name: str
    state: str
    pid: int
    uptime_s: int


def config_text(var: Path, programs: Iterable[Program], *, at_once: Sequence[str]) -> str:
    """Return the configuration of supervisord; programs in `at_once` start with it."""
    owner = ["user=root"] if os.geteuid() == 0 else []
    head = [
        "[supervisord]",
        *owner,
        f"logfile={_escape_percent(var / 'log' / 'supervisord.log')}",
        "logfile_maxbytes=5MB",
        "logfile_backups=2",
        "silent=true",
        "umask=077",
        f"pidfile={_escape_percent(var / 'supervisord.pid')}",
        "[unix_http_server]",
        f"file={_escape_percent(socket_path(var))}",
        "chmod=0700",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
    ]
    sections = [_format_section(var, program, program.name in at_once) for program in programs]
    return "\n".join([*head, *sections, ""])


def _format_section(var: Path, program: Program, starts_at_once: bool) -> str:
    for name, value in program.environment.items():
        # The format of supervisord has no way to write these.
        if '"' in value or "\n" in value:
            raise SetupError(f"{name} may hold neither a double quote nor a new line")
    variables = [
        f'{name}="{_escape_percent(value)}"' for name, value in program.environment.items()
    ]
    lines = [
        f"[program:{program.name}]",
        f"command={_escape_percent(shlex.join(program.command))}",
        f"environment={','.join(variables)}",
        f"directory={_escape_percent(ROOT)}",
        f"autostart={str(starts_at_once).lower()}",
        "autorestart=true",
        "startretries=1000000",
        f"stopwaitsecs={program.stop_wait_s}",
        "killasgroup=true",
        "redirect_stderr=true",
        f"stdout_logfile={_escape_percent(var / 'log' / program.name)}.log",
        "stdout_logfile_maxbytes=5MB",
        "stdout_logfile_backups=2",
    ]
    return "\n".join(lines)


def _escape_percent(value: object) -> str:
    return str(value).replace("%", "%%")


class Supervisor:
    """The supervisord of one data folder, running or not."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self._config = var / "supervisord.conf"

    def start(self, programs: Iterable[Program], *, at_once: Sequence[str]) -> None:
        """Start supervisord and the programs of `at_once`; return when it answers."""
        self.configure(programs, at_once=at_once)
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        allow_files(N_FILES)
        with (self.var / "log" / "supervisord.out").open("w") as output:
            child = subprocess.Popen(
                [sys.executable, "-m", "launcher.guarding", str(self.var), str(self._config)],
                cwd=ROOT,
                env=environment | {MARK: str(self.var)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal reaches only the one who stops us
            )
        deadline = time.monotonic() + START_LIMIT_S
        while self.pid() is None:
            if child.poll() is not None or time.monotonic() > deadline:
                child.kill()
                kill_leftovers(self.var)
                printed = (self.var / "log" / "supervisord.out").read_text()[-500:]
                raise SetupError(f"the supervisor did not start: {printed}")
            time.sleep(0.03)

    def configure(self, programs: Iterable[Program], *, at_once: Sequence[str]) -> None:
        """Write which programs there are and which of them start with supervisord, when it does."""
        write_private(self._config, config_text(self.var, programs, at_once=at_once))

    def pid(self) -> int | None:
        """Return the pid of the running supervisord, None when there is none."""
        if not socket_path(self.var).exists():
            return None
        try:
            return int(self._call("getPID"))
        except (OSError, Fault):
            return None

    def start_programs(self, names: Iterable[str]) -> None:
        """Start programs without waiting for them. Raises SetupError for one that cannot be."""
        for name in names:
            try:
                self._call("startProcess", name, False)
            except Fault as fault:
                log = self.var / "log" / "supervisord.log"
                refused = f"{name} cannot be started ({fault.faultString}): see {log}"
                raise SetupError(refused) from fault

    def stop_programs(self, names: Iterable[str], *, limit_s: float) -> None:
        """Ask programs to end at the same time; return when they have, or when time is up."""
        up = {state.name for state in self.states() if state.state not in DOWN_STATES}
        ending = up & set(names)
        for name in ending:
            try:
                self._call("stopProcess", name, False)
            except Fault as fault:
                # It ended between the question and the request.
                if "NOT_RUNNING" not in fault.faultString:
                    raise
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if all(s.state in DOWN_STATES for s in self.states() if s.name in ending):
                return
            time.sleep(0.05)

    def states(self) -> list[ProgramState]:
        """Return the state of every program in the order of starting."""
        return [
            ProgramState(
                row["name"], row["statename"], row["pid"], max(row["now"] - row["start"], 0)
            )
            for row in self._call("getAllProcessInfo")
        ]

    def shut_down(self, *, limit_s: float) -> None:
        """End supervisord and what still runs under it."""
        pid = self.pid()
        if pid is None:
            return
        supervisord = psutil.Process(pid)
        self._call("shutdown")
        psutil.wait_procs([supervisord], timeout=limit_s)

    def _call(self, method: str, *arguments: Any) -> Any:
        transport = SupervisorTransport(None, None, f"unix://{socket_path(self.var)}")
        with ServerProxy("http://127.0.0.1", transport=transport) as server:
            return getattr(server.supervisor, method)(*arguments)


def allow_files(n: int) -> int:
    """Let this process and those it starts open n files, or as many as may be; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= n:
        return soft
    limit = n if hard == resource.RLIM_INFINITY else min(n, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def find_leftovers(var: Path) -> list[psutil.Process]:
    """Return the running processes that a stack of this folder started, but for this one."""
    left = []
    for process in psutil.process_iter():
        # Processes of others do not show their environment, and any may end meanwhile.
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == str(var) and process.pid != os.getpid():
                left.append(process)
    return left


def kill_leftovers(var: Path) -> int:
    """End what is left of a stack whose supervisor is gone; return how many there were."""
    left = find_leftovers(var)
    _signal_all(left, signal.SIGTERM)
    _, alive = psutil.wait_procs(left, timeout=5)
    _signal_all(alive, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=5)
    return len(left)


def _signal_all(running: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in running:
        with suppress(psutil.NoSuchProcess):  # it ended by itself
            process.send_signal(number)
