"""Takes the move that may be expected to do most damage, in battles of Pokemon Showdown.

Whoever must be replaced is followed by any of the others.
"""

from collections.abc import Mapping, Sequence

from arena.games.base import Game, GameSpec
from arena.games.showdown.sight import is_move, look, refuse_game
from arena.parameters import Parameter
from arena.policies.base import Row, accepted


class MaxDamagePolicy:
    """Never leaves of its own will."""

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return an action per row."""
        return [_choose_action(row) for row in rows]


class MaxDamageKind:
    """Plays battles of any format that the simulator of Showdown hosts here."""

    id = "max_damage"
    title = "Most damage (Pokemon)"
    version = 1
    is_batched = False
    parameters: tuple[Parameter, ...] = ()

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why the game cannot be read, or None."""
        return refuse_game(spec)

    def build(self, game: Game, parameters: Mapping[str, object]) -> MaxDamagePolicy:
        """Return the policy. Raises ParameterError or UnsupportedGameError."""
        accepted(self, game, parameters)
        return MaxDamagePolicy()


def _choose_action(row: Row) -> int:
    legal = row.state.legal_actions()
    moves = [action for action in legal if is_move(action)]
    if not moves:
        return row.pick(legal)
    damage = look(row.state, row.seat).of("own_move", "damage")
    most = max(damage[move] for move in moves)
    return row.pick([move for move in moves if damage[move] == most])


POLICY = MaxDamageKind()
