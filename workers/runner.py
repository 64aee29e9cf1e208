"""The matches that a player has in hand, stepped decision by decision.

Where some agent decides rows together, all matches advance in lockstep, one block per agent and
step. Where none does, lockstep would only put more matches at risk of a kill: they are played one
after the other.
"""

from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter, sleep

from workers.current_call import Beacon
from workers.decider import Deciding
from workers.lockstep import Lockstep
from workers.message_buffer import Stream
from workers.order_setup import Setup
from workers.stepper import Playing
from workers.wire import Begun, Item


class Table:
    """Plays the matches of one order; what happens goes to the stream."""

    def __init__(
        self,
        setup: Setup,
        beacon: Beacon,
        stream: Stream,
        *,
        clock: Callable[[], float] = perf_counter,
        sleep: Callable[[float], object] = sleep,
    ) -> None:
        self._beacon, self._stream = beacon, stream
        self._is_batched = setup.is_batched
        self._waiting: deque[Item] = deque()
        self._playing = Playing(setup, beacon, stream, clock=clock, sleep=sleep)
        self._deciding = Deciding(setup, beacon, self._playing, sleep)
        self._lockstep = Lockstep(setup, beacon, self._playing, self._deciding, stream.pulse)

    @property
    def is_busy(self) -> bool:
        """True while there is something to play or to give out."""
        return self._has_matches or self._playing.n_held > 0

    @property
    def _has_matches(self) -> bool:
        return bool(self._playing.live or self._waiting)

    def add(self, items: Sequence[Item]) -> None:
        """Take matches in hand."""
        self._waiting.extend(items)

    def release(self, n: int, *, is_begun_too: bool) -> list[int]:
        """Give back up to n matches, the last ones first; return their indices."""
        given = [self._waiting.pop().index for _ in range(min(n, len(self._waiting)))]
        if is_begun_too and len(given) < n:
            given += self._playing.release(n - len(given))
        return given

    def step(self) -> None:
        """Play one decision of the match in play, or of all that play in lockstep."""
        playing = self._playing
        if self._is_batched:
            self._begin_all()
            self._lockstep.step()
        elif playing.live:
            self._deciding.advance(playing.live[0])
        elif self._waiting:
            playing.begin(self._waiting.popleft())
        playing.sweep()

    def give_out(self) -> None:
        """Tell the endings that were held back and no longer need to be."""
        if self._playing.n_held:
            self._playing.hand_out(self._beacon, flush=not self._has_matches)

    def _begin_all(self) -> None:
        """Begin what waits, and say so: a match that waits for its answer shows in no call."""
        if not self._waiting:
            return
        began = [self._playing.begin(item) for item in self._waiting]
        self._stream.tell(Begun([item.index for item in self._waiting]))
        self._waiting.clear()
        self._lockstep.join([match for match in began if match is not None])
