"""Chunks as a client would send them."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from arena.experience.chunks import Chunk
from arena.games import registry

SPEC = registry.get("cart_pole").spec


def chunk_of(
    lengths: tuple[int, ...] = (5, 20),
    *,
    first_step: int = 0,
    ends: bool = True,
    seed: int = 0,
    **changed: Any,
) -> Chunk:
    """Return a chunk of episodes of these lengths; the last one is cut off unless it ends.

    first_step: of the first episode, which an earlier chunk began. Every second end truncates.
    """
    n_steps = sum(lengths)
    rng = np.random.default_rng(seed)
    observations = [rng.standard_normal((length + 1, 4), np.float32) for length in lengths]
    last = np.cumsum(lengths) - 1
    terminated, truncated = np.zeros((2, n_steps), np.bool_)
    terminated[last[::2]] = truncated[last[1::2]] = True
    if not ends:
        terminated[-1] = truncated[-1] = False
    steps = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    steps[: lengths[0]] += first_step
    chunk = Chunk(
        game="cart_pole",
        chunk_id=f"{seed:032x}",
        policy_version=3,
        episodes=np.repeat(np.arange(len(lengths), dtype=np.int64) + 7, lengths),
        steps=steps,
        observations=np.concatenate([rows[:-1] for rows in observations]),
        next_observations=np.concatenate([rows[1:] for rows in observations]),
        actions=rng.integers(0, 2, n_steps, dtype=np.int32),
        rewards=np.ones(n_steps, np.float32),
        terminated=terminated,
        truncated=truncated,
        log_probs=np.full(n_steps, -0.5, np.float32),
    )
    return replace(chunk, **changed)


def with_value(chunk: Chunk, name: str, place: Any, value: Any) -> Chunk:
    """Return the chunk with another value at a place of one of its arrays."""
    array = getattr(chunk, name).copy()
    array[place] = value
    return replace(chunk, **{name: array})


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    """Draw a chunk that a client may send."""
    lengths = tuple(draw(st.lists(st.integers(1, 40), min_size=1, max_size=6)))
    chunk = chunk_of(
        lengths,
        first_step=draw(st.integers(0, 300)),
        ends=draw(st.booleans()) or sum(lengths) < 16,
        seed=draw(st.integers(0, 2**32)),
        policy_version=draw(st.integers(-1, 2**31 - 1)),
    )
    # Numbers drawn one by one would take hypothesis seconds.
    is_known = np.random.default_rng(len(chunk)).random(len(chunk)) < draw(st.floats(0, 1))
    return replace(chunk, log_probs=np.where(is_known, chunk.log_probs, np.float32("nan")))


def assert_same(one: Chunk, other: Chunk) -> None:
    """Fail unless both hold the same, to the last bit."""
    for name, value in vars(one).items():
        second = getattr(other, name)
        if isinstance(value, np.ndarray):
            assert (second.dtype, second.shape) == (value.dtype, value.shape), name
            np.testing.assert_array_equal(second, value, name)
        else:
            assert second == value, name
