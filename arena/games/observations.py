"""What an observation holds, as a game declares it: planes or numbers along its first axis."""

from collections.abc import Sequence
from typing import NamedTuple

from arena.errors import UnsupportedGameError


class Part(NamedTuple):
    """What so many planes, or numbers of a row, hold, in their order."""

    holds: str
    size: int = 1


Parts = tuple[Part, ...]


def parts(*named: str | tuple[str, int]) -> Parts:
    """Return parts by what each holds, of size 1 unless it is given."""
    return tuple(Part(part) if isinstance(part, str) else Part(*part) for part in named)


def check_parts(name: str, declared: Sequence[Part], shape: Sequence[int]) -> None:
    """Raise UnsupportedGameError unless the parts, where there are any, fill the first axis."""
    size = sum(part.size for part in declared)
    if declared and size != shape[0]:
        raise UnsupportedGameError(
            f"{name}: observation_parts are of {size} in all, observation_shape begins with "
            f"{shape[0]}"
        )
