"""Many rows by one template: it is rendered once, and the values are put in per row.

Two hundred rows of some twenty tags each took most of the time of a page.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape
from itertools import chain

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

# Stands for the id of an agent, which becomes part of an address: that takes no text.
_AGENT = 987_654_321
# Templates, each with what is the same for all of its rows.
_N_KEPT = 128

Common = str | int | bool


def render_each(
    template: str, rows: Iterable[Mapping[str, object]], **common: Common
) -> SafeString:
    """Return the rows as the template would render them one by one, each under the name `row`.

    The rows have the same fields, and no value is markup. The template shows fields of a row as
    they are, with no decision by them. common: what is the same for all rows; no text of a user,
    in which a mark could stand.
    """
    left = iter(rows)
    first = next(left, None)
    if first is None:
        return mark_safe("")
    form = _render_form(template, tuple(first), tuple(common.items()))
    # Not `conditional_escape`: called so often it takes six times as long.
    texts = (
        form % {name: escape(str(value)) for name, value in row.items()}
        for row in chain([first], left)
    )
    return mark_safe("".join(texts))  # every value is escaped


@lru_cache(maxsize=_N_KEPT)
def _render_form(
    template: str, fields: tuple[str, ...], common: tuple[tuple[str, Common], ...]
) -> str:
    """Return the text of a row with the places of its fields, as % fills them in."""
    marks = {name: str(_AGENT) if name == "agent" else f"{{{name}}}" for name in fields}
    row = {name: _AGENT if name == "agent" else mark for name, mark in marks.items()}
    text = render_to_string(template, {"row": row, **dict(common)}).replace("%", "%%")
    names = {mark: name for name, mark in marks.items()}
    mark = re.compile("|".join(map(re.escape, names)))
    return mark.sub(lambda mark_match: f"%({names[mark_match[0]]})s", text)
