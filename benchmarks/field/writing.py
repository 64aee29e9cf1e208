"""Rows by the hundred thousand: without model instances, in the database's own bulk way."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from django.core.management.color import no_style
from django.db import connection
from django.db.models import AutoField, Model

CHUNK = 20_000

Values = tuple[Any, ...]


def write(model: type[Model], names: Sequence[str], rows: Iterable[Values]) -> None:
    """Insert rows of these attributes; other columns get the model's defaults.

    Values are as the database stores them: `stored` makes them so.
    """
    fields = {field.attname: field for field in model._meta.concrete_fields}
    others = [
        name
        for name, field in fields.items()
        if name not in names and not isinstance(field, AutoField)
    ]
    same = tuple(stored(model, name, fields[name].get_default()) for name in others)
    columns = [str(fields[name].column) for name in (*names, *others)]
    source = iter(rows)
    while chunk := [(*row, *same) for row in islice(source, CHUNK)]:
        _insert(model._meta.db_table, columns, chunk)
    _go_on_after(model)


def stored(model: type[Model], name: str, value: object) -> Any:
    """Return a value of a field as the database's driver takes it."""
    fields = {field.attname: field for field in model._meta.concrete_fields}
    kept = fields[name].get_db_prep_save(value, connection)
    return kept.dumps(kept.obj) if hasattr(kept, "obj") and hasattr(kept, "dumps") else kept


def moment(at: datetime) -> Any:
    """Return a moment as the database stores it; quicker than `stored`."""
    return connection.ops.adapt_datetimefield_value(at)


def numbered(values: Iterable[Values], *, start: int = 1) -> Iterator[Values]:
    """Yield the rows with an id before each."""
    return ((number, *row) for number, row in enumerate(values, start))


def _insert(table: str, columns: Sequence[str], rows: Sequence[Values]) -> None:
    quoted = ", ".join(map(connection.ops.quote_name, columns))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({quoted}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        places = ", ".join(["%s"] * len(columns))
        cursor.executemany(f"INSERT INTO {table} ({quoted}) VALUES ({places})", rows)


def _go_on_after(model: type[Model]) -> None:
    """Let the next row that is made by itself get an id after those that were written."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
            cursor.execute(statement)
