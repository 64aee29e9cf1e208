"""Chunks: how steps are gathered, and that the server reads what was written."""

import itertools
from collections.abc import Iterator
from uuid import uuid4

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.experience.checking import check_chunk
from arena.experience.chunks import Chunk as ReadChunk
from arena.experience.tests.made import SPEC
from arena.experience.wire import read_chunk
from evalsite_client.experience.chunks import COLUMNS, Chunk, Recorder, Step, pack_map
from evalsite_client.experience.tests.made import Walk


def _play(*lengths: int) -> Iterator[Step]:
    """Yield the steps of episodes of these lengths."""
    walk, rng = Walk(*lengths), np.random.default_rng(0)
    for number, length in enumerate(lengths):
        observation = walk.reset(seed=number)
        for place in range(length):
            action = int(rng.integers(2))
            outcome = walk.step(action)
            log_prob = -float(rng.random(dtype=np.float32))
            yield Step(number, place, observation, outcome[0], action, *outcome[1:], log_prob)
            observation = outcome.observation


def _record(steps: list[Step]) -> list[Chunk]:
    ids = map("{:032x}".format, itertools.count())
    recorder = Recorder("cart_pole", draw_id=lambda: next(ids))
    chunks = [recorder.add_step(step, version=3) for step in steps]
    return [chunk for chunk in [*chunks, recorder.close()] if chunk is not None]


def _read(chunk: Chunk) -> ReadChunk:
    read = read_chunk(chunk.content, spec=SPEC)
    check_chunk(read, SPEC)
    return read


def test_the_server_reads_every_step_as_it_was() -> None:
    steps = list(_play(5, 300, 1, 40, 700, 127))
    chunks = [_read(chunk) for chunk in _record(steps)]
    assert [chunk.chunk_id for chunk in chunks] == [f"{n:032x}" for n in range(len(chunks))]
    assert {chunk.policy_version for chunk in chunks} == {3}
    for name, column in zip(COLUMNS, zip(*steps, strict=True), strict=True):
        joined = np.concatenate([getattr(chunk, name) for chunk in chunks])
        np.testing.assert_array_equal(joined, np.array(column, joined.dtype), name)


def test_chunks_have_128_to_256_steps_and_end_with_an_episode_where_they_can() -> None:
    steps = list(_play(100, 27, 30, 128, 256, 257, 300, 60))
    assert [chunk.n_steps for chunk in _record(steps)] == [157, 128, 256, 256, 256, 105]


@pytest.mark.parametrize(
    ("lengths", "n_steps", "n_kept"),
    [((50,), 15, 0), ((50,), 16, 16), ((3, 50), 10, 3), ((3, 4, 50), 15, 7)],
)
def test_of_an_episode_that_is_cut_off_16_steps_are_a_chunk(
    lengths: tuple[int, ...], n_steps: int, n_kept: int
) -> None:
    chunks = _record(list(_play(*lengths))[:n_steps])
    assert sum(chunk.n_steps for chunk in chunks) == n_kept
    assert [len(_read(chunk)) for chunk in chunks] == [n_kept] * bool(n_kept)


def test_nothing_is_left_once_a_chunk_is_closed() -> None:
    recorder = Recorder("cart_pole", draw_id=lambda: uuid4().hex)
    for step in _play(20):
        recorder.add_step(step, version=1)
    assert recorder.close() is not None
    assert recorder.close() is None


@given(
    st.dictionaries(
        st.text(max_size=40),
        st.one_of(
            st.integers(-(2**63), 2**64 - 1),
            st.text(max_size=40),
            st.binary(max_size=40),
            st.sampled_from([b"x" * n for n in (255, 256, 65_535, 65_536)]),
            st.sampled_from(["x" * n for n in (31, 32, 255, 256, 65_535, 65_536)]),
            st.sampled_from(
                [
                    sign * 2**power - less
                    for power in (7, 8, 15, 16, 31, 32, 63)
                    for sign in (1, -1)
                    for less in (0, 1)
                    if sign * 2**power - less >= -(2**63)
                ]
            ),
        ),
        max_size=20,
    )
)
def test_maps_are_packed_as_another_packer_does(members: dict[str, int | str | bytes]) -> None:
    assert pack_map(members) == msgspec.msgpack.encode(members)


def test_numbers_that_messagepack_has_not_are_refused() -> None:
    with pytest.raises(OverflowError):
        pack_map({"n": 2**64})
