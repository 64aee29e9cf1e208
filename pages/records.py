"""What agents did against each other on a leaderboard, from its pair counts."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from math import sqrt
from typing import NamedTuple

from django.db.models import F

from arena.ratings.base import Z95
from matches.models import Agent, PairCount


class Record(NamedTuple):
    """Wins, draws and losses, from one side."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def n(self) -> int:
        """Return how many matches that is."""
        return self.wins + self.draws + self.losses

    @property
    def percent(self) -> int:
        """Return the share of the points, a draw being half of one; there must be a match."""
        return round(100 * self._share)

    @property
    def interval(self) -> str:
        """Return the interval of 95 % of the share in percent, such as 44 to 100 of three wins.

        Wilson's, which holds for few matches, too; with draws it is wider than it had to be.
        """
        doubt = Z95**2 / self.n
        middle = (self._share + doubt / 2) / (1 + doubt)
        half = sqrt(doubt * (self._share * (1 - self._share) + doubt / 4)) / (1 + doubt)
        low, high = (round(100 * end) for end in (middle - half, middle + half))
        return f"{low} to {high}"

    @property
    def _share(self) -> float:
        return (self.wins + self.draws / 2) / self.n


class Opponent(NamedTuple):
    """Another agent and the record against it."""

    agent: Agent
    record: Record


def list_opponents(
    board: int, agent: int, *, after: int | None = None, limit: int
) -> tuple[list[Opponent], int | None]:
    """Return the opponents with most matches, and after which one the next page begins.

    Four queries by index: the rows of one agent, not its matches. after: an opponent that is not
    there any more begins anew.
    """
    n_met: dict[int, int] = defaultdict(int)
    n_matches = F("n_first_wins") + F("n_draws") + F("n_second_wins")
    counts = PairCount.objects.filter(leaderboard=board).annotate(n=n_matches)
    # A query per seat: "first or second" in one condition would use neither index.
    for seat, other in (("first", "second_id"), ("second", "first_id")):
        for opponent, n in counts.filter(**{seat: agent}).values_list(other, "n"):
            n_met[opponent] += n
    order = sorted(n_met, key=lambda other: (-n_met[other], other))
    start = order.index(after) + 1 if after in n_met else 0
    page = order[start : start + limit]
    agents, records = Agent.objects.in_bulk(page), count_records(board, [agent, *page])
    opponents = [Opponent(agents[other], records[agent, other]) for other in page]
    return opponents, page[-1] if order[start + limit :] else None


def count_records(board: int, agents: Collection[int]) -> dict[tuple[int, int], Record]:
    """Return the records of these agents against each other; one query, a row per pair of seats."""
    pairs = PairCount.objects.filter(leaderboard=board, first__in=agents, second__in=agents)
    columns = ("first_id", "second_id", "n_first_wins", "n_draws", "n_second_wins")
    return add_seats(pairs.values_list(*columns))


def add_seats(counts: Iterable[tuple[int, int, int, int, int]]) -> dict[tuple[int, int], Record]:
    """Return the records of both sides of pairs that are counted by who sat first."""
    records: dict[tuple[int, int], Record] = defaultdict(Record)
    # Most pairs have two rows: they are added here.
    for first, second, wins, draws, losses in counts:
        forth, back = records[first, second], records[second, first]
        records[first, second] = Record(
            forth.wins + wins, forth.draws + draws, forth.losses + losses
        )
        records[second, first] = Record(back.wins + losses, back.draws + draws, back.losses + wins)
    return dict(records)
