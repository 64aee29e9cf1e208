"""Ratings as points of Elo, for who thinks in them: the same numbers on another scale.

board.js turns what is pushed in the same way: `inScale` and `axisInScale`.
"""

from math import ceil, floor
from typing import Any, TypedDict

from arena.ratings.base import MU
from arena.verdicts.scale import gap_of_elo
from matches.models import Leaderboard
from matches.ratings.axes import Axis
from matches.ratings.standings import Row

AT_PRIOR = 1500
"""The points of an agent of which nothing is known."""
STEPS = (20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
MOST_MARKS = 8


class Scale(TypedDict):
    """What the page's script needs: a rating of mu is `at` points, one unit more is `per` more."""

    at: int
    mu: float
    per: float
    steps: list[int]
    marks: int


def describe_scale(board: Leaderboard) -> Scale:
    """Return the scale of a board. Near equal strength it is exact; far apart Elo stretches."""
    # Not the fitted one, which moves with the results: a page that is open keeps its scale.
    per = 1 / gap_of_elo(1.0, draw_probability=board.draw_probability)
    return {
        "at": AT_PRIOR,
        "mu": MU,
        "per": round(per, 4),
        "steps": [*STEPS],
        "marks": MOST_MARKS,
    }


def convert_row(row: Row, scale: Scale) -> Row:
    """Return a row in points."""
    points: dict[str, Any] = {
        name: str(_convert_rating(row[name], scale)) for name in ("mu", "low", "high", "live")
    }
    trend = floor(scale["per"] * float(row["trend"]) + 0.5) if row["trend"] else ""
    points["trend"] = f"+{trend}" if isinstance(trend, int) and trend > 0 else str(trend)
    return row | points  # type: ignore[return-value]  # the same names


def convert_axis(axis: Axis, scale: Scale) -> Axis:
    """Return the same axis with marks at round numbers of points."""
    low, high = (_convert_rating(axis[end], scale) for end in ("low", "high"))
    step = next((points for points in STEPS if (high - low) / points <= MOST_MARKS), STEPS[-1])
    marks = range(ceil(low / step) * step, high + 1, step)
    ticks: Any = [{"at": at, "label": f"{at}"} for at in marks]
    return {"low": low, "high": high, "step": step, "ticks": ticks}


def _convert_rating(rating: object, scale: Scale) -> int:
    return floor(scale["at"] + scale["per"] * (float(str(rating)) - scale["mu"]) + 0.5)
