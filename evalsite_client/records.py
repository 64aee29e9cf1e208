"""The rows of a list, one after the other or as a table: flat records, or a frame of pandas."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")


class Rows(Iterator[T]):
    """The rows of a list, fetched page by page as they are asked for, once."""

    def __init__(self, rows: Iterator[T]) -> None:
        """rows: decoded ones."""
        self._rows = rows

    def __next__(self) -> T:
        """Return the next row, of the next page if need be."""
        return next(self._rows)

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows that are left as flat dicts, see `to_records`."""
        return to_records(self)

    def to_pandas(self) -> Any:
        """Return the rows that are left as a DataFrame. Raises ImportError without pandas."""
        # Loaded here: the client needs nothing but requests, and most do without tables.
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            advice = "pip install pandas, or take to_records()"
            raise ImportError(f"to_pandas needs pandas: {advice}") from error
        return pandas.DataFrame(self.to_records())


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
