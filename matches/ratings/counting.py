"""What is counted of results, and how it is stored: pairs of opponents, and sides of team mates.

A game of teams has both: its settled rating reads the sides, all else reads who met as opponents.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from arena.games import registry as games
from arena.messages import Reason
from arena.ratings.teamcounts import TeamSide, split_sides
from arena.teams import NO_TEAMS, Teams, are_mates
from matches.models import IMPORTED, Leaderboard, PairCount, TeamCount
from matches.models.match import join_numbers, parse_numbers, read_numbers
from matches.ratings.fitting import PAIR_COUNTERS
from matches.store.bulk import add_to_rows

# Of those: what counts on its own leaderboard only, see matches.ratings.evidence.
LOCAL_COUNTERS = tuple(f"{name}_{kind}" for kind in ("copied", "limited") for name in PAIR_COUNTERS)
_N = len(PAIR_COUNTERS)

# Won, drawn and lost by the first of two, by both.
Counts = dict[Any, list[int]]


class Result(NamedTuple):
    """One outcome as the rater reads it."""

    match: int
    sequence: int
    is_counted: bool
    lineup: str
    ranks: str
    guilty_seat: int
    # It was played on another leaderboard before.
    is_copied: bool = False
    reason: str = ""
    # Of a one-seat game; no score after a forfeit.
    game_seed: int = 0
    score: float | None = None

    @property
    def is_limited(self) -> bool:
        """Whether it says nothing elsewhere: a time limit decided it, or it was imported."""
        if self.guilty_seat < 0:
            return self.reason == IMPORTED
        return self.reason == Reason.TIMEOUT.value


@dataclass
class Tally:
    """What new outcomes add: per agent (matches, wins, draws, losses, forfeits), pair and sides."""

    agents: dict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * 5))
    pairs: dict[tuple[int, int], list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0] * 3 * _N)
    )
    sides: dict[tuple[TeamSide, TeamSide], list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0] * 3)
    )


@dataclass(frozen=True)
class CountTable:
    """One kind of counts and its table; `lead` is the column of an agent that it is read by."""

    model: type[PairCount] | type[TeamCount]
    lead: str
    keys: tuple[str, ...]
    of: Callable[[Tally], Counts]
    # The columns of a key of the counts, and back.
    columns: Callable[[Any], tuple[Any, ...]]
    key: Callable[..., Any]
    counters: tuple[str, ...] = PAIR_COUNTERS

    def lead_of(self, key: Any) -> int:
        """Return the agent that a key is read by."""
        return int(self.columns(key)[0])

    def add(self, board_id: int, total: Tally) -> None:
        """Add to what is stored."""
        rows = [(board_id, *self.columns(key), *counts) for key, counts in self.of(total).items()]
        if rows:
            add_to_rows(self.model, ("leaderboard_id", *self.keys), self.counters, rows)


PAIRS = CountTable(
    PairCount,
    "first",
    ("first_id", "second_id"),
    of=lambda tally: tally.pairs,
    columns=tuple,
    key=lambda first, second: (first, second),
    counters=(*PAIR_COUNTERS, *LOCAL_COUNTERS),
)
SIDES = CountTable(
    TeamCount,
    "lead",
    ("lead_id", "first_side", "second_side"),
    of=lambda tally: tally.sides,
    columns=lambda sides: (sides[0][0], join_numbers(sides[0]), join_numbers(sides[1])),
    key=lambda _, first, second: (tuple(parse_numbers(first)), tuple(parse_numbers(second))),
)
KINDS = (PAIRS, SIDES)


def teams_of(board: Leaderboard) -> Teams:
    """Return the team of each seat of the game of a leaderboard."""
    return games.get(board.game).spec.teams


def tally_results(
    results: Iterable[Result], total: Tally | None = None, *, teams: Teams = NO_TEAMS
) -> Tally:
    """Return what the outcomes add to the counts, added to a total if given.

    Team mates are no pair: they neither drew nor met. What they did together counts by sides.
    """
    total = Tally() if total is None else total
    for result in results:
        lineup, ranks = read_numbers(result.lineup), read_numbers(result.ranks)
        # Mates share a rank: only more bests than a team has seats are a draw.
        is_shared = ranks.count(0) > max(1, teams.count(0))
        # Where the counters begin of what is no evidence elsewhere; 0 where it is.
        local = _N if result.is_copied else 2 * _N * result.is_limited
        for seat, agent in enumerate(lineup):
            is_best = ranks[seat] == 0
            counts = total.agents[agent]
            counts[0] += 1
            counts[1] += is_best and not is_shared
            counts[2] += is_best and is_shared
            counts[3] += not is_best
            counts[4] += result.guilty_seat == seat
            for other in range(seat + 1, len(lineup)):
                if not are_mates(teams, seat, other):
                    pair = total.pairs[agent, lineup[other]]
                    won = 1 + (ranks[seat] > ranks[other]) - (ranks[seat] < ranks[other])
                    pair[won] += 1
                    if local:
                        pair[local + won] += 1
        if teams:
            for first, second, kind in split_sides(lineup, ranks, teams):
                total.sides[first, second][kind] += 1
    return total


def sum_counts(kind: CountTable, tallies: Sequence[Tally], key: object) -> list[int]:
    """Return the counts of one key in several tallies together."""
    none = [0] * len(kind.counters)
    parts: list[Mapping[Any, list[int]]] = [kind.of(tally) for tally in tallies]
    return [
        sum(map(int, counts)) for counts in zip(*(p.get(key, none) for p in parts), strict=True)
    ]
