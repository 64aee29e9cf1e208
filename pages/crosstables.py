"""Who beat whom among the entrants of a tournament."""

from collections.abc import Sequence
from typing import NamedTuple

from matches.models import Agent, Rating, Tournament
from pages.records import Record, count_records

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
    """The strongest entrants against each other; has_others: others played on the board too."""

    rows: list[Row]
    n_entrants: int
    has_others: bool

    @property
    def is_cut(self) -> bool:
        """Return True where there are more entrants than rows."""
        return self.n_entrants > len(self.rows)


def build_crosstable(tournament: Tournament, *, n_entrants: int) -> Crosstable | None:
    """Return the crosstable, None where none is counted: three queries, bounded by the rows."""
    if not tournament.is_rated:
        return None
    board = tournament.leaderboard_id
    rated = Rating.objects.filter(leaderboard=board, agent__entrant__tournament=tournament)
    best = rated.order_by("-mu", "agent_id").select_related("agent")[:MAX_ENTRANTS]
    agents = [rating.agent for rating in best]
    rows = build_rows(board, agents)
    if not any(cell.record for row in rows for cell in row.cells):
        return None
    # Pairs are counted per leaderboard: the page says so where other tournaments played on it.
    others = Tournament.objects.filter(leaderboard=board, is_rated=True).exclude(pk=tournament.pk)
    return Crosstable(rows, n_entrants, others.exists())


def build_rows(board: int, agents: Sequence[Agent]) -> list[Row]:
    """Return each agent's record against each of the others on a leaderboard: one query."""
    records = count_records(board, [agent.pk for agent in agents])
    numbered = list(enumerate(agents, 1))
    return [
        Row(
            number,
            agent,
            [
                Cell(other, place, records.get((agent.pk, other.pk)), is_self=agent == other)
                for place, other in numbered
            ],
        )
        for number, agent in numbered
    ]
