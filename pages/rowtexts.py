"""The rows of a board as HTML: their template is rendered once, and its values put in per row."""

import re
from collections.abc import Iterable
from functools import cache
from typing import get_type_hints

from django.template.loader import render_to_string
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from matches.ratings.standings import Row

# Two hundred rows of some twenty tags each took most of the time of the page.
TEMPLATE = "pages/_row.html"
# Stands for the id of the agent, which becomes part of an address.
_AGENT = 987_654_321


def render_rows(
    rows: Iterable[Row], record: str, *, board: str, is_scored: bool = False
) -> SafeString:
    """Return the rows as their template would render them one by one.

    record: what the counts of results are called. board: the name of the leaderboard. is_scored:
    its game has one seat.
    """
    parts, texts = _split_template(record, is_scored), []
    for row in rows:
        shown = {"score": "", "scores": "", **row, "board": board}
        values = {name: conditional_escape(str(value)) for name, value in shown.items()}
        texts += [values[part] if at % 2 else part for at, part in enumerate(parts)]
    return mark_safe("".join(texts))  # every value is escaped


@cache
def _split_template(record: str, is_scored: bool) -> tuple[str, ...]:
    """Return the template in parts: text and, between, names of fields."""
    names = [*get_type_hints(Row), "board"]
    marks = {name: f"{{{name}}}" for name in names} | {"agent": str(_AGENT)}
    context = {
        "record": {"label": record},
        "board": {"name": marks["board"]},
        "is_scored": is_scored,
    }
    text = render_to_string(TEMPLATE, {"row": {**marks, "agent": _AGENT}, **context})
    fields = {mark: name for name, mark in marks.items()}
    # The brackets make `split` return the marks too: every second part is the name of a field.
    parts = re.split(f"({'|'.join(re.escape(mark) for mark in fields)})", text)
    return tuple(fields[part] if at % 2 else part for at, part in enumerate(parts))
