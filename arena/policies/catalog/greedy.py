"""Looks one action ahead: wins at once where it can, does not lose at once where it need not.

An action that ends the episode counts what it returns, every other counts 0; of the best ones the
row's seed picks. What the others may answer is not looked at.
"""

from arena.games.openspiel import native_of
from arena.policies.base import Row
from arena.policies.by_row import RowKind
from arena.policies.search import search_refusal


def _choose_action(row: Row) -> int:
    native = native_of(row.state)
    children = {action: native.child(action) for action in row.state.legal_actions()}
    values = {
        action: child.player_return(row.seat) if child.is_terminal() else 0.0
        for action, child in children.items()
    }
    best = max(values.values())
    return row.pick([action for action, value in values.items() if value == best])


POLICY = RowKind("greedy", "Greedy, one ply", _choose_action, search_refusal)
