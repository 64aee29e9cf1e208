"""The matches in play: begun, moved and ended by the rules, whoever decides.

Every call of the game is shown on the beacon before it is made.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.errors import IllegalActionError, InvalidReturnsError
from arena.fault_injection import Charge, Fault, draw_fault, inject_into_state
from arena.games.base import OVER, State, forfeit_ranks, ranks
from arena.messages import Ending, Reason
from arena.policies.network_policy import FloatBatch, MaskBatch
from arena.seeding import derive
from workers.current_call import Beacon, Phase
from workers.failures import Verdict, read_action, reason_of, shown
from workers.match_in_play import Live
from workers.message_buffer import Stream
from workers.order_setup import OrderError, Setup
from workers.wire import EndedRow, Item

GAME = Phase.GAME
_FAILED = Ending.FAILED


class Insight(NamedTuple):
    """What the deciding seat saw, and what its network said of it; for the recorder."""

    observation: NDArray[np.generic]
    mask: MaskBatch
    logits: FloatBatch | None = None
    value: float | None = None


class Playing:
    """Begins, moves and ends matches; what happens goes to the stream."""

    def __init__(
        self,
        setup: Setup,
        beacon: Beacon,
        stream: Stream,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], object],
    ) -> None:
        self._setup, self._stream = setup, stream
        self._clock, self._sleep = clock, sleep
        self._show = beacon.show
        self._n_seats, self._n_actions = setup.spec.n_seats, setup.spec.n_actions
        self._teams = setup.spec.teams
        self._max_steps = setup.spec.max_steps
        self.live: list[Live] = []
        self.n_held = 0
        self._n_over = 0
        # Seconds of this player per match in play: what one match takes, lockstep or not.
        self._share_s = 0.0
        self._shared_at = clock()

    @property
    def is_recorded(self) -> bool:
        """True when somebody keeps the decisions."""
        return self._setup.recorder is not None

    def sweep(self) -> None:
        """Forget the matches that are over."""
        if self._n_over:
            self.live = [match for match in self.live if not match.is_over]
            self._n_over = 0

    def release(self, n: int) -> list[int]:
        """Give up the n matches that began last; return their indices."""
        keep = max(0, len(self.live) - n)
        self._share()
        given = self.live[keep:]
        del self.live[keep:]
        for match in given:
            match.is_over = True  # an answer may still come for it
            if self._setup.recorder is not None:
                self._setup.recorder.released(match)
        return [match.index for match in given]

    # Beginning

    def begin(self, item: Item) -> Live | None:
        """Start a match, or go on with one; return it if it can be played."""
        self._show(item.index, 0, GAME)
        began = self._share()
        try:
            match = self._start(item)
        except Exception as error:  # whatever a game raises is its fault
            why = reason_of(error)
            row = EndedRow(item.index, _FAILED, [], Reason.ERROR, -1, why, share_ms=0)
            self._stream.ended.append(row)
            return None
        match.began = began
        self.live.append(match)
        self._go_on(match)
        return match

    def _start(self, item: Item) -> Live:
        setup = self._setup
        if len(item.seats) != self._n_seats or max(item.seats) >= len(setup.agents):
            has = f"{setup.spec.id} has {self._n_seats} seats, the order {len(setup.agents)} agents"
            raise OrderError(f"seats {item.seats}: {has}")
        state = setup.game.start(item.game_seed, opening_plies=setup.opening_plies)
        fault = None
        if setup.faults is not None:
            fault = draw_fault(setup.faults, self._fault_seed(item), item.attempt, self._n_seats)
            if fault is not None and setup.faults.charge is Charge.PLATFORM:
                state = inject_into_state(
                    state, fault, hang_s=setup.faults.hang_s, sleep=self._sleep
                )
                fault = None
        return self._replayed(item, state, fault)

    def _fault_seed(self, item: Item) -> int:
        """Return a seed of the game and its lineup: matches on one block fault independently."""
        lineup = [self._setup.agents[agent].identity for agent in item.seats]
        return derive("faults", item.game_seed, *lineup)

    def _replayed(self, item: Item, state: State, fault: Fault | None) -> Live:
        for action in item.actions:
            # A seat that has decided before was struck before.
            if fault is not None and state.to_move() == fault.seat:
                fault = None
            self._show(item.index, 0, GAME)
            state.apply(action)
        return Live(item, state, fault)

    # Moving

    def play(self, match: Live, answer: object, insight: Insight | None = None) -> None:
        """Apply what a seat answered, if it is an action; record it if somebody does."""
        action = read_action(answer)
        if action is None:
            detail = f"an action must be an int, got {shown(answer)}"
            self.end(match, Verdict(Ending.FORFEIT, Reason.INVALID, detail))
        elif not 0 <= action < self._n_actions:
            detail = f"action {shown(action)} is not in 0..{self._n_actions - 1}"
            self.end(match, Verdict(Ending.FORFEIT, Reason.ILLEGAL, detail))
        else:
            self._apply(match, action, insight)

    def _apply(self, match: Live, action: int, insight: Insight | None) -> None:
        self._show(match.index, match.turn, GAME)
        try:
            if self._setup.recorder is not None and insight is None:
                insight = Insight(match.state.observation(match.turn), match.state.legal_mask())
            match.state.apply(action)
        except IllegalActionError as error:
            self.end(match, Verdict(Ending.FORFEIT, Reason.ILLEGAL, reason_of(error)))
            return
        except Exception as error:  # whatever a game raises is its fault
            self.end(match, Verdict(_FAILED, Reason.ERROR, reason_of(error)))
            return
        if insight is not None:
            self._record(match, action, insight)
        match.n_steps += 1
        acted = self._stream.acted
        acted.append(match.index)
        acted.append(action)
        self._go_on(match)

    def _record(self, match: Live, action: int, insight: Insight) -> None:
        if self._setup.recorder is not None:
            observation, mask, logits, value = insight
            self._setup.recorder.decided(
                match,
                match.turn,
                action,
                observation=observation,
                mask=mask,
                logits=logits,
                value=value,
            )

    def _go_on(self, match: Live) -> None:
        """Ask the game who is next, and end the match when nobody is."""
        try:
            match.turn = match.state.to_move()
            returns = match.state.returns() if match.turn == OVER else None
            result = None if returns is None else ranks(returns, self._n_seats, self._teams)
        except InvalidReturnsError as error:
            self.end(match, Verdict(_FAILED, Reason.INVALID, reason_of(error)))
        except Exception as error:  # whatever a game raises is its fault
            self.end(match, Verdict(_FAILED, Reason.ERROR, reason_of(error)))
        else:
            if result is not None:
                self._close(match, Ending.DONE, result, returns=returns)
            elif match.n_steps >= self._max_steps:
                detail = f"not over after {self._max_steps} steps"
                self.end(match, Verdict(_FAILED, Reason.TOO_LONG, detail))

    # Ending

    def end(self, match: Live, verdict: Verdict) -> None:
        """End a match that cannot be played on; a forfeit or crash is that of the seat to move."""
        is_forfeit = verdict.ending is Ending.FORFEIT
        seat = match.turn if is_forfeit or verdict.reason is Reason.CRASH else -1
        result = forfeit_ranks(seat, self._n_seats, self._teams) if is_forfeit else []
        self._close(match, verdict.ending, result, verdict.reason, seat=seat, detail=verdict.detail)

    def _close(
        self,
        match: Live,
        ending: Ending,
        ranks: list[int],
        reason: Reason = Reason.NONE,
        *,
        seat: int = -1,
        detail: str = "",
        returns: Sequence[float] | None = None,
    ) -> None:
        match.is_over = True
        self._n_over += 1
        share_ms = 1000 * (self._share() - match.began)
        row = EndedRow(match.index, ending, ranks, reason, seat, detail, share_ms)
        recorder = self._setup.recorder
        if recorder is not None and recorder.ended(match, row, returns):
            self.n_held += 1
        else:
            self._stream.ended.append(row)

    def hand_out(self, beacon: Beacon, *, flush: bool) -> None:
        """Tell the endings whose trajectories have been stored meanwhile."""
        if self._setup.recorder is not None:
            with beacon.waiting():
                rows = self._setup.recorder.due(flush=flush)
            self.n_held -= len(rows)
            self._stream.ended += rows

    def _share(self) -> float:
        """Return the seconds per match in play up to now."""
        now = self._clock()
        self._share_s += (now - self._shared_at) / (len(self.live) or 1)
        self._shared_at = now
        return self._share_s
