"""Rows of a file as texts, one after the other: a file is never in memory as a whole."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from matches.errors import BadInputError
from matches.ledger.imported.columns import CSV, FORMS, PARQUET, PGN, Columns, choose_columns
from matches.store.table_files import read_guarded

_DELIMITERS: Final = (",", ";", "\t")
_MAX_LINE: Final = 2**20
_ROWS_AT_ONCE: Final = 20_000
# What pyarrow raises for broken pages, texts that are no UTF-8, dates that Python has not, and
# time zones that nobody knows.
_UNREADABLE: Final = (pa.ArrowException, OSError, ValueError, OverflowError, KeyError)
_TAG: Final = re.compile(r'\[([A-Za-z0-9_]+)\s+"((?:[^"\\]|\\.)*)"\]\s*')
# Of a line that holds nothing else: some programs write several side by side, or indent them.
_TAGS: Final = re.compile(rf"\s*(?:{_TAG.pattern})+$")


class RawRow(NamedTuple):
    """A row as it stands in the file. key: empty where the file has none."""

    line: int
    first: str
    second: str
    result: str
    key: str
    # What is wrong with the row as a whole: nothing of it can be read.
    problem: str = ""


class OpenedFile(NamedTuple):
    """A file of results. place: what its rows are counted by, as errors say it."""

    columns: Columns
    rows: Iterator[RawRow]
    place: str


def open_results(path: Path, *, name: str, form: str, mapped: Mapping[str, str]) -> OpenedFile:
    """Return the rows of a file. form: of FORMS; empty: as its name ends.

    Raises BadInputError when it is none of them, or lacks a column.
    """
    ending = name.rpartition(".")[2].lower()
    chosen = form or ending
    if chosen not in FORMS:
        forms = ", ".join(FORMS)
        raise BadInputError("form", f"{name!r} does not end in one of {forms}: say which it is")
    return {CSV: _open_csv, PARQUET: _open_parquet, PGN: _open_pgn}[chosen](path, mapped)


def _open_csv(path: Path, mapped: Mapping[str, str]) -> OpenedFile:
    lines = _read_lines(path)
    head = next(lines, "")
    delimiter = max(_DELIMITERS, key=head.count)
    table = csv.reader(chain([head], lines), delimiter=delimiter, strict=True)
    try:
        names = next(table, [])
    except csv.Error as error:
        raise BadInputError("file", f"line 1: {error}") from error
    columns = choose_columns(names, mapped)
    return OpenedFile(columns, _read_csv(table, names, columns), "line")


def _read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text. Raises BadInputError naming the line that is no UTF-8."""
    n_lines = 0
    with path.open("rb") as file:
        # Bounded: else a file without a line end would be in memory as a whole.
        for raw in iter(lambda: file.readline(_MAX_LINE), b""):
            n_lines += 1
            if len(raw) == _MAX_LINE:
                problem = f"line {n_lines} has more than {_MAX_LINE:,} bytes: is it such a file?"
                raise BadInputError("file", problem)
            if n_lines == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                yield raw.decode()
            except UnicodeDecodeError as error:
                bad_bytes = raw[error.start : error.start + 8]
                raise BadInputError(
                    "file", f"line {n_lines}: {bad_bytes!r} is no UTF-8: save the file as UTF-8"
                ) from error


def _read_csv(table: Any, names: list[str], columns: Columns) -> Iterator[RawRow]:
    width = len(names)
    at = [names.index(name) if name else -1 for name in columns]
    first, second, result, key = at
    while True:
        try:
            for cells in table:
                if len(cells) == width:
                    own_key = cells[key] if key >= 0 else ""
                    line = table.line_num
                    first_name, second_name = (
                        read_guarded(cells[first]),
                        read_guarded(cells[second]),
                    )
                    yield RawRow(line, first_name, second_name, cells[result], own_key)
                elif cells:  # an empty line is no row
                    problem = f"it has {len(cells)} cells, the head has {width}"
                    yield RawRow(table.line_num, "", "", "", "", problem)
        except csv.Error as error:
            yield RawRow(table.line_num, "", "", "", "", f"it is no CSV: {error}")
        else:
            return


def _open_parquet(path: Path, mapped: Mapping[str, str]) -> OpenedFile:
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInputError("file", f"it is no Parquet file: {error}") from error
    columns = choose_columns(file.schema_arrow.names, mapped)
    for name in filter(None, columns):
        form = file.schema_arrow.field(name).type
        if pa.types.is_nested(form):
            reason = f"column {name!r} holds {form}: each cell must be one text or number"
            raise BadInputError("file", reason)
    return OpenedFile(columns, _read_parquet(file, columns), "row")


def _read_parquet(file: pq.ParquetFile, columns: Columns) -> Iterator[RawRow]:
    names = [name for name in columns if name]
    n_before = 0
    try:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=names):
            texts = [_read_texts(batch.column(name)) for name in names]
            if not columns.key:
                texts.append([""] * batch.num_rows)
            for number, cells in enumerate(zip(*texts, strict=True), n_before + 1):
                yield RawRow(number, *cells)
            n_before += batch.num_rows
    except _UNREADABLE as error:
        raise BadInputError("file", f"after row {n_before} it cannot be read: {error}") from error


def _read_texts(column: "pa.Array[Any]") -> list[str]:
    """Return the values of a column as a CSV file would have them."""
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        column = column.cast(pa.large_string())  # texts of programs that do not say so
    # pandas leaves a cell of numbers empty by NaN.
    return ["" if value is None or value != value else str(value) for value in column.to_pylist()]  # noqa: PLR0124


def _open_pgn(path: Path, mapped: Mapping[str, str]) -> OpenedFile:
    # Tags differ by game: those that are mapped are taken at their word.
    tags = {"first": "White", "second": "Black", "result": "Result", "key": "", **mapped}
    columns = choose_columns([name for name in tags.values() if name], tags)
    return OpenedFile(columns, _read_pgn(path, columns), "line")


def _read_pgn(path: Path, columns: Columns) -> Iterator[RawRow]:
    """Yield the games by their tags; moves are passed over."""
    tags: list[tuple[str, str]] = []
    begins, is_in_tags = 0, False
    for number, line in enumerate(_read_lines(path), 1):
        if "[" not in line or not _TAGS.match(line):
            is_in_tags = False
            continue
        if not is_in_tags and tags:
            yield _make_pgn_row(begins, tags, columns)
            tags = []
        if not tags:
            begins = number
        is_in_tags = True
        tags += _TAG.findall(line)
    if tags:
        yield _make_pgn_row(begins, tags, columns)


def _make_pgn_row(line: int, tags: Sequence[tuple[str, str]], columns: Columns) -> RawRow:
    texts = {name: re.sub(r"\\(.)", r"\1", text) for name, text in tags}
    twice = {name for name, times in Counter(name for name, _ in tags).items() if times > 1}
    if named_twice := sorted(twice.intersection(columns)):
        # Two games without anything in between: of the first one nothing would be left.
        problem = f"tag {named_twice[0]!r} is there twice: an empty line ends the tags of a game"
        return RawRow(line, "", "", "", "", problem)
    return RawRow(line, *(texts.get(name, "") if name else "" for name in columns))
