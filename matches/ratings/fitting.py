"""The settled ratings from the counts of a leaderboard: one fit for all callers.

Children start from their parents: an agent whose checkpoint was trained from that of another one of
the field has its prior there. In games of two seats the advantage of the first seat is a term. In
games of teams it is the results of the sides that are fitted, those of the leaderboard itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import sub

from django.db.models import QuerySet

from arena.games import registry as games
from arena.pairing.base import COUPLE
from arena.ratings.counts import Floats
from arena.ratings.scores import weigh_blocks
from arena.ratings.settled import (
    FittedTerms,
    PairCounts,
    SettledRatings,
    TeamCounts,
    settle_ratings,
)
from arena.ratings.teamcounts import TeamSide
from matches.models import Agent, Leaderboard, PairCount, TeamCount
from matches.models.match import parse_numbers
from matches.store.bulk import among

PAIR_COUNTERS = ("n_first_wins", "n_draws", "n_second_wins")

# Won, drawn and lost by the first of two sides.
SideCounts = Mapping[tuple[TeamSide, TeamSide], Sequence[int]]


@dataclass(frozen=True)
class FitData:
    """What a fit reads of the database, so that it can be settled again with another dispersion."""

    board: Leaderboard
    n_agents: int
    counts: PairCounts | TeamCounts
    parents: Sequence[int] | None

    def settle(self, *, dispersion: float = 1.0) -> SettledRatings:
        """Return the settled ratings by position: cold, so bit-identical.

        dispersion: how much more blocks vary than the model expects (arena.verdicts.dispersion).
        """
        return self._settle_counts(self.counts, self.weight / dispersion)

    def settle_shown(self) -> SettledRatings:
        """Return the ratings that a leaderboard shows: with the doubt about the spread."""
        return self._settle_counts(self.counts, self.weight, is_shown=True)

    def settle_weighted(self, counts: PairCounts, weight: float | Floats) -> SettledRatings:
        """Return the settled ratings by other counts of pairs, each of which weighs so much.

        weight: one number, or float64 [n, n].
        """
        return self._settle_counts(counts, self.weight * weight)

    def _settle_counts(
        self,
        counts: PairCounts | TeamCounts,
        weight: float | Floats,
        *,
        is_shown: bool = False,
    ) -> SettledRatings:
        return settle_ratings(
            counts,
            self.n_agents,
            n_sides=games.get(self.board.game).spec.n_sides,
            draw_probability=self.board.draw_probability,
            weight=weight,
            parents=self.parents,
            terms=FittedTerms(
                seat=games.get(self.board.game).spec.n_seats == COUPLE,
                draws=True,
                is_shown=is_shown,
            ),
        )

    @cached_property
    def weight(self) -> float:
        """The weight of one result, which shares its block with others."""
        spec = games.get(self.board.game).spec
        if spec.is_scored and isinstance(self.counts, PairCounts):
            return weigh_blocks(self.counts)
        return 1.0


def load_own_counts(board: Leaderboard, agents: Sequence[int]) -> PairCounts:
    """Return all results of these agents among each other on this leaderboard, by position."""
    pair_counts = PairCount.objects.filter(
        leaderboard=board, first__in=among(agents), second__in=among(agents)
    )
    return _count_by_position(pair_counts, agents)


def load_fit(
    board: Leaderboard,
    agents: Sequence[int],
    counts: PairCounts | None = None,
    *,
    late_sides: SideCounts | None = None,
) -> FitData:
    """Return what the ratings of these agents are fitted to.

    counts: of these agents; None: all results of the leaderboard, whose agents they are. Those of
    pairs say nothing in a game of teams, whose sides are read here. late_sides: of those sides what
    is left out.
    """
    results: PairCounts | TeamCounts
    if games.get(board.game).spec.teams:
        results = load_sides(board, agents, late=late_sides)
    elif counts is None:
        results = _count_by_position(PairCount.objects.filter(leaderboard=board), agents)
    else:
        results = counts
    return FitData(board, len(agents), results, find_parents(agents))


def fit_ratings(
    board: Leaderboard, agents: Sequence[int], counts: PairCounts | None = None
) -> SettledRatings:
    """Return the ratings that a leaderboard shows, by position; counts as `load_fit` takes them."""
    return load_fit(board, agents, counts).settle_shown()


def load_sides(
    board: Leaderboard, agents: Sequence[int], *, late: SideCounts | None = None
) -> TeamCounts:
    """Return the results of sides that are all of these agents, by position; of a game of teams.

    late: what is left out.
    """
    less = late or {}
    index = {agent: position for position, agent in enumerate(agents)}
    team_counts = TeamCount.objects.filter(leaderboard=board, lead__in=among(agents))
    rows = team_counts.values_list("first_side", "second_side", *PAIR_COUNTERS)
    sides = (
        (tuple(parse_numbers(first)), tuple(parse_numbers(second)), times)
        for first, second, *times in rows
    )
    return TeamCounts.from_rows(
        (
            (
                tuple(index[agent] for agent in first),
                tuple(index[agent] for agent in second),
                list(map(sub, times, less.get((first, second), (0, 0, 0)))),
            )
            for first, second, times in sides
            if all(agent in index for agent in first + second)
        ),
        games.get(board.game).spec.team_size,
    )


def find_parents(agents: Sequence[int]) -> list[int] | None:
    """Return of each agent the position of the one it goes on from, or -1; None: all stand alone.

    Several agents may play one checkpoint: the one registered first is the parent.
    """
    trained = Agent.objects.filter(pk__in=among(agents), checkpoint__parent__isnull=False)
    parent_of = dict(trained.values_list("pk", "checkpoint__parent_id"))
    if not parent_of:
        return None
    playing = Agent.objects.filter(pk__in=among(agents), checkpoint__in=set(parent_of.values()))
    first: dict[str, int] = {}
    for pk, checkpoint in playing.order_by("pk").values_list("pk", "checkpoint_id"):
        first.setdefault(str(checkpoint), pk)
    index = {agent: position for position, agent in enumerate(agents)}
    return [
        index[first[parent]] if (parent := parent_of.get(agent)) in first else -1
        for agent in agents
    ]


def _count_by_position(pair_counts: QuerySet[PairCount], agents: Sequence[int]) -> PairCounts:
    index = {agent: position for position, agent in enumerate(agents)}
    return PairCounts.from_rows(
        (index[first], index[second], wins, draws, losses)
        for first, second, wins, draws, losses in pair_counts.values_list(
            "first_id", "second_id", *PAIR_COUNTERS
        )
    )
