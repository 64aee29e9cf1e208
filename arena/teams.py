"""The teams of a game: of each seat its team, numbered from 0; empty where each plays for itself.

All teams have as many seats: the skills of a team are summed, and a larger team would win for being
larger.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from arena.errors import UnsupportedGameError

Teams = tuple[int, ...]
NO_TEAMS: Teams = ()
Item = TypeVar("Item")
# One team plays against nobody, and a team of one seat is no team.
_FEWEST = 2


def check_teams(game: str, teams: Sequence[int], n_seats: int) -> None:
    """Raise UnsupportedGameError unless two or more teams share the seats alike, or none do."""
    if not teams:
        return
    sizes = Counter(teams)
    is_sound = (
        len(teams) == n_seats
        and sorted(sizes) == list(range(len(sizes)))
        and len(sizes) >= _FEWEST
        and len(set(sizes.values())) == 1
        and sizes[0] >= _FEWEST
    )
    if not is_sound:
        raise UnsupportedGameError(
            f"{game}: teams must be a team of each of {n_seats} seats, two or more from 0, all of "
            f"the same two or more seats (or empty: each for itself), got {tuple(teams)}"
        )


def n_teams(teams: Sequence[int], n_seats: int) -> int:
    """Return how many sides there are: teams, or seats where each plays for itself."""
    return max(teams) + 1 if teams else n_seats


def team_size(teams: Sequence[int]) -> int:
    """Return the seats of a team; 1 where each plays for itself."""
    return teams.count(0) if teams else 1


def n_opposed(teams: Sequence[int], n_seats: int) -> int:
    """Return how many pairs of seats play against each other in a match."""
    n_mates = team_size(teams) - 1
    # Each seat against all but itself and its mates, and every pair once.
    return n_seats * (n_seats - 1 - n_mates) // 2


def are_mates(teams: Sequence[int], seat: int, other: int) -> bool:
    """Return whether two seats are of one team; never where each plays for itself."""
    return bool(teams) and teams[seat] == teams[other]


def group_by_team(teams: Sequence[int], of_seats: Sequence[Item]) -> list[tuple[Item, ...]]:
    """Return for each team what belongs to its seats, in the order of the seats.

    of_seats: one item a seat. Raises ValueError for another number of items.
    """
    return [
        tuple(item for item, its in zip(of_seats, teams, strict=True) if its == team)
        for team in range(n_teams(teams, len(teams)))
    ]
