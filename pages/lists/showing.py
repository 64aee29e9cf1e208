"""How every list is shown: as a page of rows by key, or all of it as a file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render

from pages.downloads.files import MAX_ROWS, ROWS_A_PIECE, Table, read_form, send_table
from pages.lists.address import BAD_REQUEST, BadAddressError, ListAddress
from pages.paging import cut_page

ROWS_A_PAGE = 50
Row = TypeVar("Row", bound=Model)


def show_list(
    request: HttpRequest,
    template: str,
    form: Mapping[str, Any],
    list_rows: Callable[[], Mapping[str, Any]],
    table: Callable[[], Table],
) -> HttpResponseBase:
    """Render a list with its form, or send all that it lists as a file.

    What cannot be asked is said above the form, with status 400.
    """
    try:
        if file_form := read_form(request):
            return send_table(request, table(), file_form)
        context = {"most_lines": MAX_ROWS, **form, **list_rows()}
    except BadAddressError as error:
        context = {**form, "problem": str(error)}
        return render(request, template, context, status=BAD_REQUEST)
    return render(request, template, context)


def cut_by_key(rows: QuerySet[Row], address: ListAddress) -> tuple[list[Row], str]:
    """Return a page of rows, the newest first, and the address of the next one, if any."""
    before = address.read_number("before")
    older = rows.order_by("-pk") if before is None else rows.filter(pk__lt=before).order_by("-pk")
    page, last = cut_page(list(older[: ROWS_A_PAGE + 1]), ROWS_A_PAGE)
    return list(page), address.make(before=str(last.pk)) if last else ""


def filter_days(rows: QuerySet[Any], address: ListAddress, column: str) -> QuerySet[Any]:
    """Return the rows whose column lies within the days `from` to `to`, both included, in UTC."""
    first, last = address.read_day("from"), address.read_day("to")
    if first is not None:
        rows = rows.filter(**{f"{column}__gte": datetime.combine(first, time.min, UTC)})
    if last is not None:
        end = datetime.combine(last, time.min, UTC) + timedelta(days=1)
        rows = rows.filter(**{f"{column}__lt": end})
    return rows


def walk_by_key(
    rows: QuerySet[Row],
    describe: Callable[[list[Row]], Iterable[Sequence[Any]]],
    *,
    at_once: int = ROWS_A_PIECE,
) -> Iterator[Sequence[Any]]:
    """Yield the lines of all rows, the newest first, so many at once read by key."""
    rows, last = rows.order_by("-pk"), None
    while piece := list((rows if last is None else rows.filter(pk__lt=last))[:at_once]):
        yield from describe(piece)
        last = piece[-1].pk
