"""What the policies that look ahead share: which games they can copy and search."""

from arena.games.base import GameSpec
from arena.games.openspiel import ENGINE

_MINIMAX_SEATS = 2


def search_refusal(spec: GameSpec) -> str | None:
    """Return why a policy cannot look ahead in the game, or None when it can."""
    if spec.has_hidden_information:
        return "it looks ahead, which would reveal the hidden information of the game"
    if spec.engine != ENGINE:
        return "it looks ahead in copies of OpenSpiel's states, which this game has not"
    return None


def minimax_refusal(spec: GameSpec) -> str | None:
    """Return why a policy cannot search the game by minimax, or None when it can."""
    if spec.n_seats != _MINIMAX_SEATS:
        return f"it is for two seats, the game has {spec.n_seats}"
    if spec.has_chance:
        return "it is for games without chance"
    if not spec.is_zero_sum:
        return "it is for games in which one seat wins what the other loses"
    return search_refusal(spec)
