"""Weighs damage, ailments, healing and switches by rules of thumb, in battles of Pokemon Showdown.

Every action is worth about the share of a Pokemon that it wins or saves; the constants were chosen
by hand and tried against `max_damage`.
"""

from typing import Final

import numpy as np

from arena.games.showdown.layout import N_MOVES
from arena.games.showdown.sight import Numbers, Sight, look, refuse_game
from arena.policies.base import Row
from arena.policies.by_row import RowKind

AILMENTS: Final = {"sleeps": 0.8, "paralyses": 0.5, "poisons": 0.25, "confuses": 0.15}
RAISE: Final = 0.35
SWITCH_COST: Final = 0.45
"""Who enters takes a move, and gives none."""
CHARGED: Final = 0.6
"""What is left of a blow that takes two turns."""
EXPLODED: Final = 0.8
"""What an explosion costs of one's own HP."""
SURE_WIN: Final = 0.5
"""What a blow is worth beyond what it takes if it is likely to be the last."""
CALM: Final = 0.4
"""A threat that leaves time to prepare."""
WHOLE: Final = 0.7
"""HP that are enough to prepare."""
AT_LEISURE: Final = 0.5
"""A threat that can be outhealed."""
HEALED: Final = (1.2, 0.5)
"""What a share of HP that is healed is worth, at leisure and under fire."""
FRESH: Final = 0.3
"""What the HP of who enters are worth."""
STATUSES: Final = ("brn", "par", "slp", "frz", "psn")


def _choose_action(row: Row) -> int:
    legal = row.state.legal_actions()
    sight = look(row.state, row.seat)
    worth = np.concatenate([_weigh_moves(sight), _weigh_switches(sight)])
    best = max(worth[action] for action in legal)
    return row.pick([action for action in legal if worth[action] == best])


def _weigh_moves(sight: Sight) -> Numbers:
    """Return the worth of each move."""
    their_hp, own_hp = max(sight.hp("their_pokemon"), 0.01), sight.hp("own_pokemon")
    damage = sight.of("own_move", "damage")
    wins = damage >= their_hp
    worth = np.minimum(damage / their_hp, 1.0) + SURE_WIN * wins * sight.of("own_move", "accuracy")
    # Lost is the turn before or after, or who uses it.
    worth = worth * np.where(sight.of("own_move", "charges") > 0, CHARGED, 1.0)
    worth = worth * np.where((sight.of("own_move", "recharges") > 0) & ~wins, CHARGED, 1.0)
    worth = worth - sight.of("own_move", "faints_user") * own_hp * EXPLODED
    return worth + _weigh_ailments(sight) + _weigh_care(sight, own_hp)


def _weigh_ailments(sight: Sight) -> Numbers:
    """Return the worth of moves that give the opponent an ailment."""
    out = sight.of("their_pokemon", "is_active")
    is_ill = any((sight.of("their_pokemon", status) * out).any() for status in STATUSES)
    is_confused = sight.of("their_side", "confusion").any()
    is_walled = sight.of("their_side", "substitute").any()
    worth = np.zeros(N_MOVES)
    for ailment, value in AILMENTS.items():
        if not (is_walled or (is_confused if ailment == "confuses" else is_ill)):
            worth += value * sight.of("own_move", ailment)
    # An immune type is immune to the ailments of that type, too.
    return worth * sight.of("own_move", "accuracy") * (sight.of("own_move", "effectiveness") > 0)


def _weigh_care(sight: Sight, own: float) -> Numbers:
    """Return what healing and preparing are worth."""
    threat = float(sight.of("own_pokemon", "worst_damage")[sight.active])
    heals = sight.of("own_move", "heals") * sight.of("own_move", "is_status")
    care = heals * (1.0 - own) * HEALED[threat >= AT_LEISURE]
    is_safe = own > WHOLE and threat < CALM
    return care + sight.of("own_move", "raises_own") * RAISE * is_safe


def _weigh_switches(sight: Sight) -> Numbers:
    """Return the worth of each switch: how much better the newcomer stands than the active one."""
    standing = sight.of("own_pokemon", "best_damage") - sight.of("own_pokemon", "worst_damage")
    standing = standing + FRESH * sight.of("own_pokemon", "hp")
    if sight.of("field", "must_switch").any():
        return standing
    stays = float(standing[sight.active]) + SWITCH_COST
    return standing - stays


POLICY = RowKind("showdown_heuristics", "Rules of thumb (Pokemon)", _choose_action, refuse_game)
