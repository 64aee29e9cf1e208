"""Segments: many chunks as one Parquet file, a row a step, the same bytes for the same content."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from arena import row_files
from arena.errors import ChunkError
from arena.experience.chunks import Chunk
from arena.row_files import FormError
from arena.trajectories import GROUP_BYTES, TrajectorySpec

FORMAT: Final = "evalsite experience/1"
_OPTIONS: Final[dict[str, Any]] = {
    **row_files.OPTIONS,
    "use_dictionary": ["user", "chunk", "policy_version", "action"],
    "write_statistics": ["user", "policy_version"],
}
# Of a chunk's arrays: the column that each is.
_COLUMNS: Final = {
    "episodes": "episode",
    "steps": "step",
    "observations": "observation",
    "next_observations": "next_observation",
    "actions": "action",
    "rewards": "reward",
    "terminated": "terminated",
    "truncated": "truncated",
    "log_probs": "log_prob",
}


class SentChunk(NamedTuple):
    """A chunk and the key of the user that has sent it."""

    user: int
    chunk: Chunk


def arrow_schema(form: TrajectorySpec) -> pa.Schema:
    """Return the columns, with the form as their metadata."""
    floats = pa.list_(pa.field("element", pa.float32(), nullable=False), form.n_features)
    columns: list[Any] = [
        pa.field("user", pa.int64(), nullable=False),
        pa.field("chunk", pa.string(), nullable=False),
        pa.field("policy_version", pa.int32(), nullable=False),
        pa.field("episode", pa.int64(), nullable=False),
        pa.field("step", pa.int32(), nullable=False),
        pa.field("observation", floats, nullable=False),
        pa.field("next_observation", floats, nullable=False),
        pa.field("action", pa.int32(), nullable=False),
        pa.field("reward", pa.float32(), nullable=False),
        pa.field("terminated", pa.bool_(), nullable=False),
        pa.field("truncated", pa.bool_(), nullable=False),
        pa.field("log_prob", pa.float32()),
    ]
    return row_files.declare(columns, FORMAT, **vars(form))


def read_spec(schema: pa.Schema) -> TrajectorySpec:
    """Return the form that a file declares. Raises ChunkError when it has other columns."""
    try:
        return row_files.read_form(schema, FORMAT, TrajectorySpec, arrow_schema)
    except FormError as error:
        raise ChunkError("", str(error)) from error


def write_segment(target: Path | BinaryIO, sent: Iterable[SentChunk], form: TrajectorySpec) -> int:
    """Write the steps of all chunks, in their order, as one file; return how many there are.

    Chunks of one user beside each other have different ids. Holds all in memory. Raises OSError.
    """
    return join_segments(target, [build_table(sent, form)], form)


def join_segments(target: Path | BinaryIO, tables: list[pa.Table], form: TrajectorySpec) -> int:
    """Write the rows of segments, in their order, as one file; return how many. Raises OSError."""
    # One piece: the bytes do not tell how they were cut.
    rows = pa.concat_tables(tables).combine_chunks()
    group_rows = max(1, GROUP_BYTES // (8 * form.n_features))
    with pq.ParquetWriter(target, rows.schema, **_OPTIONS) as writer:
        writer.write_table(rows, row_group_size=group_rows)
    return int(rows.num_rows)


def build_table(sent: Iterable[SentChunk], form: TrajectorySpec) -> pa.Table:
    """Return the steps of all chunks as rows, in their order; there must be at least one chunk."""
    users, chunks = zip(*sent, strict=True)
    lengths = [len(chunk) for chunk in chunks]
    names = np.array([chunk.chunk_id for chunk in chunks])
    declared = arrow_schema(form)
    columns: dict[str, Any] = {
        "user": pa.array(np.repeat(np.array(users, np.int64), lengths)),
        "chunk": pa.array(np.repeat(names, lengths).tolist(), pa.string()),
        "policy_version": pa.array(
            np.repeat(np.array([chunk.policy_version for chunk in chunks], np.int32), lengths)
        ),
    }
    for name, column in _COLUMNS.items():
        joined = np.concatenate([getattr(chunk, name) for chunk in chunks])
        flat = pa.array(joined.reshape(-1), from_pandas=name == "log_probs")  # NaN becomes null
        kind: Any = declared.field(column).type
        is_row = pa.types.is_fixed_size_list(kind)
        columns[column] = pa.FixedSizeListArray.from_arrays(flat, type=kind) if is_row else flat
    return pa.Table.from_arrays([columns[name] for name in declared.names], schema=declared)


def read_segment(source: Path | BinaryIO) -> Iterator[SentChunk]:
    """Yield the chunks of a segment in the order of its rows. Holds all in memory.

    Raises ChunkError for any other file, OSError.
    """
    try:
        with pq.ParquetFile(source) as file:
            form = read_spec(file.schema_arrow)
            rows = file.read()
    except pa.ArrowException as error:
        raise ChunkError("", f"no segment: {error}") from error
    users = rows.column("user").to_numpy()
    names = rows.column("chunk").combine_chunks().dictionary_encode()
    numbers = names.indices.to_numpy()
    is_first = np.diff(numbers, prepend=-1) | np.diff(users, prepend=-1)
    starts = np.flatnonzero(is_first)
    arrays = {name: _read_column(rows, column, form) for name, column in _COLUMNS.items()}
    versions = rows.column("policy_version").to_numpy()
    for start, end in pairwise([*starts.tolist(), rows.num_rows]):
        cut = {name: array[start:end] for name, array in arrays.items()}
        chunk_id = names.dictionary[int(numbers[start])].as_py()
        chunk = Chunk(form.game, chunk_id, int(versions[start]), **cut)
        yield SentChunk(int(users[start]), chunk)


def _read_column(rows: pa.Table, name: str, form: TrajectorySpec) -> Any:
    column: Any = rows.column(name).combine_chunks()
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy().reshape(-1, form.n_features)
    return column.to_numpy(zero_copy_only=False)  # null becomes NaN
