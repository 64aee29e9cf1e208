"""What every pairing offers: which agents meet in which block.

A block is one game seed played in all seat rotations of its lineup, so that neither chance nor the
first move favours one of its agents. In a game of teams the seats decide who partners whom: a
lineup is a set then, and every block has its partners drawn anew (see partnered). A pairing either
knows all lineups beforehand (Pairing), or chooses as results come (AdaptivePairing).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from random import Random
from typing import Protocol

from arena.errors import ArenaError
from arena.parameters import Parameter
from arena.ratings.counts import Floats, PairCounts
from arena.ratings.rankings import pair_weight
from arena.ratings.teamcounts import TeamCounts

MIN_AGENTS = 2
# The seats of most games, for which pairings have a faster way.
COUPLE = 2

# The agents of a block by the seats of its first match.
Lineup = tuple[int, ...]


class PairingError(ArenaError):
    """There is no such pairing: too few agents, a negative number of blocks, other seats."""


@dataclass(frozen=True)
class Field:
    """Who may be paired: agents 0..n_agents-1, n_seats of them in each match.

    team_size: the seats of a team; 1 where each plays for itself.
    """

    n_agents: int
    n_seats: int
    team_size: int = 1

    def __post_init__(self) -> None:
        """Refuse a field that cannot fill the seats."""
        if self.n_seats < 1:
            raise PairingError(f"n_seats must be 1 or more, got {self.n_seats}")
        if self.n_agents < max(MIN_AGENTS, self.n_seats):
            raise PairingError(
                f"n_agents must be {max(MIN_AGENTS, self.n_seats)} or more "
                f"for {self.n_seats} seats, got {self.n_agents}"
            )

    @property
    def n_sides(self) -> int:
        """The teams of a match, or its seats where each plays for itself."""
        return self.n_seats // self.team_size

    @property
    def pair_weight(self) -> float:
        """What a match says about two of its agents, against a match of these two alone.

        That of a complete ranking (arena.ratings.rankings), by as many seats as a team has where
        they play in teams: the mean over all ways to draw partners, of whom those that play
        together are told apart by nothing. An episode of one seat says as much as two agents on
        one seed do, however many others play it.
        """
        if self.n_seats == 1:
            return 1.0
        # Of all pairs of seats these few are of two sides.
        opposed = (self.n_sides - 1) / (self.n_seats - 1)
        return opposed * pair_weight(self.n_sides) / self.team_size


@contextmanager
def naming_faults(name: str) -> Iterator[None]:
    """Raise PairingError for whatever the code of a pairing raises, but for its own refusals."""
    try:
        yield
    except ArenaError:
        raise
    except Exception as error:
        raise PairingError(f"pairing {name!r} raises {type(error).__name__}: {error}") from error


def draw_lineups(
    name: str, field: Field, draw: Callable[[], Iterable[Iterable[int]]]
) -> list[Lineup]:
    """Return the lineups that a pairing draws.

    Raises PairingError where its code raises, or where agents cannot meet like that.
    """
    with naming_faults(name):
        lineups = [tuple(map(index, lineup)) for lineup in draw()]
    for lineup in lineups:
        is_fit = all(0 <= agent < field.n_agents for agent in lineup)
        if not is_fit or len(lineup) != field.n_seats or len(set(lineup)) != field.n_seats:
            of_field = f"{field.n_seats} distinct agents of 0..{field.n_agents - 1}"
            raise PairingError(f"pairing {name!r} has the lineup {lineup}: must be {of_field}")
    return lineups


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


@dataclass(frozen=True, eq=False)
class Meeting:
    """A block of this tournament.

    round: which call planned it, from 0; only shown. points: of each agent of the lineup, summed
    over the matches of the block that count (a win 1, a draw one half); None while one is open.
    """

    lineup: Lineup
    round: int
    points: tuple[float, ...] | None


@dataclass(frozen=True, eq=False)
class Standing:
    """What is known when more is to be paired.

    mu: float64 [n], the posterior mode on the scale of the ratings. covariance: float64 [n, n], or
    None above DENSE_LIMIT agents. sd: float64 [n]. spread: of the field's skills. counts: all
    results known of these agents, by index; opponents only. sides: in a game of teams, those of
    teams. n_in_flight: matches planned and not closed, by pair (i, j) with i < j, opponents or
    mates; of one seat those of each agent, by (i, i). meetings: the blocks of this tournament in
    planned order; may be left empty unless the pairing needs_meetings. seeding: the agents as they
    stood at the start, best first; empty means by index. It must not change during a tournament.
    seat_advantage: what sitting first is worth, on the scale of the ratings.
    """

    field: Field
    mu: Floats
    covariance: Floats | None
    sd: Floats
    spread: float
    counts: PairCounts
    n_in_flight: Mapping[tuple[int, int], int]
    meetings: Sequence[Meeting]
    draw_probability: float
    seeding: Sequence[int] = ()
    sides: TeamCounts | None = None
    seat_advantage: float = 0.0

    def __post_init__(self) -> None:
        """Refuse columns of another length than the field. Raises PairingError."""
        n = self.field.n_agents
        if self.mu.shape != (n,) or self.sd.shape != (n,):
            raise PairingError(f"mu and sd must be of {n} agents, got {len(self.mu)}")
        if self.covariance is not None and self.covariance.shape != (n, n):
            raise PairingError(f"covariance must be {n} x {n}, got {self.covariance.shape}")
        if self.seeding and sorted(self.seeding) != list(range(n)):
            raise PairingError(f"seeding must name each of the {n} agents once")


class AdaptivePairing(Protocol):
    """A way to choose lineups from what is known so far; a catalog file offers one as PAIRING.

    See Adaptive for what most of them need of it.
    """

    @property
    def id(self) -> str:
        """The name of its file."""
        ...

    @property
    def title(self) -> str:
        """What a person reads."""
        ...

    @property
    def needs_meetings(self) -> bool:
        """True when it goes by the tournament's own blocks: points, rounds, a bracket."""
        ...

    @property
    def goal(self) -> str:
        """What it ends with, such as the final; empty where there is always more to know."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What configured takes."""
        ...

    def configured(self, parameters: Mapping[str, object]) -> "AdaptivePairing":
        """Return the same pairing under other parameters. Raises ParameterError."""
        ...

    def refusal(self, field: Field) -> str | None:
        """Return why it cannot pair this field, or None when it can."""
        ...

    def warning(self, standing: Standing) -> str | None:
        """Return a warning to show to users of this pairing, or None."""
        ...

    def choose(self, standing: Standing, n_blocks: int, *, seed: int) -> list[Lineup]:
        """Return at most n_blocks lineups; fewer or none where it waits for results or is over.

        The same standing and seed give the same lineups. Pairings that need meetings answer in
        whole rounds, unless n_blocks is less than one. Raises PairingError for a negative n_blocks
        and for a field that it refuses.
        """
        ...

    def least_blocks(self, field: Field) -> int:
        """Return the fewest blocks in which it can reach its goal; 0 when it has none."""
        ...

    def is_over(self, standing: Standing) -> bool:
        """Return True when no result that is still open could make it choose more."""
        ...


def rotate_seats(lineup: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the matches of a block: every agent once in every seat (two seats: both orders).

    With teams of every second seat (0, 1, 0, 1) the sides of a block are the same in all of its
    matches and change their seats: what chance deals one side, it deals the other as well.
    """
    return [lineup[seat:] + lineup[:seat] for seat in range(len(lineup))]


def draw_partners(lineup: Lineup, seed: int) -> Lineup:
    """Return the lineup in an order drawn by the seed: who partners whom is equally likely."""
    return tuple(Random(seed).sample(lineup, len(lineup)))


def count_blocks(n_matches: int, n_seats: int) -> int:
    """Return the fewest blocks that hold n_matches; each holds n_seats. Raises PairingError."""
    if n_matches < 0:
        raise PairingError(f"n_matches must be 0 or more, got {n_matches}")
    if n_seats < 1:
        raise PairingError(f"n_seats must be 1 or more, got {n_seats}")
    # Floor division of the negative rounds up, exactly for ints of any size.
    return -(-n_matches // n_seats)


def check_blocks(n_blocks: int) -> None:
    """Raise PairingError for a negative number of blocks."""
    if n_blocks < 0:
        raise PairingError(f"n_blocks must be 0 or more, got {n_blocks}")
