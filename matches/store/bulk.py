"""Many rows in one statement, where building model objects would cost more than the database."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models
from django.db.models.expressions import RawSQL

Item = TypeVar("Item")


def among(numbers: Sequence[int]) -> RawSQL:
    """Return a subquery for `pk__in`: one parameter, however many numbers there are."""
    # One parameter, because SQLite limits how many a statement may have.
    if connection.vendor == "sqlite":
        return RawSQL("SELECT value FROM json_each(%s)", [json.dumps(list(numbers))])
    return RawSQL("SELECT unnest(%s::bigint[])", [list(numbers)])


def insert_rows(
    model: type[models.Model],
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    replaces: Sequence[str] = (),
) -> None:
    """Insert rows given as plain values in the order of the columns (field attnames).

    `replaces` names the columns of a unique constraint: a row that is there already is overwritten.
    """
    quote = connection.ops.quote_name
    fields = {field.attname: str(field.column) for field in model._meta.concrete_fields}
    names = ", ".join(quote(fields[column]) for column in columns)
    marks = ", ".join("%s" for _ in columns)
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks})"
    if replaces:
        sets = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in replaces)
        sql += f" ON CONFLICT ({', '.join(replaces)}) DO UPDATE SET {sets}"
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def add_to_rows(
    model: type[models.Model],
    keys: Sequence[str],
    counters: Sequence[str],
    rows: Sequence[Sequence[Any]],
) -> None:
    """Add to the counters of rows found by their unique keys; a missing row starts at zero.

    What is below zero is taken from a row that is there.
    """
    n_keys = len(keys)
    less = [row for row in rows if any(count < 0 for count in row[n_keys:])]
    more = [row for row in rows if all(count >= 0 for count in row[n_keys:])] if less else rows
    # Added by the database: a value read before would lose what others have added meanwhile.
    table = connection.ops.quote_name(model._meta.db_table)
    columns = [*keys, *counters]
    marks = ", ".join("%s" for _ in columns)
    sums = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in counters)
    sql = (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) "
        f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sums}"
    )
    # An INSERT of less than zero would break the constraint of the column before it is added.
    increments = ", ".join(f"{name} = {name} + %s" for name in counters)
    condition = " AND ".join(f"{name} = %s" for name in keys)
    with connection.cursor() as cursor:
        cursor.executemany(sql, more)
        cursor.executemany(
            f"UPDATE {table} SET {increments} WHERE {condition}",
            [(*row[n_keys:], *row[:n_keys]) for row in less],
        )


def update_rows(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Set the columns of rows given as (values in the order of the columns, primary key)."""
    quote = connection.ops.quote_name
    sets = ", ".join(f"{quote(column)} = %s" for column in columns)
    sql = f"UPDATE {quote(model._meta.db_table)} SET {sets} WHERE id = %s"
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def split_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of at most size from an iterator."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch
