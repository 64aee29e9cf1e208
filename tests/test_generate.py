"""`generate` on real processes: the same bytes from one node, three nodes and nodes that die."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.request import urlopen

import pytest

from benchmarks.stacks import wait_until
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack

pytestmark = [pytest.mark.slow, pytest.mark.long]

PAIR = ("--agent-a", "greedy", "--agent-b", "random", "--game", "connect_four", "--seed", "3")
WORK = ("--num-workers", "15", "--matches-per-worker", "8", "--matches-per-shard", "50")


def _command(stack: Stack, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "evalsite_client", "generate", *PAIR, *WORK, "--out", str(out)]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=dict(stack.env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finished(running: subprocess.Popen[str]) -> str:
    printed, complaints = running.communicate(timeout=60)
    assert running.returncode == 0, complaints
    return printed


def _has_web(stack: Stack) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{stack.plan.ports.web}/healthz"):
        return True
    return False


def _sums(out: Path) -> dict[str, str]:
    sums = {path.name: sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}
    del sums["run.json"]
    return sums


def test_the_bytes_are_the_same_whoever_played_and_died(tmp_path: Path) -> None:
    with start_stack(tmp_path / "one", nodes=1, slots=1, web=True) as stack:
        printed = _finished(_command(stack, tmp_path / "calm"))
    assert "120 matches" in printed
    assert "0 illegal actions" in printed
    with start_stack(tmp_path / "three", nodes=3, slots=1, web=True) as stack:
        first = _command(stack, tmp_path / "rough")
        victims = [stack.pids()[name] for name in ("node-1", "node-2", "web")]
        assert first.stdout is not None
        assert "plays for" in first.stdout.readline()
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        first.send_signal(signal.SIGINT)
        assert first.wait(timeout=30) == 130
        # A client asks a server that is away for some four seconds only.
        wait_until(partial(_has_web, stack), limit_s=60, what="the new start of the web server")
        _finished(_command(stack, tmp_path / "rough"))
    calm = _sums(tmp_path / "calm")
    assert calm == _sums(tmp_path / "rough")
    assert set(calm) == {"manifest.json", *(f"shard-{n:05d}.parquet" for n in range(3))}
