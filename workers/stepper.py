"""Matches in play: begun, stepped and ended by the rules of their game, whoever decides.

Every call of the game is shown in the call memory before it is made.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.errors import (
    IllegalActionError,
    InvalidReturnsError,
    ServerFaultError,
    ServerLostError,
)
from arena.fault_injection import Charge, draw_fault, inject_into_state
from arena.games.base import OVER, forfeit_ranks, ranks
from arena.games.positions import check_position, read_seat
from arena.messages import Ending, Reason
from arena.policies.network_policy import FloatBatch, MaskBatch
from arena.seeding import derive
from workers.current_call import CallMemory, Phase
from workers.errors import OrderError
from workers.failures import (
    Failure,
    describe_error,
    describe_value,
    failure_of_server,
    read_action,
)
from workers.match_in_play import MatchInPlay
from workers.message_buffer import MessageBuffer
from workers.order_setup import Setup
from workers.wire import Assignment, EndedMatch

GAME = Phase.GAME
_FAILED = Ending.FAILED


class _UnfitError(Exception):
    """The actions that a match is to go on from are illegal in its game."""


class StepRecord(NamedTuple):
    """What the deciding seat saw, and what its network said of it; for the recorder."""

    observation: NDArray[np.generic]
    mask: MaskBatch
    logits: FloatBatch | None = None
    value: float | None = None


class MatchStepper:
    """Begins, steps and ends matches; what happens goes to the buffer."""

    def __init__(
        self,
        setup: Setup,
        call_memory: CallMemory,
        buffer: MessageBuffer,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], object],
    ) -> None:
        self._setup, self._buffer = setup, buffer
        self.clock, self._sleep = clock, sleep
        self._call_memory, self._show_call = call_memory, call_memory.show_call
        self._n_seats, self._n_actions = setup.spec.n_seats, setup.spec.n_actions
        self._teams = setup.spec.teams
        self._max_steps = setup.spec.max_steps
        self.in_play: list[MatchInPlay] = []
        # Of a game that is played elsewhere each look at a state may be a round trip: a block moves
        # first, and is looked at then. These have begun or moved and were not looked at yet.
        self._looks_later = bool(setup.lines)
        self._moved: list[MatchInPlay] = []
        self.n_held_back = 0
        self._n_over = 0
        # Seconds of this player per match in play: what one match takes, lockstep or not.
        self._share_s = 0.0
        self._shared_at = clock()

    @property
    def is_recorded(self) -> bool:
        """True when somebody keeps the decisions."""
        return self._setup.recorder is not None

    def drop_finished(self) -> None:
        """Forget the matches that are over."""
        # Once per step, not as each ends: whoever ends one may be in a loop over them.
        if self._n_over:
            self.in_play = [match for match in self.in_play if not match.is_over]
            self._n_over = 0

    def release_newest(self, n: int) -> list[int]:
        """Give up the n matches that began last; return their indices."""
        n_kept = max(0, len(self.in_play) - n)
        self._add_share()
        released = self.in_play[n_kept:]
        del self.in_play[n_kept:]
        for match in released:
            match.is_over = True  # an answer may still come for it
            _leave_server(match)
            if self._setup.recorder is not None:
                self._setup.recorder.forget_match(match)
        for line in self._setup.lines:
            # Nothing else may be sent for long, and their slots would stay taken.
            line.flush()
        return [match.index for match in released]

    def begin_match(self, assignment: Assignment) -> MatchInPlay | None:
        """Start a match, or go on with one; return it if it can be played."""
        self._show_call(assignment.index, 0, GAME)
        began = self._add_share()
        try:
            match = self._build_match(assignment)
        except Exception as error:  # whatever a game raises is its fault
            failure = Failure(_FAILED, Reason.ERROR, describe_error(error))
            if isinstance(error, _UnfitError):
                why = describe_error(error.__cause__ or error)
                failure = Failure(Ending.INTERRUPTED, Reason.UNFIT, why)
            ending, reason, detail = failure
            ended = EndedMatch(assignment.index, ending, [], reason, -1, detail, share_ms=0)
            self._buffer.ended.append(ended)
            return None
        match.began = began
        self.in_play.append(match)
        self._note_moved(match)
        return match

    def _build_match(self, assignment: Assignment) -> MatchInPlay:
        """Return the match with the actions applied that were taken before it came here."""
        setup, seats = self._setup, assignment.seats
        if len(seats) != self._n_seats or max(seats) >= len(setup.agents):
            has = f"{setup.spec.id} has {self._n_seats} seats, the order {len(setup.agents)} agents"
            raise OrderError(f"seats {seats}: {has}")
        state = setup.start_episode(assignment)
        fault = None
        if setup.faults is not None:
            # Of the lineup too: matches on one block fault independently.
            lineup = [setup.agents[agent].identity for agent in seats]
            seed = derive("faults", assignment.game_seed, *lineup)
            fault = draw_fault(setup.faults, seed, assignment.attempt, self._n_seats)
            if fault is not None and setup.faults.charge is Charge.PLATFORM:
                state = inject_into_state(
                    state, fault, hang_s=setup.faults.hang_s, sleep=self._sleep
                )
                fault = None
        # A server has them with the start: whether they fit is known with its first answer.
        for action in assignment.actions if not state.actions else ():
            # A seat that has decided before was struck before.
            if fault is not None and state.to_move() == fault.seat:
                fault = None
            self._show_call(assignment.index, 0, GAME)
            try:
                state.apply(action)
            except Exception as error:
                raise _UnfitError from error
        return MatchInPlay(assignment, state, fault)

    def apply_answer(
        self, match: MatchInPlay, answer: object, note: int, record: StepRecord | None = None
    ) -> None:
        """Apply what a seat answered, if it is an action; record it if somebody does.

        note: how long it took, and the value that was said (arena.move_notes).
        """
        action = read_action(answer)
        if action is None:
            detail = f"an action must be an int, got {describe_value(answer)}"
            self._refuse_answer(match, Failure(Ending.FORFEIT, Reason.INVALID, detail))
            return
        if not 0 <= action < self._n_actions:
            detail = f"action {describe_value(action)} is not in 0..{self._n_actions - 1}"
            self._refuse_answer(match, Failure(Ending.FORFEIT, Reason.ILLEGAL, detail), action)
            return
        recorder = self._setup.recorder
        self._show_call(match.index, match.turn, GAME)
        try:
            # Before the action: afterwards the state shows what comes of it.
            if recorder is not None and record is None:
                record = StepRecord(match.state.observation(match.turn), match.state.legal_mask())
            match.state.apply(action)
        except IllegalActionError as error:
            failure = Failure(Ending.FORFEIT, Reason.ILLEGAL, describe_error(error))
            self._refuse_answer(match, failure, action)
            return
        except Exception as error:  # whatever a game raises is its fault
            self.end_match(match, Failure(_FAILED, Reason.ERROR, describe_error(error)))
            return
        if recorder is not None and record is not None:
            recorder.add_step(match, match.turn, action, **record._asdict())
        match.n_steps += 1
        self._buffer.acted.extend((match.index, action, note))
        self._note_moved(match)

    def _refuse_answer(
        self, match: MatchInPlay, failure: Failure, action: int | None = None
    ) -> None:
        self.end_match(match, self.find_game_fault(match, refused=action) or failure)

    def find_game_fault(self, match: MatchInPlay, *, refused: int | None = None) -> Failure | None:
        """Return how a match ends in which no agent could decide; None where its agent could.

        refused: the action that was not taken.
        """
        self._show_call(match.index, match.turn, GAME)
        try:
            if len(match.state.actions) != match.n_steps:
                return None  # its agent has played on in it, and made the position that is there
            check_position(match.state, match.turn, self._setup.spec, refused=refused)
        except Exception as error:  # whatever a game raises is its fault
            return Failure(_FAILED, Reason.ERROR, describe_error(error))
        return None

    def _note_moved(self, match: MatchInPlay) -> None:
        if self._looks_later:
            self._moved.append(match)
        else:
            self._find_next_seat(match)

    def look_at_states(self, group: int) -> None:
        """Find out who is next in the matches of a group that have moved or begun elsewhere."""
        moved, self._moved = self._moved, []
        for match in moved:
            if match.group != group:
                self._moved.append(match)
            elif not match.is_over:
                self._show_call(match.index, max(match.turn, 0), GAME)
                self._find_next_seat(match)

    def _find_next_seat(self, match: MatchInPlay) -> None:
        """Ask the game who is next, and end the match when nobody is."""
        try:
            match.turn = read_seat(match.state.to_move(), self._n_seats)
            returns = match.state.returns() if match.turn == OVER else None
            result = None if returns is None else ranks(returns, self._n_seats, self._teams)
        except InvalidReturnsError as error:
            self.end_match(match, Failure(_FAILED, Reason.INVALID, describe_error(error)))
        except (ServerLostError, ServerFaultError) as error:
            self.end_match(match, failure_of_server(error))
        except IllegalActionError as error:
            # Of a server that was given the actions of an earlier attempt with the start.
            self.end_match(match, Failure(Ending.INTERRUPTED, Reason.UNFIT, describe_error(error)))
        except Exception as error:  # whatever a game raises is its fault
            self.end_match(match, Failure(_FAILED, Reason.ERROR, describe_error(error)))
        else:
            if result is not None:
                self._close_match(match, Ending.DONE, result, returns=returns)
            elif match.n_steps >= self._max_steps:
                detail = f"not over after {self._max_steps} steps"
                self.end_match(match, Failure(_FAILED, Reason.TOO_LONG, detail))

    def end_match(self, match: MatchInPlay, failure: Failure) -> None:
        """End a match that cannot go on; a forfeit or crash is charged to the seat to move."""
        ending, reason, detail = failure
        is_forfeit = ending is Ending.FORFEIT
        seat = match.turn if is_forfeit or reason is Reason.CRASH else -1
        result = forfeit_ranks(seat, self._n_seats, self._teams) if is_forfeit else []
        self._close_match(match, ending, result, reason, seat=seat, detail=detail)

    def _close_match(
        self,
        match: MatchInPlay,
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
        _leave_server(match)
        share_ms = 1000 * (self._add_share() - match.began)
        shared = list(returns) if returns is not None else []
        ended = EndedMatch(
            match.index, ending, ranks, reason, seat, detail, share_ms, returns=shared
        )
        recorder = self._setup.recorder
        # Told only once its trajectory is stored: else control would count what cannot be read.
        if recorder is not None and recorder.add_ending(match, ended, returns):
            self.n_held_back += 1
        else:
            self._buffer.ended.append(ended)

    def report_stored(self, *, flush: bool) -> None:
        """Report the endings whose trajectories have been stored meanwhile."""
        if self._setup.recorder is not None:
            with self._call_memory.show_waiting():
                stored = self._setup.recorder.store_due(flush=flush)
            self.n_held_back -= len(stored)
            self._buffer.ended += stored

    def _add_share(self) -> float:
        """Return the seconds per match in play up to now."""
        now = self.clock()
        self._share_s += (now - self._shared_at) / (len(self.in_play) or 1)
        self._shared_at = now
        return self._share_s


def _leave_server(match: MatchInPlay) -> None:
    """Give up the episode of a match that is played elsewhere and has not ended there."""
    # Not by its type: an emulated fault may be wrapped around it.
    if leave := getattr(match.state, "leave", None):
        leave()
