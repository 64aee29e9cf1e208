"""A tag for templates with many rows that are alike."""

from collections.abc import Iterable, Mapping

from django import template
from django.utils.safestring import SafeString

from pages.row_templates import Common, render_each

register = template.Library()


@register.simple_tag
def each_row(name: str, rows: Iterable[Mapping[str, object]], **common: Common) -> SafeString:
    """Render a template once and put the values of each row in."""
    return render_each(name, rows, **common)
