"""A match in a player's hand that has begun."""

from arena.faults import Fault
from arena.games.base import OVER, State
from workers.wire import Item


class Live:
    """A match that has begun."""

    __slots__ = (
        "attempt",
        "began",
        "fault",
        "game_seed",
        "index",
        "is_over",
        "match",
        "n_steps",
        "seats",
        "state",
        "turn",
    )

    def __init__(self, item: Item, state: State, fault: Fault | None) -> None:
        """Start from a state whose recorded actions have been applied."""
        self.index, self.match, self.attempt = item.index, item.match, item.attempt
        self.game_seed, self.seats = item.game_seed, item.seats
        self.n_steps = len(item.actions)
        self.state, self.fault = state, fault
        self.turn = OVER
        self.began = 0.0
        self.is_over = False
