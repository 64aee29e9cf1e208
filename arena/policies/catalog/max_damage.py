"""Takes the move that may be expected to do most damage, in battles of Pokemon Showdown.

It never leaves of its own will; whoever must be replaced is followed by any of the others.
"""

from arena.games.showdown.sight import is_move, look, refuse_game
from arena.policies.base import Row
from arena.policies.by_row import RowKind


def _choose_action(row: Row) -> int:
    legal = row.state.legal_actions()
    moves = [action for action in legal if is_move(action)]
    if not moves:
        return row.pick(legal)
    damage = look(row.state, row.seat).of("own_move", "damage")
    most = max(damage[move] for move in moves)
    return row.pick([move for move in moves if damage[move] == most])


POLICY = RowKind("max_damage", "Most damage (Pokemon)", _choose_action, refuse_game)
