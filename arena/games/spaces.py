"""Gymnasium's spaces as ours: numbered actions, and observations of one shape of float32."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from arena.errors import UnsupportedGameError

# More actions than this are no choice that a network or a table makes.
MOST_ACTIONS = 100_000
# An array with rows and columns, or planes of them, keeps its shape.
_IMAGE_DIMENSIONS = 2


class Actions(NamedTuple):
    """An action space: how many actions there are, and what the environment takes for each."""

    n: int
    decode: Callable[[int], Any]


class Observations(NamedTuple):
    """An observation space: the shape of what is seen, and how it is made of an observation."""

    shape: tuple[int, ...]
    encode: Callable[[Any], NDArray[np.generic]]


def read_actions(name: str, space: spaces.Space[Any], *, n_bins: int = 0) -> Actions:
    """Return the actions of a space, of several at once every combination.

    n_bins: of each number of a Box, evenly from its lowest to its highest. Raises
    UnsupportedGameError for spaces that cannot be numbered.
    """
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        return Actions(int(space.n), lambda action: first + action)
    if isinstance(space, spaces.MultiDiscrete):
        sizes = tuple(int(n) for n in space.nvec.ravel())
        return _number_combinations(name, sizes, space.nvec.shape, _list_starts(space))
    if isinstance(space, spaces.MultiBinary):
        n = prod(space.shape)
        return _number_combinations(name, (2,) * n, space.shape, np.zeros(n, np.int8))
    if isinstance(space, spaces.Box) and n_bins > 1 and space.is_bounded():
        return _number_bins(name, space, n_bins)
    reason = "its actions are numbers: give n_bins of 2 or more, and bounds to the space"
    if not isinstance(space, spaces.Box):
        reason = f"its action space cannot be numbered: {space!r:.100}"
    raise UnsupportedGameError(f"{name}: {reason}")


def read_observations(name: str, space: spaces.Space[Any]) -> Observations:
    """Return the observations of a space: a Box keeps its shape, all else is flattened.

    Raises UnsupportedGameError for spaces of no fixed length.
    """
    if isinstance(space, spaces.Box) and len(space.shape) >= _IMAGE_DIMENSIONS:
        return Observations(space.shape, lambda observation: np.array(observation, np.float32))
    if not space.is_np_flattenable:
        raise UnsupportedGameError(f"{name}: its observations have no fixed length: {space!r:.100}")
    length = spaces.flatdim(space)
    return Observations((length,), lambda observation: _flatten_observation(space, observation))


def _flatten_observation(space: spaces.Space[Any], observation: Any) -> NDArray[np.generic]:
    flat: NDArray[np.generic] = np.array(spaces.flatten(space, observation), np.float32)
    return flat


def _list_starts(space: spaces.MultiDiscrete) -> NDArray[np.generic]:
    starts: NDArray[np.generic] = np.asarray(space.start, space.dtype).ravel()
    return starts


def _number_combinations(
    name: str, sizes: tuple[int, ...], shape: tuple[int, ...], starts: NDArray[np.generic]
) -> Actions:
    n = _check_count(name, prod(sizes))

    def decode(action: int) -> NDArray[np.generic]:
        places = np.array(np.unravel_index(action, sizes), starts.dtype)
        combined: NDArray[np.generic] = (places + starts).reshape(shape).astype(starts.dtype)
        return combined

    return Actions(n, decode)


def _number_bins(name: str, space: spaces.Box, n_bins: int) -> Actions:
    sizes = (n_bins,) * prod(space.shape)
    n = _check_count(name, prod(sizes))
    grid = np.linspace(space.low.ravel(), space.high.ravel(), n_bins)

    def decode(action: int) -> NDArray[np.generic]:
        bins = np.array(np.unravel_index(action, sizes))
        values: NDArray[np.generic] = grid[bins, np.arange(len(sizes))]
        return values.reshape(space.shape).astype(space.dtype)

    return Actions(n, decode)


def _check_count(name: str, n: int) -> int:
    if n > MOST_ACTIONS:
        raise UnsupportedGameError(
            f"{name}: it has {n} combinations of actions, at most {MOST_ACTIONS} are taken"
        )
    return n
