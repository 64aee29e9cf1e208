"""Who scored how much against whom among the first agents of a board."""

from collections.abc import Sequence
from typing import NamedTuple

from matches.models import PairCount
from matches.ratings.standings import Row

N_AGENTS = 20
EVEN = 50


class Cell(NamedTuple):
    """The score of the row's agent against the column's: wins and half of the draws, in percent."""

    n: int
    score: int
    title: str

    @property
    def strength(self) -> int:
        """Return how far the score is from even, 0 to 100: how strongly the cell is coloured."""
        return 2 * abs(self.score - EVEN)


class Line(NamedTuple):
    """An agent and its cells; None where it would meet itself."""

    row: Row
    cells: list[Cell | None]


def matrix(board_id: int, rows: Sequence[Row]) -> list[Line]:
    """Return the score of each of the first rows against each. One query of bounded size."""
    top = rows[:N_AGENTS]
    met = _met(board_id, [row["agent"] for row in top])
    return [
        Line(row, [_cell(row, other, met) if row is not other else None for other in top])
        for row in top
    ]


def _met(board_id: int, agents: Sequence[int]) -> dict[tuple[int, int], list[int]]:
    """Return wins, draws and losses of the first against the second, whoever sat first."""
    counts = PairCount.objects.filter(
        leaderboard=board_id, first__in=agents, second__in=agents
    ).values_list("first", "second", "n_first_wins", "n_draws", "n_second_wins")
    met: dict[tuple[int, int], list[int]] = {}
    for first, second, *there in counts:
        for pair, added in (((first, second), there), ((second, first), there[::-1])):
            before = met.get(pair, [0, 0, 0])
            met[pair] = [a + b for a, b in zip(before, added, strict=True)]
    return met


def _cell(row: Row, other: Row, met: dict[tuple[int, int], list[int]]) -> Cell:
    wins, draws, losses = met.get((row["agent"], other["agent"]), [0, 0, 0])
    n = wins + draws + losses
    names = f"{row['name']} against {other['name']}"
    if not n:
        return Cell(0, 0, f"{names}: not met")
    counts = f"{wins:,} won, {draws:,} drawn, {losses:,} lost"
    score = round(100 * (wins + draws / 2) / n)
    return Cell(n, score, f"{names}: {counts}")
