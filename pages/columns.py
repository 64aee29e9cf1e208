"""The columns of a board, and where a click on each leads."""

from typing import NamedTuple

from arena.ratings.base import INTERVAL
from pages.filters import View
from pages.seating import Record


class Column(NamedTuple):
    """A heading: its style; the link that sorts by it, if any; how the rows stand by it now."""

    style: str
    label: str
    title: str
    link: str
    order: str


_BEST = "Probability of being the best of the first 200 ranks; below it: of its training run"
# Style, label, title and sort (of filters.SORTS) of each, in the order of the cells of _row.html.
_COLUMNS = (
    ("rank", "Rank", f"Ranks that are left open at {INTERVAL}; rows stand by rating", ""),
    ("agent", "Agent", "", "name"),
    ("rating", "Rating", "", "rating"),
    ("interval", "", "", ""),
    ("number live", "Live", "TrueSkill, match by match", "live"),
    (
        "number best",
        "P(best)",
        _BEST,
        "best",
    ),
    ("number trend", "Trend", "Change in about an hour, or since enough matches", "trend"),
    ("number matches", "Matches", "", "matches"),
    ("number record", "", "", "wins"),
    ("number forfeits", "Forfeits", "", "forfeits"),
)


_SCORE = (
    "number score",
    "Mean score",
    f"Over the game seeds it has played, with its {INTERVAL} interval (paired bootstrap over the "
    "seeds). No live rating: one seat",
    "score",
)


def list_columns(
    view: View, address: str, record: Record, *, is_scored: bool = False
) -> list[Column]:
    """Return the headings of the board; the heading of the sort in force reverses it.

    is_scored: its game has one seat.
    """
    direction = "descending" if view.is_descending else "ascending"
    columns = []
    for column in _COLUMNS:
        # Where nobody meets anybody no rating is made match by match: the score stands there.
        is_replaced = is_scored and column[-1] == "live"
        style, label, title, sort = _SCORE if is_replaced else column
        link, is_chosen = "", bool(sort) and view.sort.removeprefix("-") == sort
        if sort:
            # A second click on the same heading turns the order round.
            link = address + view.make_query(sort=f"-{sort}" if view.sort == sort else sort)
        if sort == "wins":
            title, label = record
        columns.append(Column(style, label, title, link, direction if is_chosen else ""))
    return columns
