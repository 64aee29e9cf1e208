"""What is known of agents on all leaderboards of a game: what campaigns and pairings start from.

Comparable are results of one game with the same parameters, opening plies and version of the rules,
on leaderboards that are listed and rated, without emulated faults. Time limits are not seen by the
agents, so a result says the same under any of them, unless a limit decided it: a forfeit by
time-out counts on its own leaderboard only. A match whose outcome was taken over from another
leaderboard counts there only, so nothing counts twice. Each leaderboard adds its present season. In
games of teams it is the sides that are rated, and the own leaderboard alone is asked.

The ratings that a leaderboard shows are made of its own results alone (matches.ratings.fitting).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from operator import sub
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.expressions import Combinable

from arena.games import registry as games
from arena.ratings.counts import PairCounts
from matches.models import Leaderboard, PairCount, Rating, Tournament
from matches.models.validation import check_game
from matches.ratings.counting import Tally
from matches.store.bulk import among

MOST_BOARDS = 100
"""Leaderboards that are asked: the own one, and of the others those with the most results."""
COUPLE = 2
_COUNTERS = ("n_first_wins", "n_draws", "n_second_wins")
_KINDS = ("", "copied", "limited")
"""What the counters of a pair hold, three of each kind: all, and of those what is left out."""

Tallies = Mapping[int, Tally]
"""Results by leaderboard."""
NOTHING: Tallies = {}


class Known(NamedTuple):
    """How many matches of some agents among each other count, and how many of them elsewhere."""

    n_matches: int
    n_elsewhere: int


def boards_of(board: Leaderboard, agents: Sequence[int]) -> list[Leaderboard]:
    """Return the leaderboards that may know these agents: this one, then comparable ones."""
    if games.get(board.game).spec.teams:
        return [board]
    rated = Rating.objects.filter(agent__in=among(agents)).values("leaderboard")
    shared = rated.annotate(n=Count("pk")).filter(n__gte=COUPLE).values("leaderboard")
    others = listed(board).filter(pk__in=shared, n_counted__gt=0).exclude(pk=board.pk)
    alike = (other for other in others.order_by("-n_counted", "pk") if are_alike(board, other))
    return [board, *islice(alike, MOST_BOARDS - 1)]


def listed(board: Leaderboard) -> QuerySet[Leaderboard]:
    """Return the listed leaderboards of a game whose results are all of its present rules."""
    if not board.game_version:
        return Leaderboard.objects.none()  # nobody knows which rules its results are of
    version = games.get(board.game).spec.rules_version
    odd = Tournament.objects.filter(leaderboard=OuterRef("pk"), is_rated=True, n_done__gt=0).filter(
        ~Q(rules_version=version) | Q(faults__isnull=False)
    )
    alike = Leaderboard.objects.filter(game=board.game, game_version=board.game_version)
    return alike.filter(~Exists(odd), is_listed=True)


def are_alike(board: Leaderboard, other: Leaderboard) -> bool:
    """Say whether two leaderboards of a game play it with the same parameters and openings."""
    if board.plies != other.plies:
        return False
    return _parameters(board) == _parameters(other)


def _parameters(board: Leaderboard) -> Mapping[str, object]:
    """Return all parameters of its game; as they are stored where the game takes them no more."""
    stored: Mapping[str, object] = board.game_parameters
    try:
        return check_game(board.game, stored).parameters
    except ValidationError:
        return stored


def evidence(
    board: Leaderboard,
    agents: Sequence[int],
    *,
    boards: Sequence[Leaderboard] | None = None,
    late: Tallies = NOTHING,
) -> PairCounts:
    """Return all results of these agents among each other that count, by position.

    boards: those of `boards_of`, where they are known. late: by leaderboard what is left out.
    """
    asked = boards_of(board, agents) if boards is None else boards
    index = {agent: position for position, agent in enumerate(agents)}
    return PairCounts.from_rows(
        (
            index[first],
            index[second],
            *map(sub, counts, _late_counts(late, of, first, second, less)),
        )
        for of, less in _asked(board, asked)
        for first, second, *counts in _met(of, agents).values_list(
            "first_id", "second_id", *_counters(less)
        )
    )


def known(
    board: Leaderboard,
    agents: Sequence[int],
    *,
    boards: Sequence[Leaderboard] | None = None,
    late: Tallies = NOTHING,
) -> Known:
    """Return how many matches of these agents among each other count; in sums."""
    asked = boards_of(board, agents) if boards is None else boards
    n_pairs = max(1, games.get(board.game).spec.n_opposed)
    own, *others = (
        _n_results(of, agents, less) - _n_late(late, of, agents, less)
        for of, less in _asked(board, asked)
    )
    elsewhere = sum(others) // n_pairs
    return Known(own // n_pairs + elsewhere, elsewhere)


def marks_of(boards: Sequence[Leaderboard]) -> list[tuple[int, ...]]:
    """Return what changes whenever something is counted on one of the leaderboards.

    Counts and matches are read one after the other: marks that are the same before and after say
    that they are of one moment.
    """
    of = Leaderboard.objects.filter(pk__in=among([board.pk for board in boards])).order_by("pk")
    return list(of.values_list("pk", "n_counted", "n_rerates_asked", "n_rerates_done"))


def _asked(
    board: Leaderboard, boards: Sequence[Leaderboard]
) -> Iterator[tuple[Leaderboard, tuple[str, ...]]]:
    """Yield each leaderboard, and what of its counts is left out."""
    for of in boards:
        if of != board:
            yield of, ("copied", "limited")
        else:
            # Alone it has every game once; else the copies are where they were played.
            yield of, ("copied",) if len(boards) > 1 else ()


def _met(board: Leaderboard, agents: Sequence[int]) -> QuerySet[PairCount]:
    return PairCount.objects.filter(
        leaderboard=board, first__in=among(agents), second__in=among(agents)
    )


def _n_results(board: Leaderboard, agents: Sequence[int], less: Sequence[str]) -> int:
    wins, draws, losses = _counters(less)
    total = _met(board, agents).aggregate(n=Sum(wins + draws + losses))
    return int(total["n"] or 0)


def _n_late(late: Tallies, board: Leaderboard, agents: Sequence[int], less: Sequence[str]) -> int:
    total = late.get(board.pk)
    if total is None:
        return 0
    asked = set(agents)
    pairs = (pair for pair in total.pairs if asked.issuperset(pair))
    return sum(sum(_late_counts(late, board, *pair, less)) for pair in pairs)


def _late_counts(
    late: Tallies, board: Leaderboard, first: int, second: int, less: Sequence[str]
) -> list[int]:
    """Return wins, draws and losses of the first of a pair that are left out."""
    total = late.get(board.pk)
    counts = None if total is None else total.pairs.get((first, second))
    if counts is None:
        return [0, 0, 0]
    starts = [len(_COUNTERS) * _KINDS.index(kind) for kind in less]
    return [
        counts[place] - sum(counts[start + place] for start in starts)
        for place in range(len(_COUNTERS))
    ]


def _counters(less: Sequence[str]) -> list[Combinable]:
    """Return wins, draws and losses of the first without those of these kinds."""
    return [reduce(sub, (F(f"{name}_{kind}") for kind in less), F(name)) for name in _COUNTERS]
