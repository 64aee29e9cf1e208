"""Who beat whom among the entrants of a tournament, or among agents of a leaderboard."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matches.models import Agent, Tournament
from pages.contenders import Contender
from pages.records import Record, count_records

MAX_ENTRANTS = 30
EVEN = 50
Named = Agent | Contender


class Cell(NamedTuple):
    """The record of a row against a column, None where they did not meet.

    Its texts are made here and not by the template: there are hundreds. address: under /compare/.
    """

    record: Record | None
    is_self: bool
    share: str = ""
    n: str = ""
    title: str = ""
    address: str = ""

    @property
    def side(self) -> str:
        """Return on which side of half the points it is."""
        return "below" if self.record and self.record.percent < EVEN else "above"


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
    return [
        Row(
            number,
            agent,
            [_describe_cell(agent, other, records.get((agent.pk, other.pk))) for other in agents],
        )
        for number, agent in enumerate(agents, 1)
    ]


def _describe_cell(agent: Named, other: Named, record: Record | None) -> Cell:
    if agent.pk == other.pk:
        return Cell(None, is_self=True)
    address = f"{agent.pk}/{other.pk}/"
    if not record:
        return Cell(None, False, title=f"{agent} did not meet {other}", address=address)
    won = f"{record.wins:,} won, {record.draws:,} drawn, {record.losses:,} lost"
    title = f"{agent} against {other}: {won}"
    return Cell(record, False, f"{record.percent}", f"{record.n:,}", title, address)
