"""Tables as CSV and Parquet, written while they are sent."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from django.http import HttpRequest, StreamingHttpResponse

from matches.store.streaming import stream_pieces
from matches.store.table_files import (
    CSV,
    FORMS,
    ROWS_A_PIECE,
    TYPES,
    Column,
    Line,
    write_csv,
    write_parquet,
)

__all__ = [
    "FORMS",
    "MAX_ROWS",
    "ROWS_A_PIECE",
    "Column",
    "Line",
    "Table",
    "read_form",
    "send_table",
    "write_csv",
    "write_parquet",
]

MAX_ROWS: Final = 100_000
"""What a file holds at most; pages say so beside the link."""


class Table(NamedTuple):
    """A table to be sent: name begins that of its file; lines are made as they are sent."""

    name: str
    columns: Sequence[Column]
    lines: Iterable[Line]


def read_form(request: HttpRequest) -> str:
    """Return the form in which all that a page lists is asked for; empty: the page itself.

    With a number of a table or a plot, the page is made and that part of it is sent.
    """
    form = request.GET.get("format", "")
    return form if form in FORMS and not {"table", "plot"} & request.GET.keys() else ""


def send_table(request: HttpRequest, table: Table, form: str) -> StreamingHttpResponse:
    """Return the table as a file of one of FORMS, MAX_ROWS lines at most."""
    lines = islice(table.lines, MAX_ROWS)
    pieces = write_csv(table.columns, lines) if form == CSV else write_parquet(table.columns, lines)
    # Begun before the answer is: what cannot be listed is an error page, not a broken file.
    begun = chain([next(pieces)], pieces)
    headers = {"Content-Disposition": f'attachment; filename="{table.name}.{form}"'}
    content = stream_pieces(request, begun, reads_database=True)
    return StreamingHttpResponse(content, content_type=TYPES[form], headers=headers)
