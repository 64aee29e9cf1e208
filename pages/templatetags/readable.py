"""How pages write times and numbers: the only filters for that, so that all pages write alike."""

from datetime import UTC, datetime
from typing import Final

from django import template
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.template import RequestContext
from django.utils.html import format_html

from matches.store.formats import (
    format_brief,
    format_number,
    format_short,
    format_signed,
    format_span,
    hide_folders,
)

register = template.Library()
FORMS: Final = {
    "minute": "%Y-%m-%d %H:%M",
    "second": "%Y-%m-%d %H:%M:%S",
    "day": "%Y-%m-%d",
    "clock": "%H:%M:%S",
}
"""By the finest part that is shown; static/evalsite/times.js knows the same names."""


@register.filter
def moment(at: datetime | str | None, form: str = "minute") -> str:
    """Return a time in UTC, which a script writes in the zone of the viewer; "" for none."""
    # Django hands over "" for what a row has not.
    if not isinstance(at, datetime):
        return ""
    at = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-form="{}" title="{} UTC">{}</time>',
        *(f"{at:%Y-%m-%dT%H:%M:%SZ}", form, f"{at:{FORMS['second']}}", f"{at:{FORMS[form]}}"),
    )


@register.filter
def span(seconds: float | None) -> str:
    """Return a length of time, such as 12 min; "" for None."""
    return "" if seconds is None else format_span(seconds)


@register.filter
def brief(ms: float) -> str:
    """Return milliseconds as a length of time that may be short, such as 12 ms or 37 s."""
    return format_brief(ms / 1_000)


@register.filter
def told_to(problem: object, user: AbstractBaseUser | AnonymousUser | None) -> str:
    """Return what is wrong as this user may read it: only staff sees where files lie here."""
    text = str(problem)
    return text if getattr(user, "is_staff", False) else hide_folders(text)


@register.simple_tag(takes_context=True)
def address_with(context: RequestContext, key: str, value: object) -> str:
    """Return the query of this page with one part set anew and all others kept."""
    # Not context["request"]: a template that is included with `only` has the attribute alone.
    query = context.request.GET.copy()
    query[key] = str(value)
    return f"?{query.urlencode()}"


@register.filter
def number(value: float | str | None, n_places: int = 0) -> str:
    """Return a number with its thousands apart and so many decimals; "" for none."""
    return "" if value is None or value == "" else format_number(float(value), n_places)


@register.filter
def change(value: float | None, n_places: int = 2) -> str:
    """Return a number with its sign, and none where it rounds to nothing; "" for None."""
    return "" if value is None else format_signed(value, n_places)


@register.filter
def short(value: float | None) -> str:
    """Return a number with a decimal where that says something; "" for None."""
    return "" if value is None else format_short(value)


@register.filter
def cut_middle(name: str, most: int = 15) -> str:
    """Return a name of so many letters at most: names of a run differ at the end, in the step."""
    if len(name) <= most:
        return name
    n_last = most // 2
    return f"{name[: most - n_last - 1]}…{name[-n_last:]}"
