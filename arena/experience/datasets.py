"""Shards of datasets: a row a step with its successor, of uploads and of matches alike.

Rows of one episode and seat stand together, in order; an episode is numbered within its dataset.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from arena import row_files
from arena.errors import ArenaError
from arena.row_files import FormError
from arena.trajectories import GROUP_BYTES, TrajectorySpec

FORMAT: Final = "evalsite dataset/1"
_OPTIONS: Final[dict[str, Any]] = {
    **row_files.OPTIONS,
    "use_dictionary": ["player", "policy_version", "action"],
    "write_statistics": ["episode", "policy_version"],
}


class DatasetError(ArenaError):
    """A file is no shard of a dataset, or what it would be made of does not fit."""


@dataclass(frozen=True, eq=False)
class Rows:
    """T steps of a shard.

    episodes, int64 [T]. steps: int32 [T], within the episode; seats: int16 [T]. observations,
    next_observations: float32 [T, F]. legal_masks: bool [T, A]. actions, policy_versions: int32
    [T]. rewards: float32 [T]. terminated, truncated: bool [T]. log_probs: float32 [T], NaN where
    not known.
    """

    episodes: NDArray[np.int64]
    steps: NDArray[np.int32]
    seats: NDArray[np.int16]
    policy_versions: NDArray[np.int32]
    observations: NDArray[np.float32]
    next_observations: NDArray[np.float32]
    legal_masks: NDArray[np.bool_]
    actions: NDArray[np.int32]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    log_probs: NDArray[np.float32]

    def __len__(self) -> int:
        """Return how many steps there are."""
        return len(self.actions)


# Of the fields of Rows, in their order: the column that each is.
_COLUMNS: Final = (
    *("episode", "step", "seat", "policy_version", "observation", "next_observation"),
    *("legal_mask", "action", "reward", "terminated", "truncated", "log_prob"),
)


def arrow_schema(form: TrajectorySpec) -> pa.Schema:
    """Return the columns, with the form as their metadata."""
    floats = pa.list_(pa.field("element", pa.float32(), nullable=False), form.n_features)
    flags = pa.list_(pa.field("element", pa.bool_(), nullable=False), form.n_actions)
    columns: list[Any] = [
        pa.field("episode", pa.int64(), nullable=False),
        pa.field("step", pa.int32(), nullable=False),
        pa.field("seat", pa.int16(), nullable=False),
        pa.field("player", pa.string(), nullable=False),
        pa.field("policy_version", pa.int32(), nullable=False),
        pa.field("observation", floats, nullable=False),
        pa.field("next_observation", floats, nullable=False),
        pa.field("legal_mask", flags, nullable=False),
        pa.field("action", pa.int32(), nullable=False),
        pa.field("reward", pa.float32(), nullable=False),
        pa.field("terminated", pa.bool_(), nullable=False),
        pa.field("truncated", pa.bool_(), nullable=False),
        pa.field("log_prob", pa.float32()),
    ]
    return row_files.declare(columns, FORMAT, **vars(form))


def read_spec(schema: pa.Schema) -> TrajectorySpec:
    """Return the form that a shard declares. Raises DatasetError when it has other columns."""
    try:
        return row_files.read_form(schema, FORMAT, TrajectorySpec, arrow_schema)
    except FormError as error:
        raise DatasetError(str(error)) from error


def convert_uploads(rows: pa.Table, form: TrajectorySpec, *, first_episode: int) -> pa.Table:
    """Convert rows of segments into rows of a shard, with whole episodes one after the other.

    A player is the key of the user who sent them.
    """
    columns: dict[str, Any] = {field.name: rows.column(field.name) for field in rows.schema}
    ends = columns["terminated"].to_numpy() | columns["truncated"].to_numpy()
    # An episode begins behind the end of the one before.
    numbers = first_episode + np.cumsum(ends) - ends
    masks = pa.array(np.ones(len(ends) * form.n_actions, np.bool_))
    kind: Any = arrow_schema(form).field("legal_mask").type
    columns |= {
        "episode": pa.array(numbers, pa.int64()),
        "seat": pa.array(np.zeros(len(ends), np.int16)),
        "player": columns["user"].cast(pa.string()),
        "legal_mask": pa.FixedSizeListArray.from_arrays(masks, type=kind),
    }
    return _make_table(columns, form)


def convert_match(
    rows: pa.Table, form: TrajectorySpec, *, number: int, players: dict[int, str]
) -> pa.Table:
    """Convert the rows of one match into rows of a shard, seat by seat, for these seats only.

    players: who sat there, by seat. The successor of a step is the seat's next decision; of its
    last one there is none, and its own observation stands there.
    """
    seats = rows.column("seat").to_numpy()
    chosen = [np.flatnonzero(seats == seat) for seat in sorted(players)]
    order = np.concatenate(chosen)
    following = np.concatenate([np.append(places[1:], places[-1:]) for places in chosen])
    ordered = rows.take(order)
    columns: dict[str, Any] = {field.name: ordered.column(field.name) for field in ordered.schema}
    n = len(order)
    columns |= {
        "episode": pa.array(np.full(n, number), pa.int64()),
        "player": pa.array([players[seat] for seat in seats[order].tolist()], pa.string()),
        "policy_version": pa.array(np.full(n, -1), pa.int32()),
        "next_observation": rows.column("observation").take(following),
    }
    return _make_table(columns, form)


def write_shard(target: Path | BinaryIO, tables: list[pa.Table], form: TrajectorySpec) -> int:
    """Write the rows of the tables as one file; return how many. Holds all. Raises OSError.

    The bytes depend on the rows only, not on how they are cut into tables.
    """
    rows = pa.concat_tables([arrow_schema(form).empty_table(), *tables]).combine_chunks()
    group_rows = max(1, GROUP_BYTES // (8 * form.n_features))
    with pq.ParquetWriter(target, rows.schema, **_OPTIONS) as writer:
        writer.write_table(rows, row_group_size=group_rows)
    return int(rows.num_rows)


def read_shard(source: Path | BinaryIO) -> tuple[TrajectorySpec, Rows]:
    """Return the form and the rows of a shard. Raises DatasetError for any other file, OSError."""
    try:
        with pq.ParquetFile(source) as file:
            form = read_spec(file.schema_arrow)
            table = file.read()
    except pa.ArrowException as error:
        raise DatasetError(f"no shard: {error}") from error
    return form, Rows(*(_read_column(table, name, form) for name in _COLUMNS))


def _make_table(columns: dict[str, Any], form: TrajectorySpec) -> pa.Table:
    declared = arrow_schema(form)
    return pa.Table.from_arrays([columns[name] for name in declared.names], schema=declared)


def _read_column(table: pa.Table, name: str, form: TrajectorySpec) -> Any:
    column: Any = table.column(name).combine_chunks()
    if pa.types.is_fixed_size_list(column.type):
        length = form.n_actions if name == "legal_mask" else form.n_features
        return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, length)
    return column.to_numpy(zero_copy_only=False)  # null becomes NaN
