"""A child process at the other end of a line: what it says, and how it may end."""

import os
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from arena.games.line_messages import MAX_FRAME
from workers.lines.pipes import ChildPipes
from workers.lines.transport import FrameError, LineClosedError, LineSilentError

ECHO = """
    import sys
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
"""


def child(tmp_path: Path, code: str, *, limit_s: float = 5.0, **environ: str) -> ChildPipes:
    (tmp_path / "child.py").write_text(textwrap.dedent(code))
    return ChildPipes(
        [sys.executable, "child.py"],
        folder=tmp_path,
        environ={"PATH": os.environ["PATH"], **environ},
        limit_s=limit_s,
    )


def test_texts_and_bytes_come_back_as_they_were_sent(tmp_path: Path) -> None:
    pipes = child(tmp_path, ECHO)
    for text in (b"[1]", b"[2]"):
        pipes.send(text)
    assert [pipes.receive(5), pipes.receive(5)] == [b"[1]", b"[2]"]
    pipes.send(b"abc")
    assert pipes.receive_bytes(4, 5) == b"abc\n"
    pipes.close()


def test_large_frames_cross_while_the_child_writes(tmp_path: Path) -> None:
    pipes = child(tmp_path, ECHO)
    # Twice what both pipes hold: who only wrote would wait for ever.
    frames = [bytes([65 + n]) * 100_000 for n in range(8)]
    for frame in frames:
        pipes.send(frame)
    assert [pipes.receive(5) for _ in frames] == frames
    pipes.close()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit(3)", "it exited with 3"),
        ("raise SystemExit('no such map')", "it exited with 1: no such map"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "it died by signal 9"),
        ("import os, time; os.close(0); os.close(1); time.sleep(60)", "it closed its output"),
    ],
)
def test_a_child_that_is_gone_closes_the_line(
    tmp_path: Path, code: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.programs.child_process.EXIT_S", 0.3)
    pipes = child(tmp_path, code)
    with pytest.raises(LineClosedError, match=says):
        pipes.receive(5)
    with pytest.raises(LineClosedError, match=says):
        pipes.send(b"x" * 1_000_000)
    pipes.close()


def test_a_child_that_says_nothing_is_silent(tmp_path: Path) -> None:
    pipes = child(tmp_path, "import time; time.sleep(60)", limit_s=0.05)
    with pytest.raises(LineSilentError, match=r"has said nothing for 0\.1 s"):
        pipes.receive(0.05)
    with pytest.raises(LineSilentError, match=r"has not read for 0\.05 s"):
        pipes.send(b"x" * 1_000_000)
    pipes.close()


def test_a_line_without_an_end_is_no_frame(tmp_path: Path) -> None:
    code = f"import sys; sys.stdout.write('x' * {MAX_FRAME + 2**20}); sys.stdout.flush()"
    pipes = child(tmp_path, code)
    with pytest.raises(FrameError, match=f"over {MAX_FRAME} bytes"):
        pipes.receive(5)
    pipes.close()


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(LineClosedError, match=r"'no-such-program' cannot be started"):
        ChildPipes(["no-such-program"], folder=tmp_path, environ={}, limit_s=1)


def test_a_child_knows_no_secrets_of_its_player(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.environ), flush=True)"
    pipes = child(tmp_path, code, TZ="UTC", EVALSITE_INFERENCE_URL="redis://secret")
    output = pipes.receive(5)
    pipes.close()
    assert b"TZ" in output
    assert b"EVALSITE" not in output


def test_what_a_child_has_started_ends_with_it(tmp_path: Path) -> None:
    code = """
        import subprocess, sys
        print(subprocess.Popen(["sleep", "60"]).pid, flush=True)
        sys.stdin.read()
    """
    pipes = child(tmp_path, code)
    started = psutil.Process(int(pipes.receive(5)))
    pipes.close()
    until = time.monotonic() + 5
    while started.is_running() and started.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until


def test_a_child_that_writes_without_end_and_reads_nothing_is_stopped(tmp_path: Path) -> None:
    pipes = child(tmp_path, "import sys\nwhile True: sys.stdout.write('x' * 100_000)")
    with pytest.raises(FrameError, match="before it was asked"):
        pipes.send(b"x" * 1_000_000)
    pipes.close()


def test_a_child_that_is_dying_is_open_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipes = child(tmp_path, ECHO)
    assert pipes.is_open()
    process = pipes._child._process
    process.kill()
    started = psutil.Process(process.pid)
    while started.status() != psutil.STATUS_ZOMBIE:
        pass
    # As the kernel says of one whose other threads are still there.
    monkeypatch.setattr(process, "poll", lambda: None)
    assert not pipes.is_open()
    monkeypatch.undo()
    pipes.close()
    monkeypatch.setattr(process, "poll", lambda: None)
    assert not pipes.is_open(), "it is gone"
