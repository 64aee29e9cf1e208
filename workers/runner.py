"""The matches that a player was assigned, stepped decision by decision.

Where some agent decides rows together, all matches advance in lockstep, one block per agent and
step. Where none does, lockstep would only put more matches at risk of a kill: they are played one
after the other.
"""

from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter, sleep

from workers.current_call import CallMemory
from workers.decider import Decider
from workers.lockstep import Lockstep
from workers.message_buffer import MessageBuffer
from workers.order_setup import Setup
from workers.stepper import MatchStepper
from workers.wire import Assignment, Begun


class MatchRunner:
    """Plays the matches of one order; what happens goes to the buffer."""

    def __init__(
        self,
        setup: Setup,
        call_memory: CallMemory,
        buffer: MessageBuffer,
        *,
        clock: Callable[[], float] = perf_counter,
        sleep: Callable[[float], object] = sleep,
    ) -> None:
        self._buffer = buffer
        self._is_batched = setup.is_batched
        self._waiting: deque[Assignment] = deque()
        self._stepper = MatchStepper(setup, call_memory, buffer, clock=clock, sleep=sleep)
        self._decider = Decider(setup, call_memory, self._stepper, sleep)
        self._lockstep = Lockstep(
            setup, call_memory, self._stepper, self._decider, buffer.flush_if_due
        )

    @property
    def is_busy(self) -> bool:
        """True while there is something to play or to give out."""
        return self._has_matches or self._stepper.n_held_back > 0

    @property
    def _has_matches(self) -> bool:
        return bool(self._stepper.in_play or self._waiting)

    def add_matches(self, assignments: Sequence[Assignment]) -> None:
        """Take matches on."""
        self._waiting.extend(assignments)

    def release_matches(self, n: int, *, is_begun_too: bool) -> list[int]:
        """Give back up to n matches, the last ones first; return their indices."""
        released = [self._waiting.pop().index for _ in range(min(n, len(self._waiting)))]
        if is_begun_too and len(released) < n:
            released += self._stepper.release_newest(n - len(released))
        return released

    def step(self) -> None:
        """Play one decision of the match in play, or of all that play in lockstep."""
        stepper = self._stepper
        if self._is_batched:
            if self._waiting:
                begun = [stepper.begin_match(assignment) for assignment in self._waiting]
                # The parent must know: a match that waits for its answer shows in no call.
                self._buffer.send_now(Begun([assignment.index for assignment in self._waiting]))
                self._waiting.clear()
                self._lockstep.add_matches([match for match in begun if match is not None])
            self._lockstep.step_group()
        elif stepper.in_play:
            self._decider.advance_match(stepper.in_play[0])
        elif self._waiting:
            stepper.begin_match(self._waiting.popleft())
        stepper.drop_finished()

    def report_stored(self) -> None:
        """Report the endings that were held back and no longer need to be."""
        if self._stepper.n_held_back:
            self._stepper.report_stored(flush=not self._has_matches)
