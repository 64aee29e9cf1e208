"""The shared memory in which a player shows what it is executing.

One word names the call: the player writes it before every call of an agent or a game (some 0.2 us),
the watchdog reads it at any time, also after the player's death: so nothing must be sent before a
call to know who hung. Behind it stand the matches of the last block.
"""

from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from mmap import mmap
from typing import NamedTuple

SIZE = 1 << 14
MAX_MATCHES = 1 << 24
MAX_SEATS = 1 << 8
MAX_BLOCK = SIZE // 4 - 3

# From the lowest bit: phase 4, seat 8, index 24, turn 24. An aligned 8-byte store is never torn.
_SEAT, _INDEX, _TURN = 4, 12, 36
_ONE_TURN = 1 << _TURN
_ALL_TURNS = ((1 << 24) - 1) << _TURN
# In words of 4 bytes, behind the first 8: the rows of the block, and before them how many.
_COUNT, _ROWS = 2, 3


class Phase(IntEnum):
    """Whose code a player is running."""

    IDLE = 0
    SETUP = 1
    POLICY = 2
    GAME = 3
    BLOCK = 4
    # Nobody's: it waits for what is computed or kept elsewhere.
    WAIT = 5


class CurrentCall(NamedTuple):
    """What a player is executing: `turn` counts the calls, so equal ones are one call.

    subject: the match of the order; of a BLOCK, the agent. seat: the one that decides.
    """

    turn: int
    subject: int
    seat: int
    phase: Phase


class CallMemory:
    """One end of the shared memory: the player shows its calls, the parent reads them."""

    __slots__ = ("_memory", "_rows", "_turn", "_word")

    def __init__(self, descriptor: int) -> None:
        """Map the file of that descriptor, which holds at least SIZE bytes."""
        self._memory = mmap(descriptor, SIZE)
        self._word = memoryview(self._memory).cast("Q")
        self._rows = memoryview(self._memory).cast("I")
        self._turn = 0

    def show_call(self, index: int, seat: int, phase: Phase) -> None:
        """Say what is called next."""
        self._turn = turn = self._turn + _ONE_TURN & _ALL_TURNS
        self._word[0] = turn | index << _INDEX | seat << _SEAT | phase

    def show_block(self, agent: int, indices: Sequence[int]) -> None:
        """Say that an agent decides for these matches together."""
        self._word[0] = 0  # the rows belong to no call while they change
        rows = array("I", indices[:MAX_BLOCK])
        self._rows[_COUNT] = len(rows)
        self._rows[_ROWS : _ROWS + len(rows)] = memoryview(rows)
        self.show_call(agent, 0, Phase.BLOCK)

    @contextmanager
    def show_waiting(self) -> Iterator[None]:
        """Say that nobody's code runs; after it, what was shown before, as a new call."""
        before = self._word[0] & ~_ALL_TURNS
        self.show_call(0, 0, Phase.WAIT)
        try:
            yield
        finally:
            self._turn = turn = self._turn + _ONE_TURN & _ALL_TURNS
            self._word[0] = turn | before if before else 0

    def clear_call(self) -> None:
        """Say that no agent and no game is running."""
        self._word[0] = 0

    def read_call(self) -> CurrentCall:
        """Return what is shown."""
        word = self._word[0]
        phase = word & 15
        return CurrentCall(
            turn=word >> _TURN,
            subject=word >> _INDEX & MAX_MATCHES - 1,
            seat=word >> _SEAT & MAX_SEATS - 1,
            # A player may write what it likes into its own memory.
            phase=Phase(phase) if phase in _PHASES else Phase.IDLE,
        )

    def read_block(self) -> list[int]:
        """Return the matches of the block that was shown last."""
        n_rows = min(self._rows[_COUNT], MAX_BLOCK)
        return self._rows[_ROWS : _ROWS + n_rows].tolist()

    def close(self) -> None:
        """Unmap the memory."""
        self._word.release()
        self._rows.release()
        self._memory.close()


_PHASES = frozenset(Phase)
