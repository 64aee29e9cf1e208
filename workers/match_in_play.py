"""A match of a player that has begun."""

from arena.fault_injection import Fault
from arena.games.base import OVER, State
from arena.policies.base import Row
from workers.wire import Assignment


class MatchInPlay:
    """A match in play; `group` is the one of two that it is stepped with."""

    __slots__ = (
        "attempt",
        "began",
        "fault",
        "game_seed",
        "group",
        "index",
        "is_over",
        "match",
        "n_steps",
        "seats",
        "state",
        "turn",
    )

    def __init__(self, assignment: Assignment, state: State, fault: Fault | None) -> None:
        """Start from a state whose recorded actions have been applied."""
        self.index, self.match, self.attempt = (
            assignment.index,
            assignment.match,
            assignment.attempt,
        )
        self.game_seed, self.seats = assignment.game_seed, assignment.seats
        self.n_steps = len(assignment.actions)
        self.state, self.fault = state, fault
        self.turn = OVER
        self.began = 0.0
        self.group = 0
        self.is_over = False

    @property
    def agent(self) -> int:
        """The agent that decides next."""
        return self.seats[self.turn]

    @property
    def is_struck(self) -> bool:
        """True when an emulated fault strikes the seat that decides next."""
        return self.fault is not None and self.fault.seat == self.turn

    def decision_row(self) -> Row:
        """Return the decision that is due."""
        return Row(self.state, self.turn, self.game_seed)
