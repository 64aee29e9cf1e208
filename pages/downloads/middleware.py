"""Answers for every page that is asked for its tables and plots as files.

`?files` lists them; `?table=2&format=csv` (or parquet) and `?plot=1&format=svg` send one, by its
place or by its id on the page. The page is made as ever and read: what a visitor may see, and
nothing else, can be fetched.
"""

import re
from collections.abc import Sequence
from html import unescape
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.utils.text import slugify

from arena.parameters import parse_number
from pages.downloads.files import FORMS, Table, send_table
from pages.downloads.markup import PageTable, read_tables, type_table
from pages.downloads.plots import Plot, read_plots

FILES, TABLE, PLOT = "files", "table", "plot"
SVG: Final = "svg"
TITLE: Final = re.compile("<title>([^<]*)</title>")


class FilesOfPages(MiddlewareMixin):
    """Turns a page into the list of its files, or one of them, where the address says so."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Return what the address asks for of this page."""
        forms = [name for name in (FILES, TABLE, PLOT) if name in request.GET]
        if not forms or not isinstance(response, HttpResponse) or not _is_page(request, response):
            return response
        html = response.content.decode()
        if forms[0] == FILES:
            return _list_files(request, html)
        if forms[0] == TABLE:
            return _send_table(request, read_tables(html))
        return _send_plot(request, read_plots(html))


def _is_page(request: HttpRequest, response: HttpResponse) -> bool:
    """Say whether this is one of our pages: the admin and the API have files of their own."""
    match = request.resolver_match
    is_ours = match is not None and not match.namespaces and match.url_name != "login"
    is_html = response.headers.get("Content-Type", "").startswith("text/html")
    return is_ours and is_html and response.status_code == HTTPStatus.OK


def _list_files(request: HttpRequest, html: str) -> HttpResponse:
    tables = [
        {"number": number, "n_rows": len(table.rows), **_describe_table(table)}
        for number, table in enumerate(read_tables(html), 1)
        if table.rows
    ]
    title = TITLE.search(html)
    context = {
        "tables": tables,
        "plots": read_plots(html),
        "page_title": unescape(title[1].rpartition(" · ")[0]) if title else "",
    }
    return render(request, "pages/files.html", context)


def _describe_table(table: PageTable) -> dict[str, str]:
    """Return its title, and what its caption says beside that."""
    if table.heading:
        return {"title": table.heading, "about": table.caption}
    title, _, about = table.caption.partition(". ")
    return {"title": title, "about": about}


def _send_table(request: HttpRequest, tables: list[PageTable]) -> HttpResponseBase:
    form = request.GET.get("format", "")
    if form not in FORMS:
        return _refuse(request, f"format must be one of {', '.join(FORMS)}, got {form[:40]!r}")
    number = _read_place(request, TABLE, [table.name for table in tables])
    if number is None:
        return _refuse(request, _describe_range(request, TABLE, len(tables)))
    table = tables[number - 1]
    columns, lines = type_table(table)
    name = _name_file(request, table.heading or table.caption)
    return send_table(request, Table(name, columns, lines), form)


def _send_plot(request: HttpRequest, plots: list[Plot]) -> HttpResponse:
    form = request.GET.get("format", SVG)
    if form != SVG:
        return _refuse(request, f"format of a plot must be {SVG}, got {form[:40]!r}")
    number = _read_place(request, PLOT, [plot.name for plot in plots])
    if number is None:
        return _refuse(request, _describe_range(request, PLOT, len(plots)))
    plot = plots[number - 1]
    name = _name_file(request, plot.title)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{SVG}"'}
    return HttpResponse(plot.svg, content_type="image/svg+xml", headers=headers)


def _read_place(request: HttpRequest, name: str, ids: Sequence[str]) -> int | None:
    """Return the place on the page of what is named by its id or by that place itself."""
    if (place := request.GET[name]) in filter(None, ids):
        return ids.index(place) + 1
    return parse_number(place, highest=len(ids)) or None


def _describe_range(request: HttpRequest, name: str, n: int) -> str:
    value = request.GET[name][:40]
    if not n:
        return f"this page has no {name}"
    return f"{name} must be a number from 1 to {n}, got {value!r}"


def _refuse(request: HttpRequest, problem: str) -> HttpResponse:
    context: dict[str, Any] = {"problem": problem}
    return render(request, "pages/files.html", context, status=HTTPStatus.NOT_FOUND)


def _name_file(request: HttpRequest, title: str) -> str:
    """Return a name of a file: where it comes from, and what it is."""
    return "-".join(filter(None, (slugify(request.path.replace("/", "-")), slugify(title)[:60])))
