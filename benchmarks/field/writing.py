"""Rows by the hundred thousand: without model instances, in the database's own bulk way."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from django.core.management.color import no_style
from django.db import connection
from django.db.models import AutoField, DateTimeField, Field, JSONField, Model, UUIDField

CHUNK = 20_000


class Same(NamedTuple):
    """A value that all rows have, whatever its type."""

    value: Any


def write_rows(model: type[Model], n: int, **columns: Any) -> None:
    """Insert n rows given by column; columns that are not named hold the model's default.

    A list, array or range has one value per row; anything else is the same in all of them.
    """
    fields = [
        field
        for field in model._meta.concrete_fields
        # Where ids are not given, the database counts them.
        if field.attname in columns or not isinstance(field, AutoField)
    ]
    # A default may be a list too, but that is one value: in JSON.
    values = [
        columns[field.attname] if field.attname in columns else Same(field.get_default())
        for field in fields
    ]
    for begin in range(0, n, CHUNK):
        end = min(begin + CHUNK, n)
        parts = [_cut(*column, begin, end) for column in zip(fields, values, strict=True)]
        _insert(model, fields, zip(*parts, strict=True))
    with connection.cursor() as cursor:
        # The next row that is made by itself gets an id after those that were written.
        for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
            cursor.execute(statement)


def _cut(field: "Field[Any, Any]", values: Any, begin: int, end: int) -> Iterable[Any]:
    """Return a column from row begin to end, as the driver takes it."""
    if not isinstance(values, list | range | np.ndarray):
        value = values.value if isinstance(values, Same) else values
        return repeat(_adapt(field, value), end - begin)
    # Drivers know nothing of numpy's numbers: they would store their bytes.
    part = values[begin:end].tolist() if isinstance(values, np.ndarray) else values[begin:end]
    if isinstance(field, DateTimeField):
        # Quicker than get_db_prep_save, and there are two million of them.
        return map(connection.ops.adapt_datetimefield_value, part)
    return (
        (_adapt(field, value) for value in part)
        if isinstance(field, JSONField | UUIDField)
        else part
    )


def _adapt(field: "Field[Any, Any]", value: object) -> Any:
    stored = field.get_db_prep_save(value, connection)
    # COPY takes JSON as text, not the wrapper that psycopg makes for INSERT.
    return (
        stored.dumps(stored.obj) if hasattr(stored, "obj") and hasattr(stored, "dumps") else stored
    )


def _insert(
    model: type[Model], fields: Sequence["Field[Any, Any]"], rows: Iterator[tuple[Any, ...]]
) -> None:
    table = model._meta.db_table
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        places = ", ".join(["%s"] * len(fields))
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", list(rows))
