"""Who beat whom among the entrants of a tournament, or among agents of a leaderboard."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matches.models import Agent, Tournament
from pages.contenders import Contender
from pages.records import Record, count_records

MAX_ENTRANTS = 30
Named = Agent | Contender


class Cell(NamedTuple):
    """The record of a row against a column, None where they did not meet."""

    opponent: Named
    number: int
    record: Record | None
    is_self: bool


class Row(NamedTuple):
    """An entrant and its record against each of the others."""

    number: int
    agent: Named
    cells: list[Cell]


class Crosstable(NamedTuple):
    """Agents against each other.

    has_others: other tournaments played on the board, too; is_own: they are not counted here.
    """

    rows: list[Row]
    n_entrants: int
    has_others: bool = False
    is_own: bool = False

    @property
    def is_cut(self) -> bool:
        """Return True where there are more entrants than rows."""
        return self.n_entrants > len(self.rows)


def build_crosstable(
    tournament: Tournament,
    agents: Sequence[Contender],
    own: Mapping[tuple[int, int], Record],
    *,
    n_entrants: int,
    is_own: bool,
) -> Crosstable | None:
    """Return the crosstable of these entrants, None where none of them met: two queries at most.

    own: what they did in the tournament itself; with is_own False it is all that the leaderboard
    has counted.
    """
    board = tournament.leaderboard_id
    records = own if is_own else count_records(board, [agent.pk for agent in agents])
    rows = build_rows(agents, records)
    # By what they did themselves: the way back to it stays where the board has counted nothing.
    if not (own or any(cell.record for row in rows for cell in row.cells)):
        return None
    others = Tournament.objects.filter(leaderboard=board, is_rated=True).exclude(pk=tournament.pk)
    return Crosstable(rows, n_entrants, has_others=others.exists(), is_own=is_own)


def build_rows(agents: Sequence[Named], records: Mapping[tuple[int, int], Record]) -> list[Row]:
    """Return each agent's record against each of the others."""
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
