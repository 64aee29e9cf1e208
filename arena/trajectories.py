"""Trajectories as Parquet: one row per decision, the same bytes for the same content.

A *piece* is what a player puts: its episodes are numbered by match and its agents have no names. A
*shard* is what a training run reads: its episodes are numbered within the run, in order. Both have
the same columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from arena import row_files
from arena.errors import ArenaError
from arena.games.base import GameSpec
from arena.row_files import FormError

FORMAT = "evalsite trajectories/1"
# Observations, masks and logits of one row group: what a writer holds in memory.
GROUP_BYTES = 1 << 24

_OPTIONS: dict[str, Any] = {
    **row_files.OPTIONS,
    "use_dictionary": ["agent", "checkpoint"],
    "write_statistics": ["episode", "step"],
}


class TrajectoryError(ArenaError):
    """A file is no trajectory of this form, or its rows make no whole episodes."""


@dataclass(frozen=True)
class TrajectorySpec:
    """What fixes the columns of a game's trajectories."""

    game: str
    observation_shape: tuple[int, ...]
    n_actions: int

    @classmethod
    def of_game(cls, spec: GameSpec) -> "TrajectorySpec":
        """Return what a game's observations and actions make of the columns."""
        return cls(spec.id, spec.observation_shape, spec.n_actions)

    @property
    def n_features(self) -> int:
        """Floats of one observation, whatever its shape."""
        return prod(self.observation_shape)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row's observation and logits (float32) and mask (a byte an action)."""
        return 4 * self.n_features + 5 * self.n_actions

    @property
    def group_rows(self) -> int:
        """Rows of a row group: as many as GROUP_BYTES hold, at least 1."""
        return max(1, GROUP_BYTES // self.row_bytes)


class Step(NamedTuple):
    """One decision of one seat, as it was taken.

    observation: [*shape]; legal_mask: bool [A]. logits: float32 [A]; log_prob: of the action under
    the policy's own distribution; value: what the seat expected of its return: None without a
    network, and then checkpoint is empty.
    """

    seat: int
    observation: NDArray[np.generic]
    legal_mask: NDArray[np.bool_]
    action: int
    checkpoint: str = ""
    logits: NDArray[np.float32] | None = None
    log_prob: float | None = None
    value: float | None = None


class Episode(NamedTuple):
    """One playthrough; `returns` is None when it was cut off before its end (a forfeit).

    agents: names by seat, empty in a piece.
    """

    number: int
    game_seed: int
    steps: Sequence[Step]
    returns: Sequence[float] | None
    agents: Sequence[str] = ()


def arrow_schema(form: TrajectorySpec) -> pa.Schema:
    """Return the columns, with the form as their metadata."""
    floats = pa.field("element", pa.float32(), nullable=False)
    flags = pa.field("element", pa.bool_(), nullable=False)
    columns: list[Any] = [
        pa.field("episode", pa.int64(), nullable=False),
        pa.field("step", pa.int32(), nullable=False),
        pa.field("seat", pa.int16(), nullable=False),
        pa.field("agent", pa.string(), nullable=False),
        pa.field("checkpoint", pa.string(), nullable=False),
        pa.field("game_seed", pa.int64(), nullable=False),
        pa.field("observation", pa.list_(floats, form.n_features), nullable=False),
        pa.field("legal_mask", pa.list_(flags, form.n_actions), nullable=False),
        pa.field("action", pa.int32(), nullable=False),
        pa.field("logits", pa.list_(floats, form.n_actions)),
        pa.field("log_prob", pa.float32()),
        pa.field("value", pa.float32()),
        pa.field("reward", pa.float32(), nullable=False),
        pa.field("terminated", pa.bool_(), nullable=False),
        pa.field("truncated", pa.bool_(), nullable=False),
    ]
    return row_files.declare(columns, FORMAT, **vars(form))


def read_spec(schema: pa.Schema) -> TrajectorySpec:
    """Return the form that a file declares. Raises TrajectoryError when it has other columns."""
    try:
        return row_files.read_form(schema, FORMAT, TrajectorySpec, arrow_schema)
    except FormError as error:
        raise TrajectoryError(str(error)) from error


def build_table(episodes: Iterable[Episode], form: TrajectorySpec) -> pa.Table:
    """Return the rows of the episodes, in their order.

    Raises TrajectoryError when a step does not fit the form.
    """
    whole = list(episodes)
    steps = [step for episode in whole for step in episode.steps]
    lengths = [len(episode.steps) for episode in whole]
    rewards, terminated, truncated = _last_step_columns(whole)
    columns: dict[str, Any] = {
        "episode": np.repeat([episode.number for episode in whole], lengths),
        "step": [index for length in lengths for index in range(length)],
        "seat": [step.seat for step in steps],
        "agent": [
            episode.agents[step.seat] if episode.agents else ""
            for episode in whole
            for step in episode.steps
        ],
        "checkpoint": [step.checkpoint for step in steps],
        "game_seed": np.repeat([episode.game_seed for episode in whole], lengths),
        "observation": _make_fixed_size_lists(
            [step.observation for step in steps], form.observation_shape
        ),
        "legal_mask": _make_fixed_size_lists(
            [step.legal_mask for step in steps], (form.n_actions,), np.bool_
        ),
        "action": [step.action for step in steps],
        "logits": _make_fixed_size_lists([step.logits for step in steps], (form.n_actions,)),
        "log_prob": [step.log_prob for step in steps],
        "value": [step.value for step in steps],
        "reward": rewards,
        "terminated": terminated,
        "truncated": truncated,
    }
    declared = arrow_schema(form)
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, declared.field(name).type)
        for name, column in columns.items()
    ]
    return pa.Table.from_arrays(arrays, schema=declared)


