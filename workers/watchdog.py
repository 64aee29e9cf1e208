"""How long the current call of a player has run, and when it is over a limit.

Time counts as the CPU time of the player where it computes and as wall time where it sleeps, and
only over ticks in which the parent itself ran: a stopped machine, a starved or a stopped player is
not charged. All clocks are arguments.
"""

from enum import Enum, auto
from typing import NamedTuple

from workers.current_call import CurrentCall, Phase

_NOTHING = CurrentCall(0, 0, 0, Phase.IDLE)


class Activity(Enum):
    """What the operating system says of a player."""

    COMPUTING = auto()
    SLEEPING = auto()
    HELD = auto()  # stopped, traced, or waiting for a disk


class Usage(NamedTuple):
    """CPU seconds of a player since its start, and what it does now."""

    cpu_s: float
    activity: Activity


class Ticker:
    """Seconds that count since the last tick: never more than two ticks."""

    def __init__(self, tick_s: float, *, now: float) -> None:
        self.tick_s = tick_s
        self._last = now

    def is_due(self, now: float) -> bool:
        """Return True when a tick has passed."""
        return now - self._last >= self.tick_s

    def count_seconds(self, now: float) -> float:
        """Return the seconds that count; a longer gap means that the parent did not run."""
        counted_s = min(now - self._last, 2 * self.tick_s)
        self._last = now
        return counted_s


class CallTimer:
    """What the current call of one player has used so far."""

    def __init__(self) -> None:
        self.call_s = 0.0
        self.wall_s = 0.0
        self._call = _NOTHING
        self._cpu_s: float | None = None

    def add_tick(self, call: CurrentCall, usage: Usage, counted_s: float) -> float:
        """Return the seconds to charge to whatever is executing; add them to its call.

        A call seen for the first time is charged from here on: most of the tick was another's.
        Waiting for what is computed elsewhere is charged to nobody.
        """
        used_s = 0.0 if self._cpu_s is None else max(0.0, usage.cpu_s - self._cpu_s)
        self._cpu_s = usage.cpu_s
        match usage.activity:
            case Activity.COMPUTING:
                charged_s = min(used_s, counted_s)
            case Activity.SLEEPING:  # as in time.sleep: an agent must not win time by it
                charged_s = counted_s
            case Activity.HELD:
                charged_s = 0.0
        if call != self._call:
            self._call = call
            self.call_s = self.wall_s = 0.0
        elif call.phase != Phase.IDLE:
            self.call_s += charged_s
            self.wall_s += counted_s
        return 0.0 if call.phase is Phase.WAIT else charged_s
