"""Many rows in one statement, where building model objects would cost more than the database."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models

# Below every database's limit of parameters in one statement.
CHUNK = 1_000
Item = TypeVar("Item")


def insert_rows(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows given as plain values in the order of the columns (field attnames)."""
    fields = [_field(model, column) for column in columns]
    quote = connection.ops.quote_name
    names = ", ".join(quote(field.column) for field in fields)
    marks = ", ".join("%s" for _ in fields)
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})"
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def chunks(items: Sequence[Item], size: int = CHUNK) -> Iterator[Sequence[Item]]:
    """Yield the items in pieces of at most size."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of at most size from an iterator."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def _field(model: type[models.Model], attname: str) -> "models.Field[Any, Any]":
    for field in model._meta.concrete_fields:
        if field.attname == attname:
            return field
    raise ValueError(f"{model.__name__} has no column {attname!r}")