def _last_step_columns(episodes: Iterable[Episode]) -> tuple[list[float], list[bool], list[bool]]:
    """Return reward, terminated and truncated by row: all at the last decision of each seat."""
    rewards, terminated, truncated = list[float](), list[bool](), list[bool]()
    for episode in episodes:
        last = {step.seat: index for index, step in enumerate(episode.steps)}
        for index, step in enumerate(episode.steps):
            is_last = last[step.seat] == index
            is_over = episode.returns is not None
            # Games here have no reward before their end: a seat has all of it with its last
            # decision.
            rewards.append(episode.returns[step.seat] if is_last and episode.returns else 0.0)
            terminated.append(is_last and is_over)
            truncated.append(is_last and not is_over)
    return rewards, terminated, truncated


def _make_fixed_size_lists(
    rows: Sequence[NDArray[Any] | None], shape: tuple[int, ...], kind: type[Any] = np.float32
) -> Any:
    """Return the rows as lists of fixed length, null where there is None."""
    length = prod(shape)
    # One block instead of lists of lists, which cost a Python object for each number.
    block = np.zeros((len(rows), length), dtype=kind)
    for index, row in enumerate(rows):
        if row is not None:
            if row.shape != shape:
                raise TrajectoryError(f"a step has shape {row.shape}, the game has {shape}")
            block[index] = row.reshape(length)
    flat = pa.array(block.reshape(-1))
    form: Any = pa.list_(pa.field("element", flat.type, nullable=False), length)
    missing = pa.array([row is None for row in rows], pa.bool_())
    return pa.FixedSizeListArray.from_arrays(flat, type=form, mask=missing)


def write_parquet(target: Path | BinaryIO, tables: Iterable[pa.Table], form: TrajectorySpec) -> int:
    """Write the rows of the tables as one file; return how many rows there are.

    The bytes depend on the rows only, not on how they are cut into tables. Holds about one row
    group in memory. Raises OSError.
    """
    # Groups are cut by rows alone: how the tables were cut does not show in the hash.
    n_rows = 0
    with pq.ParquetWriter(target, arrow_schema(form), **_OPTIONS) as writer:
        for group in _cut_row_groups(tables, form.group_rows):
            writer.write_table(group, row_group_size=form.group_rows)
            n_rows += group.num_rows
    return n_rows


def _cut_row_groups(tables: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    n_waiting = 0
    for rows in tables:
        waiting.append(rows)
        n_waiting += rows.num_rows
        while n_waiting >= n_rows:
            joined = pa.concat_tables(waiting)
            # Pages are cut at the borders of chunks: one chunk, so that these do not show.
            yield joined.slice(0, n_rows).combine_chunks()
            waiting, n_waiting = [joined.slice(n_rows)], n_waiting - n_rows
    if n_waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def encode_episodes(episodes: Iterable[Episode], form: TrajectorySpec) -> bytes:
    """Return the episodes as the bytes of one file. Raises TrajectoryError."""
    sink = BytesIO()
    write_parquet(sink, [build_table(episodes, form)], form)
    return sink.getvalue()


def read_parquet(source: Path | BinaryIO) -> pa.Table:
    """Return the rows of a piece or a shard. Raises TrajectoryError for any other file, OSError."""
    try:
        with pq.ParquetFile(source) as file:
            read_spec(file.schema_arrow)
            return file.read()
    except pa.ArrowException as error:
        raise TrajectoryError(f"no file of trajectories: {error}") from error


def read_values(source: BinaryIO, number: int) -> dict[int, float]:
    """Return what the deciding seat expected of its return, by step of one episode.

    Empty where no network was asked. Raises TrajectoryError for any other file, OSError.
    """
    try:
        with pq.ParquetFile(source) as file:
            read_spec(file.schema_arrow)
        # Statistics name the episodes of a row group: of a large piece few groups are read.
        rows = pq.read_table(
            source, columns=["step", "value"], filters=[("episode", "=", number)]
        ).to_pylist()
    except pa.ArrowException as error:
        raise TrajectoryError(f"no file of trajectories: {error}") from error
    return {row["step"]: row["value"] for row in rows if row["value"] is not None}


def split_episodes(rows: pa.Table) -> dict[int, pa.Table]:
    """Return the rows of each episode by its number, without copying them.

    Raises TrajectoryError unless the rows of an episode stand together, from step 0 on.
    """
    numbers = rows.column("episode").to_numpy()
    steps = rows.column("step").to_numpy()
    # An episode starts where the number changes; before the first row stands another one.
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    lengths = np.diff(starts, append=len(numbers))
    if not np.array_equal(steps, np.arange(len(steps)) - np.repeat(starts, lengths)):
        raise TrajectoryError("the steps of an episode must be 0, 1, 2 ... in this order")
    episodes = {
        int(numbers[start]): rows.slice(start, length)
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    }
    if len(episodes) < len(starts):
        raise TrajectoryError("the rows of an episode must stand together")
    return episodes


def renumber_episode(episode: pa.Table, number: int, agents: Mapping[int, str]) -> pa.Table:
    """Return the rows of one episode under another number, with the names of its agents by seat.

    Raises TrajectoryError for a seat without a name.
    """
    seats = episode.column("seat").to_numpy().tolist()
    try:
        names = [agents[seat] for seat in seats]
    except KeyError as error:
        raise TrajectoryError(f"there is no seat {error} in this game") from error
    fields = episode.schema
    columns: dict[str, Any] = {
        "episode": pa.array(np.full(len(seats), number), pa.int64()),
        "agent": pa.array(names, pa.string()),
    }
    for name, column in columns.items():
        place = fields.get_field_index(name)
        episode = episode.set_column(place, fields.field(place), column)
    return episode
