"""Who scored how much against whom among the first agents of a board."""

from collections.abc import Sequence
from typing import NamedTuple

from matches.ratings.standings import Row
from pages.records import Record, count_records

N_AGENTS = 20


class Cell(NamedTuple):
    """The score of the row's agent against this one: wins and half of the draws, in percent."""

    agent: int
    n: int
    score: int
    title: str


class Line(NamedTuple):
    """An agent and its cells; None where it would meet itself."""

    row: Row
    cells: list[Cell | None]


def build_matrix(board_id: int, rows: Sequence[Row]) -> list[Line]:
    """Return the score of each of the first rows against each. One query of bounded size."""
    top = rows[:N_AGENTS]
    records = count_records(board_id, [row["agent"] for row in top])

    def describe_pair(row: Row, other: Row) -> Cell | None:
        if row is other:
            return None
        record = records.get((row["agent"], other["agent"]), Record())
        names = f"{row['name']} against {other['name']}"
        if not record.n:
            return Cell(other["agent"], 0, 0, f"{names}: not met")
        counts = f"{record.wins:,} won, {record.draws:,} drawn, {record.losses:,} lost"
        return Cell(other["agent"], record.n, record.percent, f"{names}: {counts}")

    return [Line(row, [describe_pair(row, other) for other in top]) for row in top]
