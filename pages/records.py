"""What agents did against each other on a leaderboard, from its pair counts."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import F, QuerySet

from matches.models import Agent, PairCount

_N = F("n_first_wins") + F("n_draws") + F("n_second_wins")


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
    def score(self) -> float:
        """Return the share of the points, a draw being half of one; there must be a match."""
        return (self.wins + self.draws / 2) / self.n

    @property
    def percent(self) -> int:
        """Return the share of the points in percent, rounded."""
        return round(100 * self.score)

    def plus(self, wins: int, draws: int, losses: int) -> "Record":
        """Return the sum."""
        return Record(self.wins + wins, self.draws + draws, self.losses + losses)


class Opponent(NamedTuple):
    """Another agent and the record against it."""

    agent: Agent
    record: Record


def opponents(
    board: int, agent: int, *, after: int | None = None, limit: int
) -> tuple[list[Opponent], int | None]:
    """Return the opponents with most matches, and after which one the next page begins.

    Four queries by index: the rows of one agent, not its matches. after: an opponent that is not
    there any more begins anew.
    """
    met = _met(board, agent)
    order = sorted(met, key=lambda other: (-met[other], other))
    start = order.index(after) + 1 if after in met else 0
    page = order[start : start + limit]
    agents, records = Agent.objects.in_bulk(page), among(board, [agent, *page])
    shown = [Opponent(agents[other], records[agent, other]) for other in page]
    return shown, page[-1] if order[start + limit :] else None


def among(board: int, agents: Iterable[int]) -> dict[tuple[int, int], Record]:
    """Return the records of these agents against each other; one query, a row per pair of seats."""
    chosen = list(agents)
    found: dict[tuple[int, int], Record] = defaultdict(Record)
    pairs = PairCount.objects.filter(leaderboard=board, first__in=chosen, second__in=chosen)
    for first, second, wins, draws, losses in _counts(pairs):
        found[first, second] = found[first, second].plus(wins, draws, losses)
        found[second, first] = found[second, first].plus(losses, draws, wins)
    return dict(found)


def _met(board: int, agent: int) -> dict[int, int]:
    """Return how many matches it had against each."""
    found: dict[int, int] = defaultdict(int)
    counted = PairCount.objects.filter(leaderboard=board).annotate(n=_N)
    for there, other in (("first", "second_id"), ("second", "first_id")):
        for opponent, n in counted.filter(**{there: agent}).values_list(other, "n"):
            found[opponent] += n
    return found


def _counts(pairs: QuerySet[PairCount]) -> Sequence[tuple[int, int, int, int, int]]:
    columns = ("first_id", "second_id", "n_first_wins", "n_draws", "n_second_wins")
    return list(pairs.values_list(*columns))
