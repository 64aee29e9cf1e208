"""Evidence by seed block: what two agents got of both games on one seed."""

from collections.abc import Sequence
from dataclasses import dataclass

from matches.models import Leaderboard, Match, Seat
from matches.models.match import joined, numbers
from matches.services.standing import points

N_CELLS = 5
"""0, 1/2, 1, 3/2 and 2 points of two games."""


@dataclass(frozen=True)
class Evidence:
    """The blocks of two agents that are over, in planned order: the cell of each, 0..4."""

    outcomes: Sequence[int]

    @property
    def counts(self) -> list[int]:
        """How often the first agent got 0, 1/2, 1, 3/2 and 2 points."""
        return [self.outcomes.count(cell) for cell in range(N_CELLS)]

    def first(self, n_blocks: int) -> "Evidence":
        """Return the first so many blocks."""
        return Evidence(self.outcomes[:n_blocks])


def between(leaderboard: Leaderboard, first: int, second: int) -> Evidence:
    """Return the blocks of two agents on a leaderboard, whichever tournament they are from.

    A block counts once both of its games are over; one that is void or cancelled never does.
    """
    lineups = (joined((first, second)), joined((second, first)))
    played = Match.objects.filter(
        pk__in=Seat.objects.filter(agent=first).values("match_id"),
        leaderboard=leaderboard,
        lineup__in=lineups,
        state=Match.State.DONE,
    ).order_by("sequence")
    blocks: dict[int, dict[str, float]] = {}
    for seed, lineup, ranks in played.values_list("game_seed", "lineup", "outcome__ranks"):
        agents = numbers(lineup)
        # The same game again, in another tournament of the same seed set, says nothing new.
        blocks.setdefault(seed, {}).setdefault(lineup, points(ranks)[agents.index(first)])
    whole = (games for games in blocks.values() if len(games) == len(lineups))
    return Evidence([round(2 * sum(games.values())) for games in whole])
