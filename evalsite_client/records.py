"""Rows of the client as flat records, the form in which pandas and csv take a table."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any


def to_records(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Return a flat dict per row: `pandas.DataFrame(to_records(rows))` is a table of them.

    The members of an object within a row bear both names: agent_id, agent_name. A list stays one
    value.
    """
    return [dict(_flatten_value("", asdict(row))) for row in rows]


def _flatten_value(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield name, value
        return
    for inner_name, inner in value.items():
        yield from _flatten_value(f"{name}_{inner_name}" if name else inner_name, inner)
