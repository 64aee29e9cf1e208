"""Pages of a list: what the address asks for, and one page of rows."""

from collections.abc import Sequence
from typing import TypeVar

from django.http import Http404, HttpRequest

from arena.parameters import parse_number

# A page of so high a number still begins within the 64 bits of a database's OFFSET.
HIGHEST = 10**12 - 1
Item = TypeVar("Item")


def read_number(request: HttpRequest, name: str, *, default: int) -> int:
    """Return a number of the address, 0 or more. Raises Http404 naming it when it is none."""
    text = request.GET.get(name, str(default))
    if (number := parse_number(text, highest=HIGHEST)) is None:
        raise Http404(f"{name} must be a number, got {text[:40]!r}")
    return number


def read_optional_number(request: HttpRequest, name: str) -> int | None:
    """Return a number of the address, None without one. Raises Http404 naming it."""
    return read_number(request, name, default=0) if name in request.GET else None


def cut_page(rows: Sequence[Item], size: int) -> tuple[Sequence[Item], Item | None]:
    """Return a page, and its last row where another page follows.

    The caller reads one row more than a page holds: that tells of a next page without a count,
    which would read the whole table.
    """
    page = rows[:size]
    return page, page[-1] if len(rows) > size else None
