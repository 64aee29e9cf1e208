"""Spaces of Gymnasium as numbered actions and float32 observations."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from arena.errors import UnsupportedGameError
from arena.games.spaces import read_actions, read_observations

DISCRETE = spaces.Discrete(3, start=2)
MULTI = spaces.MultiDiscrete([2, 3], start=[0, 5])
BOX = spaces.Box(-1.0, 1.0, (2,))


@pytest.mark.parametrize(
    ("space", "n"), [(DISCRETE, 3), (MULTI, 6), (spaces.MultiBinary(3), 8), (BOX, 9)]
)
def test_every_action_is_another_one_of_the_space(space: spaces.Space[Any], n: int) -> None:
    actions = read_actions("mine", space, n_bins=3)
    assert actions.n == n
    decoded = [actions.decode(action) for action in range(n)]
    assert all(space.contains(action) for action in decoded)
    assert len({np.array(action).tobytes() for action in decoded}) == n


def test_bins_reach_both_ends() -> None:
    actions = read_actions("mine", BOX, n_bins=3)
    assert actions.decode(0).tolist() == [-1, -1]
    assert actions.decode(8).tolist() == [1, 1]
    assert actions.decode(4).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("space", "n_bins", "reason"),
    [
        (BOX, 0, "give n_bins of 2 or more"),
        (spaces.Box(-np.inf, np.inf, (1,)), 3, "bounds to the space"),
        (spaces.Box(-1.0, 1.0, (9,)), 9, "387420489 combinations of actions, at most 100000"),
        (spaces.Text(3), 3, "cannot be numbered: Text"),
    ],
)
def test_what_cannot_be_numbered_is_refused(
    space: spaces.Space[Any], n_bins: int, reason: str
) -> None:
    with pytest.raises(UnsupportedGameError, match=f"mine: .*{reason}"):
        read_actions("mine", space, n_bins=n_bins)


@pytest.mark.parametrize(
    ("space", "shape"),
    [
        (spaces.Discrete(4), (4,)),
        (BOX, (2,)),
        (spaces.Box(0, 255, (4, 4, 3), np.uint8), (4, 4, 3)),
        (spaces.Dict({"a": spaces.Discrete(2), "b": BOX}), (4,)),
    ],
)
def test_observations_are_new_arrays_of_one_shape(
    space: spaces.Space[Any], shape: tuple[int, ...]
) -> None:
    observations = read_observations("mine", space)
    sample = space.sample()
    first, second = observations.encode(sample), observations.encode(sample)
    assert first.shape == observations.shape == shape
    assert first.dtype == np.float32
    assert np.array_equal(first, second)
    assert not np.shares_memory(first, second)


def test_observations_of_no_fixed_length_are_refused() -> None:
    with pytest.raises(UnsupportedGameError, match="mine: its observations have no fixed length"):
        read_observations("mine", spaces.Sequence(BOX))
