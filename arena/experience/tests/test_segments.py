"""Segments: every step is a row, equal content is equal bytes, other files are refused."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ChunkError
from arena.experience import segments
from arena.experience.chunks import Chunk
from arena.experience.segments import SentChunk, read_segment, write_segment
from arena.experience.tests.made import SPEC, assert_same, chunk_of, chunks
from arena.trajectories import TrajectorySpec

FORM = TrajectorySpec.of_game(SPEC)


def _written(sent: list[SentChunk]) -> bytes:
    target = BytesIO()
    write_segment(target, sent, FORM)
    return target.getvalue()


@given(st.lists(st.tuples(st.integers(1, 3), chunks()), min_size=1, max_size=4))
def test_chunks_come_back_with_their_users(drawn: list[tuple[int, Chunk]]) -> None:
    # The stream lets no id in twice.
    sent = [
        SentChunk(user, replace(chunk, chunk_id=f"{number:032x}"))
        for number, (user, chunk) in enumerate(drawn)
    ]
    again = list(read_segment(BytesIO(_written(sent))))
    assert [user for user, _ in again] == [user for user, _ in sent]
    for (_, one), (_, two) in zip(sent, again, strict=True):
        assert_same(one, two)


def test_every_step_is_a_row_and_what_is_not_known_is_null() -> None:
    chunk = chunk_of((16,), log_probs=np.array([-0.5] * 15 + [np.nan], np.float32))
    target = BytesIO()
    assert write_segment(target, [SentChunk(5, chunk), SentChunk(6, chunk)], FORM) == 32
    rows = pq.read_table(target).to_pylist()
    assert [row["user"] for row in rows] == [5] * 16 + [6] * 16
    assert rows[15] == {
        "user": 5,
        "chunk": "0" * 32,
        "policy_version": 3,
        "episode": 7,
        "step": 15,
        "observation": chunk.observations[15].tolist(),
        "next_observation": chunk.next_observations[15].tolist(),
        "action": int(chunk.actions[15]),
        "reward": 1.0,
        "terminated": True,
        "truncated": False,
        "log_prob": None,
    }
    assert rows[14]["log_prob"] == -0.5


def test_equal_chunks_are_equal_bytes_wherever_they_come_from(tmp_path: Path) -> None:
    sent = [SentChunk(1, chunk_of(seed=seed)) for seed in range(20)]
    path = tmp_path / "segment.parquet"
    write_segment(path, sent, FORM)
    assert path.read_bytes() == _written(list(read_segment(path)))
    assert path.read_bytes() != _written(sent[::-1])


def test_a_large_segment_has_several_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "GROUP_BYTES", 320)
    sent = [SentChunk(1, chunk_of((25,), seed=seed)) for seed in range(2)]
    content = _written(sent)
    assert pq.ParquetFile(BytesIO(content)).num_row_groups == 5
    again = list(read_segment(BytesIO(content)))
    assert [len(chunk) for _, chunk in again] == [25, 25]


def _foreign(rows: pa.Table) -> BytesIO:
    target = BytesIO()
    pq.write_table(rows, target)
    return target


@pytest.mark.parametrize(
    ("source", "refusal"),
    [
        (BytesIO(b"PAR1"), "no segment: "),
        (_foreign(pa.table({"a": [1]})), "no file of 'evalsite experience/1'"),
        (
            _foreign(pa.table({"a": [1]}).replace_schema_metadata({"evalsite": '{"format": "x"}'})),
            "format 'x' is not 'evalsite experience/1'",
        ),
        (
            _foreign(
                pa.table({"a": [1]}).replace_schema_metadata(segments.arrow_schema(FORM).metadata)
            ),
            "not the columns of 'evalsite experience/1': ['a']",
        ),
    ],
    ids=["no file", "no metadata", "another format", "other columns"],
)
def test_other_files_are_refused(source: BytesIO, refusal: str) -> None:
    with pytest.raises(ChunkError) as refused:
        list(read_segment(source))
    assert str(refused.value).startswith(refusal) or refusal in str(refused.value)


def test_a_segment_without_rows_has_no_chunks() -> None:
    assert list(read_segment(_foreign(segments.arrow_schema(FORM).empty_table()))) == []
