"""Waiting for programs that start: as long as they live, saying what is awaited."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from launcher.errors import SetupError
from launcher.supervision import ProgramState

SAID_EVERY_S = 5.0
LOOK_EVERY_S = 0.1
# A program that died so often will not come up by itself; a port or file may be free after one.
MAX_DEATHS = 3


class Patience:
    """Tells what is awaited, and ends the wait when a program dies again and again."""

    # No limit in time: forty nodes on two cores need minutes, and whoever waits can see for what,
    # and press Ctrl-C.
    def __init__(self, log: Path, say: Callable[[str], None], *, now_s: float) -> None:
        self._log, self._say = log, say
        self._said_at_s = now_s
        self._pids: defaultdict[str, set[int]] = defaultdict(set)

    def note(self, states: Sequence[ProgramState], awaited: str, *, now_s: float) -> None:
        """Note how the programs do. SetupError names the one that does not come up."""
        for state in states:
            self._pids[state.name] |= {state.pid} - {0}
            n_deaths = len(self._pids[state.name]) - (state.pid != 0)
            if n_deaths >= MAX_DEATHS or state.state == "FATAL":
                raise SetupError(
                    f"{state.name} does not come up, it ended {n_deaths} times: see "
                    f"{self._log / state.name}.log"
                )
        if now_s - self._said_at_s >= SAID_EVERY_S:
            self._said_at_s = now_s
            self._say(f"waits for {awaited}")


def wait_while_alive(
    find_awaited: Callable[[], str], find_states: Callable[[], Sequence[ProgramState]], it: Patience
) -> None:
    """Return when nothing is awaited any more."""
    while awaited := find_awaited():
        it.note(find_states(), awaited, now_s=time.monotonic())
        time.sleep(LOOK_EVERY_S)
