"""The one word of shared memory in which a player shows what it is executing.

The player writes it before every call of an agent or a game (some 0.2 us), the watchdog reads it at
any time, also after the player's death: so nothing must be sent before a call to know who hung.
"""

from enum import IntEnum
from mmap import mmap
from typing import NamedTuple

SIZE = 4096
MAX_MATCHES = 1 << 24
MAX_SEATS = 1 << 8

# From the lowest bit: phase 4, seat 8, index 24, turn 24. An aligned 8-byte store is never torn.
_SEAT, _INDEX, _TURN = 4, 12, 36
_ONE_TURN = 1 << _TURN
_ALL_TURNS = ((1 << 24) - 1) << _TURN


class Phase(IntEnum):
    """Whose code a player is running."""

    IDLE = 0
    SETUP = 1
    POLICY = 2
    GAME = 3
    BLOCK = 4


class Sighting(NamedTuple):
    """What a beacon shows: `turn` counts the calls, so that two alike sightings are one call.

    subject: the match of the order; of a BLOCK, the agent. seat: the one that decides.
    """

    turn: int
    subject: int
    seat: int
    phase: Phase


class Beacon:
    """One end of the shared word; the player shows and clears, the parent reads."""

    __slots__ = ("_memory", "_turn", "_word")

    def __init__(self, descriptor: int) -> None:
        """Map the file of that descriptor, which holds at least SIZE bytes."""
        self._memory = mmap(descriptor, SIZE)
        self._word = memoryview(self._memory).cast("Q")
        self._turn = 0

    def show(self, index: int, seat: int, phase: Phase) -> None:
        """Say what is called next."""
        self._turn = turn = self._turn + _ONE_TURN & _ALL_TURNS
        self._word[0] = turn | index << _INDEX | seat << _SEAT | phase

    def clear(self) -> None:
        """Say that no agent and no game is running."""
        self._word[0] = 0

    def read(self) -> Sighting:
        """Return what is shown."""
        word = self._word[0]
        return Sighting(
            turn=word >> _TURN,
            subject=word >> _INDEX & MAX_MATCHES - 1,
            seat=word >> _SEAT & MAX_SEATS - 1,
            phase=Phase(word & 15),
        )

    def close(self) -> None:
        """Unmap the word."""
        self._word.release()
        self._memory.close()
