"""The line to a program: real child processes, each a few lines of shell."""

import os
import shlex
import sys
import time

import psutil
import pytest

from arena.errors import AgentDiedError, InvalidOutputError, UnusableProgramError
from workers.programs.child import MAX_LINE, ChildLine

ECHO = "while read line; do echo $line; done"


def line_to(script: str, **environ: str) -> ChildLine:
    line = ChildLine("mine", ["/bin/sh", "-c", script], {"PATH": os.environ["PATH"], **environ})
    line.open()
    return line


def test_what_is_sent_arrives_and_comes_back() -> None:
    line = line_to(ECHO)
    line.send("one")
    line.send("two")
    assert [line.receive(), line.receive()] == ["one", "two"]
    line.close()


def test_lines_may_be_long_both_ways_at_once_whatever_goes_to_stderr() -> None:
    line = line_to(f"head -c 300000 /dev/zero >&2; {shlex.join(['cat'])}")
    long = "x" * (MAX_LINE - 1)
    line.send(long)
    assert line.receive() == long
    line.close()


@pytest.mark.parametrize(
    ("script", "reason", "is_own"),
    [
        ("echo why >&2; exit 3", "it exited with 3: why", True),
        ("kill -SEGV $$", "it died by signal 11 (Segmentation fault)", True),
        ("kill -KILL $$", "it died by signal 9 (Killed)", False),
        ("exec >&-; sleep 60", "it closed its output", True),
    ],
)
def test_a_death_says_how_and_whether_somebody_else_may_have_done_it(
    script: str, reason: str, is_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.programs.child_process.EXIT_S", 0.3)
    line = line_to(script)
    with pytest.raises(AgentDiedError) as died:
        line.receive()
    assert (str(died.value), died.value.is_own_doing) == (reason, is_own)
    line.close()


def test_one_that_reads_no_more_is_heard_to_its_end() -> None:
    line = line_to("exec <&-; echo last; sleep 0.1; exit 4")
    line.send("x" * 200_000)
    assert line.receive() == "last"
    with pytest.raises(AgentDiedError, match="exited with 4"):
        line.receive()
    line.close()


def test_no_hello_in_time_is_a_death() -> None:
    line = line_to("echo starting >&2; sleep 60")
    with pytest.raises(AgentDiedError, match=r"no answer within 0.2 s(: starting)?"):
        line.receive(within_s=0.2)
    line.close()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (f"head -c {MAX_LINE + 2} /dev/zero", "a line of more than"),
        (f"head -c {MAX_LINE + 2} /dev/zero; echo", "a line of more than"),
        (r"printf '\377\n'", "no UTF-8"),
    ],
)
def test_what_is_no_line_is_refused(script: str, why: str) -> None:
    line = line_to(f"{script}; sleep 60")
    with pytest.raises(InvalidOutputError, match=why):
        line.receive()
    line.close()


def test_what_cannot_be_started_is_nobodys_fault() -> None:
    line = ChildLine("mine", ["/no/such/program"], {})
    with pytest.raises(UnusableProgramError, match=r"'mine' cannot be started: .*No such file"):
        line.open()
    line.send("lost")
    with pytest.raises(AgentDiedError, match="does not run"):
        line.receive()
    line.close()


def test_opening_again_ends_the_one_before_with_what_it_had_said() -> None:
    line = line_to(f"echo $$; {ECHO}")
    first = psutil.Process(int(line.receive()))
    line.open()
    assert not first.is_running()
    second = psutil.Process(int(line.receive()))
    line.close()
    assert not second.is_running()


def test_it_knows_no_secrets_of_its_player_and_computes_in_one_thread() -> None:
    line = line_to("env; echo .", EVALSITE_INFERENCE_URL="redis://secret", TZ="UTC")
    variables = []
    while (one := line.receive()) != ".":
        variables.append(one)
    line.close()
    assert "TZ=UTC" in variables
    assert "OMP_NUM_THREADS=1" in variables
    assert not [one for one in variables if "EVALSITE" in one]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_it_dies_with_its_player_however_that_happens() -> None:
    script = (
        "import os, sys; from workers.programs.child import ChildLine\n"
        "line = ChildLine('mine', ['/bin/sh', '-c', 'echo $$; sleep 60'], {'PATH': os.defpath})\n"
        "line.open(); print(line.receive(), flush=True); sys.stdin.read()"
    )
    player = psutil.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, text=True)
    child = psutil.Process(int(player.stdout.readline()))
    player.kill()
    player.communicate()
    psutil.wait_procs([child], timeout=5)
    until = time.monotonic() + 5
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.01)
