"""Rows that are put together give what their template gives for each."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from pages import row_templates
from pages.row_templates import render_each

HOSTILE = ("<b>&amp; \"quoted\" 'too'</b>", "{name} {agent} {x}", "987654321", "%s %(name)s \\1")
POINTS = [
    {"agent": 7 + n, "step": 10 * n, "title": name, "x": 9.0, "y": 20.25, "y_low": 3, "y_high": 1}
    for n, name in enumerate(HOSTILE)
]
LINES = [
    {"agent": n, "run": name, "step": n, "name": name, "mu": "1.00", "low": "-1.00", "high": "3.00"}
    | {"matches": "1,000"}
    for n, name in enumerate(HOSTILE)
]


@pytest.mark.parametrize(
    ("template", "rows", "common"),
    [
        ("pages/_point.html", POINTS, {"number": 0, "is_dense": False}),
        ("pages/_point.html", POINTS, {"number": 3, "is_dense": True}),
        ("pages/_strength_row.html", LINES, {}),
        ("pages/_strength_row.html", LINES, {"of_runs": True}),
        ("pages/_segment.html", [{"x1": 9.0, "y1": 16, "x2": 95.5, "y2": 270.1}], {}),
    ],
)
def test_each_row_is_as_its_template_renders_it(
    template: str, rows: list[Mapping[str, Any]], common: dict[str, Any]
) -> None:
    slow = "".join(render_to_string(template, {"row": row, **common}) for row in rows)
    assert render_each(template, rows, **common) == slow


def test_what_claims_to_be_markup_is_escaped_all_the_same() -> None:
    rows = [{**LINES[0], "name": mark_safe("<script>")}]
    assert "<script>" not in render_each("pages/_strength_row.html", rows)


def test_the_template_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    row_templates._render_form.cache_clear()
    rendered: list[str] = []

    def render(name: str, context: Mapping[str, Any]) -> str:
        rendered.append(name)
        return render_to_string(name, context)

    monkeypatch.setattr(row_templates, "render_to_string", render)
    for _ in range(2):
        render_each("pages/_strength_row.html", LINES)
    assert rendered == ["pages/_strength_row.html"]


def test_no_row_is_no_text_in_a_template_too() -> None:
    template = Template("{% load rows %}[{% each_row 'pages/_segment.html' rows %}]")
    assert template.render(Context({"rows": []})) == "[]"
    markup = template.render(Context({"rows": [{"x1": 1, "y1": 2, "x2": 3, "y2": 4}]}))
    assert markup == '[<line x1="1%" y1="2" x2="3%" y2="4" />\n]'
