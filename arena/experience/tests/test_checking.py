"""Which chunks cannot be what a client saw and did, and how that is said."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ChunkError
from arena.experience.checking import check_chunk
from arena.experience.chunks import Chunk
from arena.experience.tests.made import SPEC, chunk_of, chunks, with_value


@given(chunks())
def test_what_a_client_may_send_is_taken(chunk: Chunk) -> None:
    check_chunk(chunk, SPEC)


def test_an_end_may_be_of_both_kinds() -> None:
    check_chunk(with_value(chunk_of(), "truncated", -1, True), SPEC)
    check_chunk(with_value(chunk_of(), "terminated", -1, True), SPEC)


def test_a_million_is_taken() -> None:
    check_chunk(with_value(chunk_of(), "rewards", 3, 1e6), SPEC)


def test_few_steps_are_taken_where_an_episode_ends() -> None:
    check_chunk(chunk_of((1,), first_step=99), SPEC)
    check_chunk(chunk_of((16,), ends=False), SPEC)


def _refusal(chunk: Chunk) -> tuple[str, int | None, str]:
    with pytest.raises(ChunkError) as refused:
        check_chunk(chunk, SPEC)
    return refused.value.field, refused.value.index, refused.value.reason


@pytest.mark.parametrize(
    ("lengths", "refusal"),
    [
        ((), "has 0 steps: must be 1 to 1024"),
        ((1025,), "has 1025 steps: must be 1 to 1024"),
        ((15,), "has 15 steps: must be 16 or more, unless the last ends an episode"),
        ((10, 5), "has 15 steps: must be 16 or more, unless the last ends an episode"),
    ],
)
def test_a_chunk_has_some_steps(lengths: tuple[int, ...], refusal: str) -> None:
    chunk = chunk_of(lengths or (1,), ends=False)
    if not lengths:
        chunk = replace(chunk, actions=chunk.actions[:0])
    assert _refusal(chunk) == ("actions", None, refusal)


def test_policies_are_counted_from_minus_one() -> None:
    field, _, reason = _refusal(chunk_of(policy_version=-2))
    assert (field, reason) == ("policy_version", "is -2: must be -1 (not known) or more")


NAN, INF = float("nan"), float("inf")
BOUNDS = "must be -1000000 to 1000000"


@pytest.mark.parametrize(
    ("name", "place", "value", "refusal"),
    [
        ("observations", (3, 2), NAN, f"is nan at 2: {BOUNDS}"),
        ("next_observations", (24, 0), INF, f"is inf at 0: {BOUNDS}"),
        ("observations", (3, 2), 3e38, f"at 2: {BOUNDS}"),
        ("rewards", 7, -INF, f"is -inf: {BOUNDS}"),
        ("rewards", 7, -1_000_001.0, f"is -1000001.0: {BOUNDS}"),
        ("actions", 4, 2, "is 2: must be 0 to 1"),
        ("actions", 4, -1, "is -1: must be 0 to 1"),
        ("log_probs", 9, 0.5, "is 0.5: must be finite and at most 0, or NaN"),
        ("log_probs", 9, -INF, "is -inf: must be finite and at most 0, or NaN"),
        ("steps", 3, -1, "is -1: must be 0 or more"),
        ("steps", 3, 4, "is 4: must be one more than the step before it"),
        ("steps", 3, 2, "is 2: must be one more than the step before it"),
        ("steps", 5, 5, "is 5: must be 0 in a new episode"),
        ("episodes", 3, 9, "is 9: must be that of the step before it, which ends no episode"),
        ("terminated", 4, False, "is 8: must be that of the step before it, which ends no episode"),
        ("terminated", 2, True, "is 7: must be another one, as the step before it ends the"),
        ("truncated", 2, True, "is 7: must be another one, as the step before it ends the"),
        ("observations", (3, 1), 9.0, "at 1: must be the observation of the next step"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_step(
    name: str, place: Any, value: Any, refusal: str
) -> None:
    field, index, reason = _refusal(with_value(chunk_of(), name, place, value))
    ends = {"terminated": place, "truncated": place}
    at = place[0] if isinstance(place, tuple) else place
    expected = {"observations": ("next_observations", 2)} if "next step" in refusal else {}
    assert (field, index) == expected.get(
        name, ("episodes", at + 1) if name in ends else (name, at)
    )
    assert refusal in reason


def test_the_successor_at_an_end_is_its_own_and_not_the_next_beginning() -> None:
    chunk = chunk_of()
    assert not np.array_equal(chunk.next_observations[4], chunk.observations[5])
    check_chunk(chunk, SPEC)


def test_an_episode_does_not_come_back_after_its_end() -> None:
    chunk = chunk_of((5, 5, 6))
    again = replace(chunk, episodes=np.repeat(np.array([7, 8, 7]), (5, 5, 6)))
    assert _refusal(again) == ("episodes", 10, "is 7: must be none that has ended")


def test_numbers_of_episodes_need_not_rise() -> None:
    chunk = chunk_of((5, 5, 6))
    check_chunk(replace(chunk, episodes=np.repeat(np.array([9, -4, 2]), (5, 5, 6))), SPEC)


@given(chunks(), st.data())
def test_steps_that_are_left_out_are_noticed(chunk: Chunk, data: st.DataObject) -> None:
    within = [i for i in range(1, len(chunk) - 1) if chunk.steps[i] and chunk.steps[i + 1]]
    if within:
        kept = np.arange(len(chunk)) != data.draw(st.sampled_from(within))
        arrays = {
            name: value[kept]
            for name, value in vars(chunk).items()
            if isinstance(value, np.ndarray)
        }
        with pytest.raises(ChunkError):
            check_chunk(replace(chunk, **arrays), SPEC)
