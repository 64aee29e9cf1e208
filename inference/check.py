"""Check an uploaded checkpoint: it must load, fit its game and answer finite numbers.

That is tried in a process of its own whose memory and time are watched, so that no file harms the
worker. Only the checkpoint's own failings refuse it; what the machine does wrong is raised.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from arena.messages import MAX_DETAIL, Checked, CheckOrder
from inference.checkpoint_store import CheckpointStore
from inference.errors import UnavailableError
from inference.protocol import CheckpointRef, no_op
from inference.settings import Settings

_TICK_S = 0.02
_READY = b"ready\n"
_MAX_ANSWER = 1 << 16
# What a trial may know of its parent's environment: nothing secret.
_KEPT = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "EVALSITE_PLUGINS")
_TRIED = ("game", "n_actions", "observation_shape")
_ROOT = str(Path(__file__).parents[1])


class Limits(NamedTuple):
    """What a trial may use beyond a process that has imported torch.

    cpu_s: its own time; patience_s: the wall clock, after which the machine is to blame.
    """

    memory_bytes: int = 512 << 20
    cpu_s: float = 10.0
    patience_s: float = 60.0


LIMITS = Limits()


class Refused(Exception):  # noqa: N818 - an outcome, not an error
    """The checkpoint is refused; the message says why."""


def check(order: CheckOrder, own: Settings, *, limits: Limits = LIMITS) -> Checked:
    """Return what a worker of these settings finds. Raises UnavailableError: ask again."""
    store = CheckpointStore(own.cache, own.site_url)
    return run(order, store=store, node=own.gpu, limits=limits)


def run(
    order: CheckOrder,
    *,
    store: CheckpointStore,
    node: str,
    limits: Limits = LIMITS,
    keep_alive: Callable[[], None] = no_op,
) -> Checked:
    """Return what was found. Raises UnavailableError when it could not be found out: ask again."""
    path = store.path(CheckpointRef(order.checkpoint, order.source), keep_alive=keep_alive)
    try:
        answer = _run_trial(path, order, limits, keep_alive)
    except Refused as error:
        answer = {"refusal": str(error)}
    return Checked(
        node=node,
        checkpoint=order.checkpoint,
        token=order.token,
        refusal=str(answer["refusal"])[:MAX_DETAIL],
        n_parameters=answer.get("n_parameters", 0),
        state_size=answer.get("state_size", 0),
        row_ms=answer.get("row_ms", 0.0),
    )


def _run_trial(
    path: Path, order: CheckOrder, limits: Limits, keep_alive: Callable[[], None]
) -> dict[str, Any]:
    """Run a trial to its end. Raises Refused, UnavailableError."""
    # Everybody on this machine may read a command line: no token and no link.
    terms = json.dumps({name: getattr(order, name) for name in _TRIED})
    command = [sys.executable, "-m", "inference.check_process", str(path), terms]
    # It finds modules wherever the worker was started.
    inherited = {name: os.environ[name] for name in _KEPT if name in os.environ}
    modules = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    with tempfile.TemporaryFile() as complaints:
        trial = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={**inherited, "OMP_NUM_THREADS": "1", "PYTHONPATH": modules},
            start_new_session=True,
        )
        with trial:
            try:
                output = _WatchedTrial(trial, limits).listen(keep_alive)
            finally:
                trial.kill()
        complaints.seek(0)
        lines = complaints.read()[-_MAX_ANSWER:].decode(errors="replace").strip().splitlines()
        complaint = lines[-1][:MAX_DETAIL] if lines else "it said nothing"
        return _read_answer(output, trial.returncode, complaint)


class _WatchedTrial:
    """A trial that runs, and what it uses."""

    def __init__(self, trial: "subprocess.Popen[bytes]", limits: Limits) -> None:
        self._from, self._limits = trial.stdout.fileno() if trial.stdout else -1, limits
        self._usage = psutil.Process(trial.pid)
        self._cpu_s, self._bytes = 0.0, 0
        self._is_ready = False

    def listen(self, keep_alive: Callable[[], None]) -> bytes:
        """Return all that it says until it ends. Raises Refused, UnavailableError."""
        output, give_up = b"", time.monotonic() + self._limits.patience_s
        while len(output) < _MAX_ANSWER:
            if select.select([self._from], [], [], _TICK_S)[0]:
                piece = os.read(self._from, _MAX_ANSWER)
                if not piece:
                    break
                output += piece
            self._check_usage(output)
            if time.monotonic() > give_up:
                raise UnavailableError(f"a trial took over {self._limits.patience_s:g} s here")
            keep_alive()
        return output

    def _check_usage(self, output: bytes) -> None:
        """Compare what it uses with the limits; its imports are ours and do not count."""
        try:
            used, times = self._usage.memory_info(), self._usage.cpu_times()
        except psutil.NoSuchProcess:
            return  # it has ended: its output says how
        # The pages of the file itself are the machine's, which may take them back.
        n_bytes, cpu_s = used.rss - getattr(used, "shared", 0), times.user + times.system
        if not self._is_ready:
            self._is_ready = output.startswith(_READY)
            self._bytes, self._cpu_s = n_bytes, cpu_s
        if n_bytes - self._bytes > self._limits.memory_bytes:
            raise Refused(f"it needs more than {self._limits.memory_bytes >> 20} MiB of memory")
        if cpu_s - self._cpu_s > self._limits.cpu_s:
            raise Refused(f"it needs more than {self._limits.cpu_s:g} s to load and answer")


def _read_answer(output: bytes, status: int, complaint: str) -> dict[str, Any]:
    """Return the answer of a trial. Raises Refused where the file ended it, else the machine."""
    answer = output.removeprefix(_READY)
    if output.startswith(_READY) and answer.endswith(b"\n"):
        facts: dict[str, Any] = json.loads(answer)
        return facts
    if status < 0 and output and -status != signal.SIGKILL:
        raise Refused(f"loading or asking it ended the process by {signal.Signals(-status).name}")
    raise UnavailableError(f"a trial failed here, with status {status}: {complaint}")
