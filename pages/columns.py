"""The columns of a board, and where a click on each leads."""

from typing import NamedTuple

from pages.filters import View


class Column(NamedTuple):
    """A heading: its style; the link that sorts by it, if any; how the rows stand by it now."""

    style: str
    label: str
    title: str
    link: str
    order: str


_COLUMNS = (
    ("rank", "#", "Rank by rating", ""),
    ("agent", "Agent", "", "name"),
    ("rating", "Rating", "", "rating"),
    ("interval", "", "", ""),
    ("number live", "Live", "TrueSkill, match by match", "live"),
    ("number best", "P(best)", "Probability of being the best of the first 200 ranks", "best"),
    ("number trend", "Trend", "Change in about an hour", "trend"),
    ("number matches", "Matches", "", "matches"),
    ("number record", "W / D / L", "Wins, draws, losses", "wins"),
    ("number forfeits", "Forfeits", "", "forfeits"),
)


def columns(view: View, address: str) -> list[Column]:
    """Return the headings of the board at the address; that of the sort in force reverses it."""
    return [_column(view, address, *column) for column in _COLUMNS]


def _column(view: View, address: str, style: str, label: str, title: str, sort: str) -> Column:
    if not sort:
        return Column(style, label, title, "", "")
    is_chosen = view.sort.removeprefix("-") == sort
    other = f"-{sort}" if view.sort == sort else sort
    order = ("descending" if view.is_descending else "ascending") if is_chosen else ""
    return Column(style, label, title, address + view.query(sort=other), order)
