"""A chunk of experience: consecutive steps of one client, which may cross the ends of episodes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNKNOWN_VERSION = -1
"""The policy version of humans and of policies that are not ours."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """n steps of one client under one version of a policy, each with its true successor.

    episodes: int64 [n]. steps: int32 [n], from 0 within an episode. observations: float32 [n, F],
    before the step; next_observations: after it, at the end of an episode its last one and not
    that of the next. actions: int32 [n]. rewards: float32 [n]. terminated, truncated: bool [n].
    log_probs: float32 [n], of the action under the policy that chose it, NaN where not known.
    """

    game: str
    chunk_id: str
    """A uuid in hex: a chunk that is sent again has the same."""
    policy_version: int
    episodes: NDArray[np.int64]
    steps: NDArray[np.int32]
    observations: NDArray[np.float32]
    next_observations: NDArray[np.float32]
    actions: NDArray[np.int32]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    log_probs: NDArray[np.float32]

    def __len__(self) -> int:
        """Return how many steps it has."""
        return len(self.actions)
