"""What `evalsite generate` writes while programs are killed: the same bytes as undisturbed."""

import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple

from benchmarks.storm import oracle, simulators
from benchmarks.storm.run import LIMIT_S, LINE_EVERY_S, POLL_S, Storm, Weather, make_storm
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack

PAIR = ("--agent-a", "max_damage", "--agent-b", "random")
PER_SHARD = 200
# Its folder, by which its run goes on; it names the server.
RUN = "run.json"


class Written(NamedTuple):
    """The SHA-256 of each file of a run, and what was done meanwhile."""

    sums: Mapping[str, str]
    seconds: float
    storm: Storm | None
    n_retried: int


def generate(n_matches: int, weather: Weather | None) -> Written:
    """Generate battles on a fresh stack of two play nodes."""
    with ExitStack() as around:
        folder = Path(around.enter_context(TemporaryDirectory(prefix="evalsite-storm-")))
        shape = start_stack(folder / "var", nodes=len(simulators.NODES), slots=1, gpus=0, web=True)
        stack = around.enter_context(shape)
        storm = make_storm(stack, {}, weather) if weather else None
        out = folder / "out"
        command = start_command(stack, n_matches, out)
        around.callback(command.wait)
        url = str(folder / "var" / "db.sqlite3")
        seconds = await_command(command, url, storm)
        stack.stop()
        return Written(read_sums(out), seconds, storm, count_retried(url))


def start_command(stack: Stack, n_matches: int, out: Path) -> "subprocess.Popen[bytes]":
    size = ("--matches", str(n_matches), "--matches-per-shard", str(PER_SHARD), "--seed", "3")
    command = ("generate", *PAIR, "--game", simulators.GAME, *size, "--out", str(out))
    return subprocess.Popen(
        [sys.executable, "-m", "evalsite_client", *command],
        cwd=ROOT,
        env=dict(stack.env),
        stdout=subprocess.DEVNULL,
    )


def await_command(command: "subprocess.Popen[bytes]", url: str, storm: Storm | None) -> float:
    """Do what is due until it ends; return the seconds. Raises RuntimeError where it fails."""
    began = told_at = monotonic()
    while command.poll() is None:
        now = monotonic()
        if now > began + LIMIT_S:
            command.kill()
            raise TimeoutError(f"not over after {LIMIT_S:g} s")
        progress = oracle.read_progress(url)
        # Nothing plays before the first match is there.
        if storm and progress.n_outcomes:
            storm.do_what_is_due(now, progress)
        if now > told_at + LINE_EVERY_S:
            told_at = now
            acts = f", {storm.done.total()} acts" if storm else ""
            print(f"{now - began:5.0f} s: {progress.n_outcomes} outcomes{acts}", flush=True)
        sleep(POLL_S)
    if command.returncode:
        raise RuntimeError(f"evalsite generate exited with {command.returncode}")
    return round(monotonic() - began, 2)


def count_retried(url: str) -> int:
    with oracle.connect(url) as database:
        (n_retried,) = database.execute("SELECT SUM(n_retried) FROM matches_tournament").fetchone()
    return int(n_retried or 0)


def read_sums(out: Path) -> dict[str, str]:
    """Return the SHA-256 of the manifest and of each shard, by name."""
    files = (path for path in out.iterdir() if path.name != RUN)
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def measure_generated(n_matches: int, every_s: float) -> dict[str, Any]:
    """Generate twice; return in which files the two differ: it should be none."""
    calm = generate(n_matches, None)
    print(f"undisturbed in {calm.seconds:.0f} s; the same again, disturbed", flush=True)
    stormy = generate(n_matches, Weather(every_s, programs=simulators.KILLED))
    assert stormy.storm
    names = sorted(calm.sums.keys() | stormy.sums.keys())
    return {
        "matches": n_matches,
        "files": len(calm.sums),
        "differences": [name for name in names if calm.sums.get(name) != stormy.sums.get(name)],
        "undisturbed_s": calm.seconds,
        "disturbed_s": stormy.seconds,
        "kills": stormy.storm.count_acts("SIGKILL"),
        "acts": dict(sorted(stormy.storm.done.items())),
        "attempts_retried": stormy.n_retried,
    }
