"""The rows of a board as HTML."""

from collections.abc import Iterable

from django.utils.safestring import SafeString

from matches.ratings.standings import Row
from pages.row_templates import render_each

TEMPLATE = "pages/_row.html"


def render_rows(
    rows: Iterable[Row], record: str, *, board: str, is_scored: bool = False
) -> SafeString:
    """Return the rows as their template would render them one by one.

    record: what the counts of results are called. board: the name of the leaderboard. is_scored:
    its game has one seat.
    """
    shown = ({"score": "", "scores": "", **row, "board": board} for row in rows)
    return render_each(TEMPLATE, shown, label=record, is_scored=is_scored)
