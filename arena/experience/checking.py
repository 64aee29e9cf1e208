"""Whether a chunk can be what a client of a game saw and did: by arithmetic on its columns only."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from arena.errors import ChunkError
from arena.experience.chunks import UNKNOWN_VERSION, Chunk
from arena.games.base import GameSpec

MOST_STEPS: Final = 1_024
FEWEST_STEPS: Final = 16
"""A chunk with fewer steps costs as much as one with many: only where an episode ends."""
LARGEST: Final = 1e6
"""Of observations and rewards, either sign: what squares to infinity would end who learns of it."""

_BOUNDS: Final = f"{-LARGEST:.0f} to {LARGEST:.0f}"


def check_chunk(chunk: Chunk, spec: GameSpec) -> None:
    """Raise ChunkError, naming field, step and value, where the steps cannot be of the game.

    Its arrays must be of the types and lengths that a Chunk has. No game declares bounds of its
    observations, so these have the bound of all games.
    """
    _check_size(chunk)
    if chunk.policy_version < UNKNOWN_VERSION:
        lowest = f"must be {UNKNOWN_VERSION} (not known) or more"
        raise ChunkError("policy_version", f"is {chunk.policy_version}: {lowest}")
    _check_values(chunk, spec)
    _check_order(chunk)


def refuse_first(name: str, is_bad: NDArray[np.bool_], values: NDArray[Any], rule: str) -> None:
    """Raise ChunkError for the first step whose value, or one of whose values, is bad."""
    if is_bad.any():
        place = np.unravel_index(int(is_bad.argmax()), is_bad.shape)
        which = f" at {place[1]}" if len(place) > 1 else ""
        raise ChunkError(name, f"is {values[place]}{which}: {rule}", index=int(place[0]))


def _check_size(chunk: Chunk) -> None:
    if not 1 <= len(chunk) <= MOST_STEPS:
        raise ChunkError("actions", f"has {len(chunk)} steps: must be 1 to {MOST_STEPS}")
    if len(chunk) < FEWEST_STEPS and not (chunk.terminated[-1] or chunk.truncated[-1]):
        raise ChunkError(
            "actions",
            f"has {len(chunk)} steps: must be {FEWEST_STEPS} or more, unless the last ends an "
            "episode",
        )


def _check_values(chunk: Chunk, spec: GameSpec) -> None:
    for name in ("observations", "next_observations", "rewards"):
        values = getattr(chunk, name)
        # Not by "larger", which NaN is not.
        refuse_first(name, ~(np.abs(values) <= LARGEST), values, f"must be {_BOUNDS}")
    is_no_action = (chunk.actions < 0) | (chunk.actions >= spec.n_actions)
    refuse_first("actions", is_no_action, chunk.actions, f"must be 0 to {spec.n_actions - 1}")
    is_no_log = (chunk.log_probs > 0) | np.isinf(chunk.log_probs)
    refuse_first("log_probs", is_no_log, chunk.log_probs, "must be finite and at most 0, or NaN")
    refuse_first("steps", chunk.steps < 0, chunk.steps, "must be 0 or more")


def _check_order(chunk: Chunk) -> None:
    """Refuse steps that do not follow each other, with the index of the later one."""
    begins = np.diff(chunk.episodes, prepend=chunk.episodes[:1]) != 0
    # What the step before it leads to; the first one may go on from an earlier chunk.
    is_after_end = np.concatenate([[False], (chunk.terminated | chunk.truncated)[:-1]])
    goes_on = ~begins
    goes_on[0] = False
    rule = "must be another one, as the step before it ends the episode"
    refuse_first("episodes", goes_on & is_after_end, chunk.episodes, rule)
    rule = "must be that of the step before it, which ends no episode"
    refuse_first("episodes", begins & ~is_after_end, chunk.episodes, rule)
    _, firsts = np.unique(chunk.episodes, return_index=True)
    begins_again = begins.copy()
    begins_again[firsts] = False
    refuse_first("episodes", begins_again, chunk.episodes, "must be none that has ended")
    refuse_first("steps", begins & (chunk.steps != 0), chunk.steps, "must be 0 in a new episode")
    follows = np.diff(chunk.steps, prepend=chunk.steps[:1]) == 1
    rule = "must be one more than the step before it"
    refuse_first("steps", goes_on & ~follows, chunk.steps, rule)
    differs = chunk.observations[1:] != chunk.next_observations[:-1]
    rule = "must be the observation of the next step, as the episode goes on"
    is_wrong = differs & goes_on[1:, None]
    refuse_first("next_observations", is_wrong, chunk.next_observations[:-1], rule)
