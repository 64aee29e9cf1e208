"""What is known of agents on all leaderboards of a game: what campaigns and pairings start from.

Comparable are results of one game with the same parameters, opening plies and version of the rules,
on leaderboards that are listed and rated, without emulated faults. Time limits are not seen by the
agents, so a result says the same under any of them, unless a limit decided it: a forfeit by
time-out counts on its own leaderboard only. So does a result that was imported, as nobody here
knows how it was played. A match whose outcome was taken over from another
leaderboard counts there only, so nothing counts twice. Each leaderboard adds its present season. In
games of teams it is the sides that are rated, and in games of one seat the blocks of a leaderboard:
there the own leaderboard alone is asked.

The ratings that a leaderboard shows are made of its own results alone (matches.ratings.fitting).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import islice
from operator import sub
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.expressions import Combinable

from arena.games import registry as games
from arena.messages import Reason
from arena.pairing.base import COUPLE
from arena.ratings.counts import PairCounts
from matches.models import IMPORTED, Leaderboard, PairCount, Rating, Score, Tournament
from matches.models.validation import check_game
from matches.ratings.closed_prefix import NOTHING_LATE, Late, find_late_results
from matches.ratings.fitting import PAIR_COUNTERS
from matches.store.bulk import among

# Leaderboards that are asked: the own one, and of the others those with the most results.
MOST_BOARDS = 100
# What the counters of a pair hold, three of each kind: all, and of those what is left out.
_KINDS = ("", "copied", "limited")


class KnownCounts(NamedTuple):
    """How many matches of some agents among each other count, and how many of them elsewhere."""

    n_matches: int
    n_elsewhere: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """The results and leaderboards that a judgement goes by, read once.

    boards: the leaderboards that know the agents, their own one first. late: what is left out.
    """

    board: Leaderboard
    agents: Sequence[int]
    boards: Sequence[Leaderboard]
    late: Late = NOTHING_LATE

    @cached_property
    def known(self) -> KnownCounts:
        """How many matches count: by sums, so that a look at which nothing is due stays cheap."""
        spec = games.get(self.board.game).spec
        if spec.is_scored:
            return KnownCounts(self._count_episodes(), 0)
        n_pairs = max(1, spec.n_opposed)
        ours, n_results = set(self.agents), []
        for of, less in self._list_boards_with_omissions():
            wins, draws, losses = _subtract_counters(less)
            stored = self._pair_counts(of).aggregate(n=Sum(wins + draws + losses))["n"] or 0
            late_pairs = self.late.tallies[of.pk].pairs if of.pk in self.late.tallies else ()
            n_late = sum(
                sum(self._read_late_counts(of, *pair, less))
                for pair in late_pairs
                if ours.issuperset(pair)
            )
            n_results.append(int(stored) - n_late)
        own, *others = n_results
        elsewhere = sum(others) // n_pairs
        return KnownCounts(own // n_pairs + elsewhere, elsewhere)

    @cached_property
    def counts(self) -> PairCounts:
        """All results of the agents among each other that count, by position."""
        index = {agent: position for position, agent in enumerate(self.agents)}
        return PairCounts.from_rows(
            (
                index[first],
                index[second],
                *map(sub, counts, self._read_late_counts(of, first, second, less)),
            )
            for of, less in self._list_boards_with_omissions()
            for first, second, *counts in self._pair_counts(of).values_list(
                "first_id", "second_id", *_subtract_counters(less)
            )
        )

    def _count_episodes(self) -> int:
        """Return how many episodes of one seat count: results of two are several of each."""
        ours = among(self.agents)
        rated = Rating.objects.filter(leaderboard=self.board, agent__in=ours)
        late = Score.objects.filter(pk__in=among(sorted(self.late.matches)), agent__in=ours)
        return int(rated.aggregate(n=Sum("n_matches"))["n"] or 0) - late.count()

    def _list_boards_with_omissions(self) -> Iterator[tuple[Leaderboard, tuple[str, ...]]]:
        """Yield each leaderboard, and which kinds of its counts are left out."""
        for of in self.boards:
            if of != self.board:
                yield of, ("copied", "limited")
            else:
                # Alone it has every game once; else the copies are where they were played.
                yield of, ("copied",) if len(self.boards) > 1 else ()

    def _pair_counts(self, board: Leaderboard) -> QuerySet[PairCount]:
        ours = among(self.agents)
        return PairCount.objects.filter(leaderboard=board, first__in=ours, second__in=ours)

    def _read_late_counts(
        self, board: Leaderboard, first: int, second: int, less: Sequence[str]
    ) -> list[int]:
        """Return wins, draws and losses of the first of a pair that are left out."""
        total = self.late.tallies.get(board.pk)
        counts = None if total is None else total.pairs.get((first, second))
        if counts is None:
            return [0, 0, 0]
        starts = [len(PAIR_COUNTERS) * _KINDS.index(kind) for kind in less]
        return [
            counts[place] - sum(counts[start + place] for start in starts)
            for place in range(len(PAIR_COUNTERS))
        ]


def gather_evidence(
    board: Leaderboard,
    agents: Sequence[int],
    *,
    boards: Sequence[Leaderboard] | None = None,
    own: Tournament | None = None,
) -> Evidence:
    """Return what verdicts on these agents go by; counts are read once somebody needs them.

    boards: those of `find_boards`, where they are known. own: the tournament that is judged.
    """
    known_boards = find_boards(board, agents) if boards is None else boards
    return Evidence(board, agents, known_boards, find_late_results(known_boards, agents, own=own))


def gather_all_evidence(board: Leaderboard, agents: Sequence[int]) -> Evidence:
    """Return all that counts of these agents, late results included: what pairings go by."""
    return Evidence(board, agents, find_boards(board, agents))


def find_boards(board: Leaderboard, agents: Sequence[int]) -> list[Leaderboard]:
    """Return the leaderboards that may know these agents: this one, then comparable ones."""
    spec = games.get(board.game).spec
    if spec.teams or spec.is_scored:
        return [board]
    rated = Rating.objects.filter(agent__in=among(agents)).values("leaderboard")
    shared = rated.annotate(n=Count("pk")).filter(n__gte=COUPLE).values("leaderboard")
    others = find_listed_boards(board).filter(pk__in=shared, n_counted__gt=0).exclude(pk=board.pk)
    alike = (other for other in others.order_by("-n_counted", "pk") if are_alike(board, other))
    return [board, *islice(alike, MOST_BOARDS - 1)]


def find_listed_boards(board: Leaderboard) -> QuerySet[Leaderboard]:
    """Return the listed leaderboards of a game whose results are all of its present rules."""
    if not board.game_version:
        return Leaderboard.objects.none()  # nobody knows which rules its results are of
    version = games.get(board.game).spec.rules_version
    odd = Tournament.objects.filter(leaderboard=OuterRef("pk"), is_rated=True, n_done__gt=0).filter(
        ~Q(rules_version=version) | Q(faults__isnull=False)
    )
    alike = Leaderboard.objects.filter(game=board.game, game_version=board.game_version)
    return alike.filter(~Exists(odd), is_rated=True)


def are_alike(board: Leaderboard, other: Leaderboard) -> bool:
    """Say whether two leaderboards of a game play it with the same parameters and openings."""
    if board.plies != other.plies:
        return False
    return _read_game_parameters(board) == _read_game_parameters(other)


def _read_game_parameters(board: Leaderboard) -> Mapping[str, object]:
    """Return all parameters of its game; as they are stored where the game takes them no more."""
    stored: Mapping[str, object] = board.game_parameters
    try:
        return check_game(board.game, stored).parameters
    except ValidationError:
        return stored


def is_limited_elsewhere(leaderboard: Leaderboard) -> Q:
    """Return the condition of matches elsewhere that a time limit decided, and imported ones."""
    timed_out = Q(outcome__is_forfeit=True, outcome__reason=Reason.TIMEOUT.value)
    return (timed_out | Q(outcome__reason=IMPORTED)) & ~Q(leaderboard=leaderboard)


def read_results(
    pair: Sequence[int], boards: Sequence[int]
) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield (first, second, wins, draws, losses) of all that one of two agents played there."""
    columns = ("leaderboard_id", "first_id", "second_id", *PAIR_COUNTERS)
    # The leaderboard is chosen here: by it SQLite would read all pairs to find those of a second.
    for of in (Q(first__in=pair), Q(second__in=pair) & ~Q(first__in=pair)):
        rows = PairCount.objects.filter(of).values_list(*columns)
        for board, first, second, wins, draws, losses in rows:
            if board in boards:
                yield first, second, wins, draws, losses


def read_marks(boards: Sequence[Leaderboard]) -> list[tuple[int, ...]]:
    """Return what changes whenever something is counted on one of the leaderboards.

    Counts and matches are read one after the other: marks that are the same before and after say
    that they are of one moment.
    """
    of = Leaderboard.objects.filter(pk__in=among([board.pk for board in boards])).order_by("pk")
    return list(of.values_list("pk", "n_counted", "n_rerates_asked", "n_rerates_done"))


def _subtract_counters(less: Sequence[str]) -> list[Combinable]:
    """Return wins, draws and losses of the first without those of these kinds."""
    return [reduce(sub, (F(f"{name}_{kind}") for kind in less), F(name)) for name in PAIR_COUNTERS]
