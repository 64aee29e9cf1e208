"""What our Parquet files of rows share: they declare a game's form and are the same bytes again."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import pyarrow as pa

from arena.errors import ArenaError

METADATA: Final = b"evalsite"
# Nothing here may depend on time or machine: such a file is named by its hash.
OPTIONS: Final[dict[str, Any]] = {
    "compression": "zstd",
    "compression_level": 3,
    "version": "2.6",
    "data_page_version": "2.0",
}
Form = TypeVar("Form")


class FormError(ArenaError):
    """A file does not declare the form that it should, or has other columns."""


def declare(
    columns: Sequence[Any],
    file_format: str,
    *,
    game: str,
    observation_shape: Sequence[int],
    n_actions: int,
) -> pa.Schema:
    """Return a schema of these columns with the form as its metadata."""
    described = {
        "format": file_format,
        "game": game,
        "observation_shape": list(observation_shape),
        "n_actions": n_actions,
    }
    return pa.schema(columns, {METADATA: json.dumps(described, sort_keys=True)})


def read_form(
    schema: pa.Schema,
    file_format: str,
    build: Callable[[str, tuple[int, ...], int], Form],
    make_schema: Callable[[Form], pa.Schema],
) -> Form:
    """Return the form that a file declares; its columns must be those that the form makes.

    Raises FormError.
    """
    try:
        described = json.loads((schema.metadata or {})[METADATA])
        if described["format"] != file_format:
            raise ValueError(f"format {described['format']!r} is not {file_format!r}")
        shape = tuple(int(length) for length in described["observation_shape"])
        form = build(str(described["game"]), shape, int(described["n_actions"]))
        expected = make_schema(form)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise FormError(f"no file of {file_format!r}: {error}") from error
    if not schema.equals(expected):
        # Other columns are refused and not dropped: what a file declares is what it has.
        odd = [field.name for field in schema if field not in expected]
        raise FormError(f"not the columns of {file_format!r}: {odd or schema.names}")
    return form
