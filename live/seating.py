"""Games and seats in words, the same on every page."""

from typing import Any

from arena.errors import UnknownNameError
from arena.games import registry as games
from matches.models import Match
from matches.models.match import numbers

PAIR = 2


def game_title(game: str) -> str:
    """Return the title of a game, or its id when its catalog file is gone."""
    try:
        return games.get(game).spec.title
    except UnknownNameError:
        return game


def seats(shown: Match) -> list[dict[str, Any]]:
    """Return who sat where and how it ended for each, in words."""
    outcome = getattr(shown, "outcome", None)
    ranks = numbers(outcome.ranks) if outcome else []
    rows = sorted(shown.seat_rows.all(), key=lambda row: row.seat)
    return [
        {
            "seat": row.seat,
            "agent": row.agent,
            "result": _result(ranks, row.seat) if ranks else "",
            "is_guilty": outcome is not None and outcome.guilty_seat == row.seat,
        }
        for row in rows
    ]


def _result(ranks: list[int], seat: int) -> str:
    rank = ranks[seat]
    if ranks.count(rank) == len(ranks):
        return "draw"
    if len(ranks) == PAIR:
        return "lost" if rank else "won"
    return f"place {rank + 1}"
