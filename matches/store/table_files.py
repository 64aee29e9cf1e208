"""Tables as files: CSV and Parquet, written a piece at a time.

A text that a spreadsheet would take for a formula is preceded by an apostrophe in CSV: names come
from whoever registers an agent. So is a guarded text, so that reading gives back what was written.
Parquet has no formulas.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from io import BytesIO, StringIO
from itertools import islice
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_PIECE: Final = 2_000
CSV, PARQUET = FORMS = ("csv", "parquet")
TYPES: Final = {CSV: "text/csv; charset=utf-8", PARQUET: "application/vnd.apache.parquet"}
# White space before one of the others hides it from a look at the cell.
# Spreadsheets of East Asia take the wide forms of the signs, too.
SIGNS: Final = ("=", "+", "-", "@")
WIDE_SIGNS: Final = tuple(chr(ord(sign) + 0xFEE0) for sign in SIGNS)
FORMULA: Final = (*SIGNS, *WIDE_SIGNS, "\t", "\r", "\n")
_GUARD: Final = "'"
_ARROW: Final[dict[type, pa.DataType]] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}

Line = Sequence[Any]


class Numbers(str):
    """Numbers with commas between them: no formula, also where the first is below 0."""

    __slots__ = ()


class Column(NamedTuple):
    """A column of a file; kind: str, int, float, bool or datetime. Any value may be None."""

    name: str
    kind: type


def write_csv(columns: Sequence[Column], lines: Iterable[Line]) -> Iterator[bytes]:
    """Yield a CSV file in pieces: UTF-8, a line of names first, empty where there is no value."""
    text = StringIO()
    writer = csv.writer(text)
    # Names of columns may be those of agents, too: in a table of who beat whom.
    writer.writerow([_guard_cell(column.name) for column in columns])
    for piece in _cut_into_pieces(lines):
        writer.writerows([_guard_cell(value) for value in line] for line in piece)
        yield _take_text(text)
    yield _take_text(text)


def write_parquet(columns: Sequence[Column], lines: Iterable[Line]) -> Iterator[bytes]:
    """Yield a Parquet file in pieces, a row group each."""
    schema = pa.schema([(column.name, _ARROW[column.kind]) for column in columns])
    sink = _Sink()
    with pq.ParquetWriter(sink, schema) as writer:
        for piece in _cut_into_pieces(lines):
            values = [list(cells) for cells in zip(*piece, strict=True)]
            arrays = [
                pa.array(cells, kind.type) for cells, kind in zip(values, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


class _Sink(BytesIO):
    """A file that is only written on: what was taken from it is forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self._n_taken = 0

    def tell(self) -> int:
        """Return the place in the whole file, which the writer notes in its footer."""
        return self._n_taken + super().tell()

    def take(self) -> bytes:
        """Return what was written since the last call."""
        content = self.getvalue()
        self._n_taken += len(content)
        self.seek(0)
        self.truncate()
        return content

    def close(self) -> None:
        """Stay readable: the writer closes it before its footer is taken."""


def read_guarded(cell: str) -> str:
    """Return the text in a cell of CSV as it was before it was guarded."""
    return cell[1:] if cell.startswith(_GUARD) and _needs_guard(cell) else cell


def _guard_cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    is_guarded = isinstance(value, str) and not isinstance(value, Numbers) and _needs_guard(value)
    return f"{_GUARD}{value}" if is_guarded else value


def _needs_guard(text: str) -> bool:
    return text.lstrip(_GUARD).startswith(FORMULA)


def _cut_into_pieces(lines: Iterable[Line]) -> Iterator[list[Line]]:
    remaining = iter(lines)
    while piece := list(islice(remaining, ROWS_A_PIECE)):
        yield piece


def _take_text(text: StringIO) -> bytes:
    content = text.getvalue().encode()
    text.seek(0)
    text.truncate()
    return content
