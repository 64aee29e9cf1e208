"""What is done to the programs of a stack, at random but by a seed: kills, and stops of a while."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import NamedTuple

import psutil

SHORTEST_STOP_S, LONGEST_STOP_S = 5.0, 40.0
KINDS = ("SIGKILL", "SIGSTOP")


class Act(NamedTuple):
    """One thing done to one program."""

    program: str
    kind: str
    stop_s: float


def draw_acts(programs: Sequence[str], rng: Random) -> Iterator[Act]:
    """Yield acts without end, in rounds: each round kills and stops every program once."""
    while True:
        acts = [(program, kind) for program in programs for kind in KINDS]
        rng.shuffle(acts)
        for program, kind in acts:
            yield Act(program, kind, rng.uniform(SHORTEST_STOP_S, LONGEST_STOP_S))


class Storm:
    """Does the next act every so often; lets what is stopped go on when its time is up."""

    def __init__(
        self, acts: Iterator[Act], find_pid: Callable[[str], int | None], *, every_s: float
    ) -> None:
        self.done: Counter[str] = Counter()
        """How often each program was killed or stopped, as "name SIGKILL"."""
        self._acts, self._find_pid, self._every_s = acts, find_pid, every_s
        self._next_at = 0.0
        self._stopped: list[tuple[float, psutil.Process]] = []

    def blow(self, now: float) -> None:
        """Do what is due at this time (seconds of any clock)."""
        self._resume(now)
        if now >= self._next_at:
            self._next_at = now + self._every_s
            self._do(next(self._acts), now)

    def end(self) -> None:
        """Let everything go on that is stopped."""
        self._resume(float("inf"))

    def _do(self, act: Act, now: float) -> None:
        pid = self._find_pid(act.program)
        if pid is None:
            return  # it is being started again
        # psutil knows a process from a later one of the same number.
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if act.kind == "SIGKILL":
                process.kill()
            else:
                process.suspend()
                self._stopped.append((now + act.stop_s, process))
            self.done[f"{act.program} {act.kind}"] += 1

    def _resume(self, now: float) -> None:
        for until, process in self._stopped:
            if until <= now:
                with suppress(psutil.NoSuchProcess):
                    process.resume()
        self._stopped = [stopped for stopped in self._stopped if stopped[0] > now]
