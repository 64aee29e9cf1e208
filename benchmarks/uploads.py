"""Chunks of CartPole, drawn once and sent again and again under ids of their own."""

from functools import lru_cache
from typing import Final
from uuid import UUID

import numpy as np

from arena.experience.chunks import UNKNOWN_VERSION, Chunk
from arena.experience.wire import write_chunk

GAME: Final = "cart_pole"
N_STEPS: Final = 256
PATH: Final = "/api/v1/experience/"
_PLACEHOLDER: Final = UUID(int=1).hex


def make_body(chunk_id: UUID, *, version: int = UNKNOWN_VERSION) -> bytes:
    """Return a chunk of one episode of N_STEPS steps as MessagePack, cheaply."""
    return _write_once(version).replace(_PLACEHOLDER.encode(), chunk_id.hex.encode(), 1)


@lru_cache(maxsize=16)
def _write_once(version: int) -> bytes:
    rng = np.random.default_rng(0)
    observations = rng.standard_normal((N_STEPS + 1, 4), np.float32)
    is_last = np.arange(N_STEPS) == N_STEPS - 1
    chunk = Chunk(
        game=GAME,
        chunk_id=_PLACEHOLDER,
        policy_version=version,
        episodes=np.zeros(N_STEPS, np.int64),
        steps=np.arange(N_STEPS, dtype=np.int32),
        observations=observations[:-1],
        next_observations=observations[1:],
        actions=rng.integers(2, size=N_STEPS, dtype=np.int32),
        rewards=np.ones(N_STEPS, np.float32),
        terminated=is_last,
        truncated=np.zeros(N_STEPS, np.bool_),
        log_probs=np.full(N_STEPS, np.log(0.5), np.float32),
    )
    return write_chunk(chunk)
