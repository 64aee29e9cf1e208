"""Looks one action ahead: wins at once where it can, does not lose at once where it need not.

An action that ends the episode counts what it returns, every other counts 0; of the best ones the
row's seed picks. What the others may answer is not looked at.
"""

from collections.abc import Mapping, Sequence

from arena.games.base import Game, GameSpec
from arena.games.openspiel import native_of
from arena.parameters import Parameter
from arena.policies.base import Row, accepted
from arena.policies.search import search_refusal


class GreedyPolicy:
    """One-ply lookahead."""

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return an action of the best immediate return per row."""
        return [_choose_action(row) for row in rows]


class GreedyKind:
    """Plays OpenSpiel's games of perfect information, with or without chance, for any seats."""

    id = "greedy"
    title = "Greedy, one ply"
    version = 1
    is_batched = False
    parameters: tuple[Parameter, ...] = ()

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why the game cannot be looked ahead in, or None."""
        return search_refusal(spec)

    def build(self, game: Game, parameters: Mapping[str, object]) -> GreedyPolicy:
        """Return the policy. Raises ParameterError or UnsupportedGameError."""
        accepted(self, game, parameters)
        return GreedyPolicy()


def _choose_action(row: Row) -> int:
    native = native_of(row.state)
    children = {action: native.child(action) for action in row.state.legal_actions()}
    values = {
        action: child.player_return(row.seat) if child.is_terminal() else 0.0
        for action, child in children.items()
    }
    best = max(values.values())
    return row.pick([action for action, value in values.items() if value == best])


POLICY = GreedyKind()
