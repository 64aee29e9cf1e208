"""Shards of datasets: uploads and matches as the same rows, equal bytes for equal rows."""

from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.experience.datasets import (
    DatasetError,
    arrow_schema,
    convert_match,
    convert_uploads,
    read_shard,
    write_shard,
)
from arena.experience.segments import SentChunk, build_table
from arena.experience.tests.made import SPEC, chunk_of
from arena.trajectories import Episode, Step, TrajectorySpec
from arena.trajectories import build_table as build_trajectories

FORM = TrajectorySpec.of_game(SPEC)
MATCH = TrajectorySpec("lines", (2,), 3)


def uploads(*, seed: int = 1) -> pa.Table:
    rows = build_table([SentChunk(5, chunk_of((5, 20), seed=seed))], FORM)
    return convert_uploads(rows, FORM, first_episode=7)


def written(*tables: pa.Table, form: TrajectorySpec = FORM) -> bytes:
    target = BytesIO()
    write_shard(target, list(tables), form)
    return target.getvalue()


def test_uploads_come_back_step_by_step() -> None:
    form, rows = read_shard(BytesIO(written(uploads())))
    chunk = chunk_of((5, 20), seed=1)
    assert (form, len(rows)) == (FORM, 25)
    assert rows.episodes.tolist() == [7] * 5 + [8] * 20
    np.testing.assert_array_equal(rows.next_observations, chunk.next_observations)
    np.testing.assert_array_equal(rows.truncated, chunk.truncated)
    assert pq.read_table(BytesIO(written(uploads()))).column("player").to_pylist() == ["5"] * 25


def test_the_bytes_do_not_tell_how_the_rows_were_cut() -> None:
    rows = uploads()
    assert written(rows) == written(rows.slice(0, 3), rows.slice(3))
    assert written(rows) != written(uploads(seed=2))


def match_of(actions: list[int], *, over: bool = True) -> pa.Table:
    """Return a match of two seats in turn; a seat sees the number of the step and its own."""
    steps = [
        Step(
            number % 2,
            np.array([number, number % 2], np.float32),
            np.array([True, number % 2 == 0, True]),
            action,
            log_prob=-0.25,
        )
        for number, action in enumerate(actions)
    ]
    return build_trajectories([Episode(3, 9, steps, (1.0, -1.0) if over else None)], MATCH)


def test_a_seats_successor_is_its_own_next_decision() -> None:
    table = convert_match(match_of([0, 1, 2, 0, 1]), MATCH, number=4, players={0: "ann", 1: "bob"})
    _, rows = read_shard(BytesIO(written(table, form=MATCH)))
    assert rows.seats.tolist() == [0, 0, 0, 1, 1]
    assert rows.steps.tolist() == [0, 2, 4, 1, 3]
    assert rows.next_observations[:, 0].tolist() == [2, 4, 4, 3, 3]
    assert rows.legal_masks[:, 1].tolist() == [True] * 3 + [False] * 2
    assert rows.rewards.tolist() == [0, 0, 1, 0, -1]
    assert rows.terminated.tolist() == [False, False, True, False, True]
    assert table.column("player").to_pylist() == ["ann"] * 3 + ["bob"] * 2
    assert set(rows.policy_versions.tolist()) == {-1}
    assert set(rows.episodes.tolist()) == {4}


def test_of_a_match_only_chosen_seats_are_taken() -> None:
    table = convert_match(match_of([0, 1, 2], over=False), MATCH, number=0, players={1: "bob"})
    _, rows = read_shard(BytesIO(written(table, form=MATCH)))
    assert (rows.seats.tolist(), rows.actions.tolist()) == ([1], [1])
    assert (rows.terminated.tolist(), rows.truncated.tolist()) == ([False], [True])


def declare(text: str) -> bytes:
    target = BytesIO()
    schema: Any = arrow_schema(FORM).with_metadata({b"evalsite": text.encode()})
    with pq.ParquetWriter(target, schema) as writer:
        writer.write_table(schema.empty_table())
    return target.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PAR1", "no shard: "),
        (declare("{}"), "no file of 'evalsite dataset/1'"),
        (declare('{"format": "evalsite dataset/2"}'), "'evalsite dataset/2' is not"),
        (
            declare(
                '{"format": "evalsite dataset/1", "game": "cart_pole", "observation_shape": [5], '
                '"n_actions": 2}'
            ),
            "not the columns of",
        ),
    ],
)
def test_what_is_no_shard_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        read_shard(BytesIO(content))
