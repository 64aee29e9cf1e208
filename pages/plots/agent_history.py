"""The rating of an agent over time, to be drawn: from snapshots spread evenly over the time."""

from datetime import datetime
from typing import NamedTuple

from matches.models import Leaderboard
from pages.plots.board_history import read_moments
from pages.plots.curves import Drawing, RatedMoment, draw_curves

HEIGHT = 240
MAX_POINTS = 60
# Compressed snapshots that are read for one page: of large boards fewer are taken.
BUDGET_BYTES = 5_000_000
FEWEST = 12


class History(NamedTuple):
    """The curve of an agent, and all that is known as numbers."""

    drawing: Drawing
    points: list[RatedMoment]


def draw_agent(board: Leaderboard, agent: int) -> History | None:
    """Return the history of an agent on a leaderboard, None before the first snapshot of it.

    Four queries at most, however long the history: the snapshots that are read are found by time.
    """

    def space_evenly(start: datetime, end: datetime, n_points: int) -> list[datetime]:
        # The end itself last: the sum of the steps may fall short of it by rounding.
        return [start + (end - start) * n / (n_points - 1) for n in range(n_points - 1)] + [end]

    moments = read_moments(board, [agent], space_evenly, MAX_POINTS, FEWEST, BUDGET_BYTES)
    # Snapshots from before the agent entered have no row of it.
    points = [moment.ratings[agent] for moment in moments if agent in moment.ratings]
    if not points:
        return None
    # Its name stands above the drawing.
    return History(draw_curves(moments, {agent: ""}, height=HEIGHT), points)
