"""The matches that a player has in hand, stepped decision by decision.

Where some agent decides rows together, all matches advance in lockstep, one block per agent and
step. Where none does, lockstep would only put more matches at risk of a kill: they are played one
after the other. Every call of an agent or of the game is shown on the beacon before it is made.
"""

from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter, sleep

from arena.errors import IllegalActionError, InvalidReturnsError
from arena.faults import Charge, Fault, draw, struck_action, struck_state
from arena.games.base import OVER, State, forfeit_ranks, ranks
from arena.messages import Ending, Reason
from arena.policies.base import Row
from arena.seeding import derive
from workers.beacon import Beacon, Phase
from workers.building import OrderError, Setup
from workers.live import Live
from workers.referee import read_action, reason_of, shown
from workers.stream import Stream
from workers.wire import EndedRow, Item

POLICY, GAME, BLOCK = Phase.POLICY, Phase.GAME, Phase.BLOCK


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
        self._setup, self._beacon, self._stream = setup, beacon, stream
        self._clock, self._sleep = clock, sleep
        self._show = beacon.show
        self._is_batched = setup.is_batched
        self._n_seats, self._n_actions = setup.spec.n_seats, setup.spec.n_actions
        self._max_steps = setup.spec.max_steps
        self._waiting: deque[Item] = deque()
        self._live: list[Live] = []
        self._n_over = 0
        # Seconds of this player per match in play: what one match takes, lockstep or not.
        self._share_s = 0.0
        self._shared_at = clock()

    @property
    def is_busy(self) -> bool:
        """True while there is something to play."""
        return bool(self._live or self._waiting)

    def add(self, items: Sequence[Item]) -> None:
        """Take matches in hand."""
        self._waiting.extend(items)

    def release(self, n: int, *, is_begun_too: bool) -> list[int]:
        """Give back up to n matches, the last ones first; return their indices."""
        given = [self._waiting.pop().index for _ in range(min(n, len(self._waiting)))]
        if is_begun_too and len(given) < n:
            keep = max(0, len(self._live) - (n - len(given)))
            self._share()
            given += [match.index for match in self._live[keep:]]
            del self._live[keep:]
        return given

    def step(self) -> None:
        """Play one decision of the match in play, or of all that play in lockstep."""
        if self._is_batched:
            self._step_all()
        elif self._live:
            self._advance(self._live[0])
        else:
            self._begin(self._waiting.popleft())
        if self._n_over:
            self._live = [match for match in self._live if not match.is_over]
            self._n_over = 0

    # Beginning

    def _begin(self, item: Item) -> None:
        self._show(item.index, 0, GAME)
        began = self._share()
        try:
            match = self._start(item)
        except Exception as error:  # whatever a game raises is its fault
            why = reason_of(error)
            row = EndedRow(item.index, Ending.FAILED, [], Reason.ERROR, -1, why, share_ms=0)
            self._stream.ended.append(row)
            return
        match.began = began
        self._live.append(match)
        self._go_on(match)

    def _start(self, item: Item) -> Live:
        setup = self._setup
        if len(item.seats) != self._n_seats or max(item.seats) >= len(setup.agents):
            has = f"{setup.spec.id} has {self._n_seats} seats, the order {len(setup.agents)} agents"
            raise OrderError(f"seats {item.seats}: {has}")
        state = setup.game.start(item.game_seed, opening_plies=setup.opening_plies)
        fault = None
        if setup.faults is not None:
            fault = draw(setup.faults, self._fault_seed(item), item.attempt, self._n_seats)
            if fault is not None and setup.faults.charge is Charge.PLATFORM:
                state = struck_state(state, fault, hang_s=setup.faults.hang_s, sleep=self._sleep)
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

    # Deciding

    def _step_all(self) -> None:
        while self._waiting:
            self._begin(self._waiting.popleft())
        by_agent: dict[int, list[Live]] = {}
        for match in self._live:
            if not match.is_over:
                by_agent.setdefault(match.seats[match.turn], []).append(match)
        for agent, block in by_agent.items():
            if self._setup.agents[agent].is_batched and len(block) > 1:
                self._advance_block(agent, block)
            else:
                self._advance_each(block)

    def _advance_block(self, agent: int, block: list[Live]) -> None:
        struck = [match for match in block if _is_struck(match)]
        together = [match for match in block if not _is_struck(match)]
        answers = self._decide_together(agent, together)
        if len(answers) == len(together):
            for match, answer in zip(together, answers, strict=True):
                self._play(match, answer)
                self._stream.pulse()
            self._advance_each(struck)
        else:
            self._advance_each(block)

    def _advance_each(self, block: list[Live]) -> None:
        for match in block:
            self._advance(match)
            self._stream.pulse()

    def _decide_together(self, agent: int, block: list[Live]) -> list[object]:
        """Return one answer per match, or none at all when they must be asked one by one."""
        rows = [Row(match.state, match.turn, match.game_seed) for match in block]
        self._stream.announce(agent, [match.index for match in block])
        self._show(agent, 0, BLOCK)
        try:
            return list(self._setup.agents[agent].policy.act(rows))
        except Exception:  # asked one by one, the guilty row raises again and is charged
            return []

    def _advance(self, match: Live) -> None:
        """Play one decision of one match."""
        self._show(match.index, match.turn, POLICY)
        try:
            answer = self._decide_struck(match) if _is_struck(match) else self._decide(match)
        except Exception as error:  # whatever an agent raises is its fault: it forfeits
            self._forfeit(match, Reason.CRASH, reason_of(error))
        else:
            self._play(match, answer)

    def _decide(self, match: Live) -> object:
        agent = self._setup.agents[match.seats[match.turn]]
        answers = agent.policy.act([Row(match.state, match.turn, match.game_seed)])
        try:
            (answer,) = answers
        except (TypeError, ValueError):
            return answers  # no action either: refused as what it is
        return answer

    def _decide_struck(self, match: Live) -> object:
        """Return the answer of a seat that a fault strikes, once."""
        fault, plan = match.fault, self._setup.faults
        if fault is None or plan is None:
            return self._decide(match)
        match.fault = None
        return struck_action(
            fault, hang_s=plan.hang_s, sleep=self._sleep, act=lambda: self._decide(match)
        )

    # Playing

    def _play(self, match: Live, answer: object) -> None:
        """Apply what a seat answered, if it is an action."""
        action = read_action(answer)
        if action is None:
            self._forfeit(match, Reason.INVALID, f"an action must be an int, got {shown(answer)}")
        elif not 0 <= action < self._n_actions:
            detail = f"action {shown(action)} is not in 0..{self._n_actions - 1}"
            self._forfeit(match, Reason.ILLEGAL, detail)
        else:
            self._apply(match, action)

    def _apply(self, match: Live, action: int) -> None:
        self._show(match.index, match.turn, GAME)
        try:
            match.state.apply(action)
        except IllegalActionError as error:
            self._forfeit(match, Reason.ILLEGAL, reason_of(error))
            return
        except Exception as error:  # whatever a game raises is its fault
            self._fail(match, Reason.ERROR, reason_of(error))
            return
        match.n_steps += 1
        acted = self._stream.acted
        acted.append(match.index)
        acted.append(action)
        self._go_on(match)

    def _go_on(self, match: Live) -> None:
        """Ask the game who is next, and end the match when nobody is."""
        try:
            match.turn = match.state.to_move()
            result = ranks(match.state.returns(), self._n_seats) if match.turn == OVER else None
        except InvalidReturnsError as error:
            self._fail(match, Reason.INVALID, reason_of(error))
        except Exception as error:  # whatever a game raises is its fault
            self._fail(match, Reason.ERROR, reason_of(error))
        else:
            if result is not None:
                self._end(match, Ending.DONE, result)
            elif match.n_steps >= self._max_steps:
                self._fail(match, Reason.TOO_LONG, f"not over after {self._max_steps} steps")

    # Ending

    def _forfeit(self, match: Live, reason: Reason, detail: str) -> None:
        seat = match.turn
        self._end(match, Ending.FORFEIT, forfeit_ranks(seat, self._n_seats), reason, seat, detail)

    def _fail(self, match: Live, reason: Reason, detail: str) -> None:
        self._end(match, Ending.FAILED, [], reason, -1, detail)

    def _end(
        self,
        match: Live,
        ending: Ending,
        ranks: list[int],
        reason: Reason = Reason.NONE,
        seat: int = -1,
        detail: str = "",
    ) -> None:
        match.is_over = True
        self._n_over += 1
        share_ms = 1000 * (self._share() - match.began)
        row = EndedRow(match.index, ending, ranks, reason, seat, detail, share_ms)
        self._stream.ended.append(row)

    def _share(self) -> float:
        """Return the seconds per match in play up to now."""
        now = self._clock()
        self._share_s += (now - self._shared_at) / (len(self._live) or 1)
        self._shared_at = now
        return self._share_s


def _is_struck(match: Live) -> bool:
    return match.fault is not None and match.fault.seat == match.turn
