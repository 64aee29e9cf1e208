"""Games and seats in words, the same on every page."""

from typing import Any

from arena.errors import ArenaError
from arena.games import registry as games
from arena.teams import NO_TEAMS, Teams, are_mates, team_size
from matches.models import Match
from matches.models.match import parse_numbers

PAIR = 2


def seats(shown: Match, *, game: str) -> list[dict[str, Any]]:
    """Return who sat where and how it ended for each, in words; team mates one after the other."""
    outcome = getattr(shown, "outcome", None)
    ranks = parse_numbers(outcome.ranks) if outcome else []
    teams = _teams(game)
    rows = sorted(shown.seat_rows.all(), key=lambda row: (_team(teams, row.seat), row.seat))
    return [
        {
            "seat": row.seat,
            "team": _team(teams, row.seat) + 1 if teams else None,
            "joins": before is not None and are_mates(teams, before.seat, row.seat),
            "agent": row.agent,
            "result": _result(ranks, row.seat, team_size(teams)) if ranks else "",
            "is_guilty": outcome is not None and outcome.guilty_seat == row.seat,
        }
        for before, row in zip([None, *rows], rows, strict=False)
    ]


def _teams(game: str) -> Teams:
    """Return the team of each seat; none where the file of the game cannot be used."""
    try:
        return games.get(game).spec.teams
    except ArenaError:
        return NO_TEAMS


def _team(teams: Teams, seat: int) -> int:
    return teams[seat] if teams else 0


def _result(ranks: list[int], seat: int, size: int) -> str:
    rank = ranks[seat]
    if ranks.count(rank) == len(ranks):
        return "draw"
    if len(ranks) == PAIR * size:
        return "lost" if rank else "won"
    return f"place {rank // size + 1}"
