"""Chunks one after the other: where traces end, and what follows a step."""

from dataclasses import replace

import numpy as np

from arena.experience.chunks import Chunk
from training import registry
from training.batches import join_chunks
from training.tests.cart_pole import TASK, Player

NO = [False] * 4


def make_chunk(seed: int, *, terminated: list[bool] = NO, truncated: list[bool] = NO) -> Chunk:
    chunk = Player(seed).play(registry.get("bc").begin(TASK, {}, seed=0), 4)
    return replace(chunk, terminated=np.array(terminated), truncated=np.array(truncated))


def test_a_trace_is_cut_at_both_kinds_of_end_and_where_its_chunk_ends() -> None:
    first = make_chunk(0, terminated=[True, False, False, False])
    second = make_chunk(1, truncated=[False, True, False, False])
    batch = join_chunks([first, second])
    assert np.flatnonzero(batch.is_cut).tolist() == [0, 3, 5, 7]
    assert np.flatnonzero(batch.terminated).tolist() == [0]
    assert not first.truncated.any()
    assert not second.terminated.any()


def test_what_follows_a_step_is_what_its_chunk_says_and_not_the_next_row() -> None:
    chunks = [make_chunk(0, truncated=[False, True, False, False]), make_chunk(1)]
    following = np.concatenate([chunk.next_observations for chunk in chunks])
    following[1] = 7.0  # the last of an episode; the next row begins another one
    chunks[0] = replace(chunks[0], next_observations=following[:4])
    batch = join_chunks(chunks)
    assert batch.next_observations.tolist() == following.tolist()
    assert batch.next_observations[3].tolist() != batch.observations[4].tolist()
