"""Searches all lines of a given depth by alpha-beta; beyond the horizon every state counts 0.

Sooner wins and later losses are preferred; among equal actions the row's seed picks.
"""

from collections.abc import Mapping, Sequence
from math import inf

from arena.games.base import Game, GameSpec
from arena.games.openspiel import NativeState, native_of
from arena.parameters import Parameter
from arena.policies.base import Row, accepted
from arena.policies.search import minimax_refusal

_DEPTH = Parameter("depth", 2, "plies to look ahead", 1, 12)
# By how much a return is worth more for every ply that it comes sooner, as a fraction of it.
_SOONER = 1e-3


class AlphaBetaPolicy:
    """Depth-limited minimax with alpha-beta pruning."""

    __slots__ = ("_depth", "last_values")

    def __init__(self, depth: int) -> None:
        """Keep the number of plies to look ahead, 1 or more."""
        self._depth = depth
        self.last_values: list[float] = []

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return the best action found per row; each row is searched on its own."""
        searched = [_search_row(row, self._depth) for row in rows]
        self.last_values = [value for _, value in searched]
        return [action for action, _ in searched]


class AlphaBetaKind:
    """Plays OpenSpiel's zero-sum games of two seats with neither chance nor hidden information."""

    id = "alphabeta"
    title = "Alpha-beta"
    version = 1
    is_batched = False
    parameters = (_DEPTH,)

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why the game cannot be searched by minimax, or None."""
        return minimax_refusal(spec)

    def build(self, game: Game, parameters: Mapping[str, object]) -> AlphaBetaPolicy:
        """Return the policy of that depth. Raises ParameterError or UnsupportedGameError."""
        return AlphaBetaPolicy(int(accepted(self, game, parameters)[_DEPTH.name]))


def _search_row(row: Row, depth: int) -> tuple[int, float]:
    """Return the first best action in a random order, as no later one exceeds alpha, and its value.

    A sooner win is worth a little more than it returns.
    """
    # Shuffled: among equal actions the first would win every time.
    native = native_of(row.state)
    actions = list(row.state.legal_actions())
    row.rng().shuffle(actions)
    best, alpha = actions[0], -inf
    for action in actions:
        value = _search_child(native.child(action), row.seat, depth - 1, alpha, inf)
        if value > alpha:
            best, alpha = action, value
    return best, alpha


def _search_child(state: NativeState, seat: int, depth: int, alpha: float, beta: float) -> float:
    """Return what the state is worth to the seat that has just moved.

    depth: plies left to the horizon. Exact inside (alpha, beta); outside a bound on that side.
    """
    if state.is_terminal():
        return state.player_return(seat) * (1 + _SOONER * depth)
    if depth == 0:
        return 0.0
    # Not always the other seat: in dots and boxes, who closes a box moves again.
    mover = state.current_player()
    if mover != seat:
        return -_search_best(state, mover, depth, -beta, -alpha)
    return _search_best(state, seat, depth, alpha, beta)


def _search_best(state: NativeState, mover: int, depth: int, alpha: float, beta: float) -> float:
    """Return the value of the best action of the seat to move, to that seat."""
    best = -inf
    for action in state.legal_actions():
        best = max(
            best, _search_child(state.child(action), mover, depth - 1, max(alpha, best), beta)
        )
        if best >= beta:
            break
    return best


POLICY = AlphaBetaKind()
