"""Who beat whom among the entrants of a tournament."""

from typing import NamedTuple

from matches.models import Agent, Rating, Tournament
from pages import records
from pages.records import Record

MAX_ENTRANTS = 30


class Cell(NamedTuple):
    """The record of a row against a column, None where they did not meet."""

    opponent: Agent
    number: int
    record: Record | None
    is_self: bool


class Row(NamedTuple):
    """An entrant and its record against each of the others."""

    number: int
    agent: Agent
    cells: list[Cell]


class Crosstable(NamedTuple):
    """The strongest entrants against each other.

    Counts are kept per leaderboard: has_others says that other tournaments played on it too.
    """

    rows: list[Row]
    n_entrants: int
    has_others: bool

    @property
    def is_cut(self) -> bool:
        """Return True where there are more entrants than rows."""
        return self.n_entrants > len(self.rows)


def of_tournament(tournament: Tournament, *, n_entrants: int) -> Crosstable | None:
    """Return the crosstable, None where none is counted: three queries, bounded by the rows."""
    if not tournament.is_rated:
        return None
    agents = _strongest(tournament)
    found = records.among(tournament.leaderboard_id, [agent.pk for agent in agents])
    if not found:
        return None
    numbered = list(enumerate(agents, 1))
    rows = [
        Row(number, agent, [_cell(agent, other, place, found) for place, other in numbered])
        for number, agent in numbered
    ]
    return Crosstable(rows, n_entrants, _has_others(tournament))


def _cell(agent: Agent, other: Agent, number: int, found: dict[tuple[int, int], Record]) -> Cell:
    record = found.get((agent.pk, other.pk))
    return Cell(other, number, record, is_self=agent.pk == other.pk)


def _strongest(tournament: Tournament) -> list[Agent]:
    rated = Rating.objects.filter(
        leaderboard=tournament.leaderboard_id, agent__entrant__tournament=tournament
    )
    best = rated.order_by("-mu", "agent_id").select_related("agent")[:MAX_ENTRANTS]
    return [rating.agent for rating in best]


def _has_others(tournament: Tournament) -> bool:
    others = Tournament.objects.filter(leaderboard=tournament.leaderboard_id, is_rated=True)
    return others.exclude(pk=tournament.pk).exists()
