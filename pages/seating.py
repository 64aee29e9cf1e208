"""Games and seats in words, the same on every page."""

from typing import Any

from arena.errors import ArenaError
from arena.games import registry as games
from arena.teams import NO_TEAMS, are_mates, team_size
from matches.models import Match
from matches.models.match import parse_numbers

PAIR = 2


def list_seats(match: Match, *, game: str) -> list[dict[str, Any]]:
    """Return who sat where and how it ended for each, in words; team mates one after the other."""
    outcome = getattr(match, "outcome", None)
    ranks = parse_numbers(outcome.ranks) if outcome else []
    try:
        teams = games.get(game).spec.teams
    except ArenaError:
        teams = NO_TEAMS  # the file of the game is gone or broken: its matches are still shown
    team_of = dict(enumerate(teams))
    # Seats are taken from the prefetched rows: ordering them in the database would ask it again.
    rows = sorted(match.seat_rows.all(), key=lambda row: (team_of.get(row.seat, 0), row.seat))
    return [
        {
            "seat": row.seat,
            "team": team_of[row.seat] + 1 if teams else None,
            "joins": before is not None and are_mates(teams, before.seat, row.seat),
            "agent": row.agent,
            "result": _describe_rank(ranks, row.seat, team_size(teams)) if ranks else "",
            "is_guilty": outcome is not None and outcome.guilty_seat == row.seat,
        }
        for before, row in zip([None, *rows], rows, strict=False)
    ]


def _describe_rank(ranks: list[int], seat: int, size: int) -> str:
    rank = ranks[seat]
    if ranks.count(rank) == len(ranks):
        return "draw"
    if len(ranks) == PAIR * size:
        return "lost" if rank else "won"
    # Mates share a rank, so that places are counted in teams.
    return f"place {rank // size + 1}"
