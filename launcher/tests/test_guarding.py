"""What ends the supervisor, or would: a disk without room, a kill."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import psutil
import pytest
from supervisor.loggers import RotatingFileHandler

from launcher import guarding
from launcher.guarding import LossyStream, guard, roll_over_if_possible
from launcher.programs import Program
from launcher.supervision import Supervisor, find_leftovers, kill_leftovers

TALK = "while True: print('x' * 1_000, flush=True); __import__('time').sleep(0.01)"
TALKER = Program("talker", (sys.executable, "-c", TALK))
QUIET = Program("quiet", ("sleep", "1000"))


def wait_for(condition: Callable[[], bool], *, limit_s: float = 30) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    (tmp_path / "log").mkdir()
    supervisor = Supervisor(tmp_path)
    supervisor.start([TALKER, QUIET], at_once=["talker", "quiet"])
    yield supervisor
    supervisor.shut_down(limit_s=10)
    kill_leftovers(tmp_path)


def pid_of(supervisor: Supervisor) -> int:
    """Return the pid of a supervisor that runs."""
    pid = supervisor.pid()
    assert pid is not None
    return pid


@pytest.mark.slow
def test_a_supervisor_that_can_write_no_log_goes_on_and_logs_again_when_there_is_room(
    supervisor: Supervisor,
) -> None:
    pid = pid_of(supervisor)
    written = [supervisor.var / "log" / name for name in ("talker.log", "supervisord.out")]
    wait_for(lambda: written[0].exists() and written[0].stat().st_size > 10_000)
    # As on a full disk: every write to a file of its fails, those of its complaints, too.
    unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, unlimited[1]))
    sizes = [path.stat().st_size for path in written]
    time.sleep(1)
    assert supervisor.pid() == pid
    assert [state.state for state in supervisor.states()] == ["RUNNING", "RUNNING"]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
    wait_for(lambda: written[0].stat().st_size > sizes[0] + 10_000)


@pytest.mark.slow
def test_a_killed_supervisor_is_started_again_and_ends_what_it_had_left_behind(
    supervisor: Supervisor,
) -> None:
    killed = pid_of(supervisor)
    children = [state.pid for state in supervisor.states()]
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: supervisor.pid() not in {None, killed})
    wait_for(lambda: len({s.pid for s in supervisor.states() if s.state == "RUNNING"}) == 2)
    assert [pid for pid in children if psutil.pid_exists(pid)] == []
    log = (supervisor.var / "log" / "supervisord.out").read_text()
    assert "the supervisor ended with status -9; 2 processes that it left behind" in log


def test_a_supervisor_that_was_told_to_end_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = [1, 0]
    monkeypatch.setattr(guarding, "RESTART_AFTER_S", 0)
    monkeypatch.setattr(subprocess, "call", lambda _: statuses.pop(0))
    assert guard(tmp_path, "config") == 0
    assert statuses == []
    assert find_leftovers(tmp_path) == []


def test_a_log_that_cannot_be_rolled_over_is_written_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(handler: RotatingFileHandler) -> None:
        handler.stream.close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(guarding, "_roll_over", fail)
    handler = RotatingFileHandler(str(tmp_path / "log"), maxBytes=1)
    roll_over_if_possible(handler)
    handler.stream.write(b"on")
    handler.close()
    assert (tmp_path / "log").read_text() == "on"


def test_a_complaint_that_cannot_be_written_is_dropped() -> None:
    class Full(StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    assert LossyStream(Full()).write("too long a story") == 16
