"""What every pairing offers: which agents meet in which block.

A block is one game seed played in all seat rotations of its lineup, so that neither chance nor the
first move favours one of its agents.
"""

from dataclasses import dataclass
from typing import Protocol

from arena.errors import ArenaError

MIN_AGENTS = 2
COUPLE = 2
"""The seats of most games, for which pairings have a faster way."""


class PairingError(ArenaError):
    """There is no such pairing: too few agents, or a negative number of blocks."""


@dataclass(frozen=True)
class Field:
    """Who may be paired: agents 0..n_agents-1, n_seats of them in each match."""

    n_agents: int
    n_seats: int

    def __post_init__(self) -> None:
        """Refuse a field that cannot fill the seats."""
        if self.n_seats < 1:
            raise PairingError(f"n_seats must be 1 or more, got {self.n_seats}")
        if self.n_agents < max(MIN_AGENTS, self.n_seats):
            raise PairingError(
                f"n_agents must be {max(MIN_AGENTS, self.n_seats)} or more "
                f"for {self.n_seats} seats, got {self.n_agents}"
            )


class Pairing(Protocol):
    """A way to choose the lineups of a tournament; a catalog file offers one as PAIRING."""

    @property
    def id(self) -> str:
        """The name of its file."""
        ...

    @property
    def title(self) -> str:
        """What a person reads."""
        ...

    def pair(self, field: Field, n_blocks: int, *, seed: int) -> list[tuple[int, ...]]:
        """Return n_blocks lineups of n_seats distinct agents; the same seed gives the same ones.

        Raises PairingError for a negative n_blocks.
        """
        ...


def rotations(lineup: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the matches of a block: every agent once in every seat (two seats: both orders)."""
    return [lineup[seat:] + lineup[:seat] for seat in range(len(lineup))]


def blocks_for(n_matches: int, n_seats: int) -> int:
    """Return the fewest blocks that hold n_matches; each holds n_seats. Raises PairingError."""
    if n_matches < 0:
        raise PairingError(f"n_matches must be 0 or more, got {n_matches}")
    if n_seats < 1:
        raise PairingError(f"n_seats must be 1 or more, got {n_seats}")
    return -(-n_matches // n_seats)


def check_blocks(n_blocks: int) -> None:
    """Raise PairingError for a negative number of blocks."""
    if n_blocks < 0:
        raise PairingError(f"n_blocks must be 0 or more, got {n_blocks}")
