"""Results that verdicts do not look at yet: matches planned before them are still open.

Where the length of a match depends on its result, what is over first is no fair sample: with losses
of A that last twice as long, two equal agents had a sequential test at 5 % accepted in 21 %. So a
verdict reads of every tournament its contiguous closed prefix in planned order and nothing else.

Why that is immune. Who meets whom in block n follows from blocks planned before it, and how its
result falls depends on nothing else. So in planned order a likelihood ratio is a martingale, and a
bound that it passes with probability 5 % at most on *all* n it passes no more often on those n that
somebody happened to look at, whatever slow match made them look there. That holds for the own plan
to the letter. Of another tournament the prefix ends at a match that may be open because of how it
is going to end: it lacks one block of evidence at most, and what it adds is a constant to the test.

Void matches are passed: they never have a result. What was cancelled while it was open ends the
prefix for good. In another tournament matches that were never sent are passed too (an agent in
quarantine, a pause): how they would end cannot have kept them waiting. In the own plan they hold
the verdict up, which the page says with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Count, Min, Q, QuerySet

from arena.pairing.base import COUPLE
from matches.models import Entrant, Leaderboard, Match, Tournament, Uncounted
from matches.models.choices import is_in_state
from matches.ratings.counting import Result, Tally, tally_results, teams_of
from matches.ratings.fitting import SideCounts
from matches.ratings.score_counting import is_scored, tally_late_episodes
from matches.store import selectors
from matches.store.bulk import among
from matches.store.match_needs import list_pending_needs

# Pending or cancelled matches, the first ones, among which one that was sent is looked for: what a
# node had has a low number, and what is held was never sent.
MOST_LOOKED_AT = 200
_STATES = Tournament.State
_STANDING = ("state", "key", "n_planned", "n_done", "n_void", "n_cancelled", "n_replaced")
# Tournaments that are over whose late results are remembered.
MOST_REMEMBERED = 2_000
_finished: dict[int, tuple[tuple[object, ...] | None, Sequence[Result]]] = {}
_OPEN = (_STATES.PLANNING.value, _STATES.RUNNING.value, _STATES.PAUSED.value)


@dataclass(frozen=True)
class Late:
    """Counted results that lie behind an open match: their counts by leaderboard, and which."""

    tallies: Mapping[int, Tally] = field(default_factory=dict)
    matches: frozenset[int] = frozenset()

    def sides_on(self, board: Leaderboard) -> SideCounts:
        """Return the late results of sides on a leaderboard, of a game of teams."""
        total = self.tallies.get(board.pk)
        return {} if total is None else total.sides


NOTHING_LATE = Late()


class WaitingResults(NamedTuple):
    """What the verdict of a campaign waits for, and what waits with it."""

    # The first open match.
    match: Match
    # Blocks with an open match that were planned before results that are there.
    n_blocks: int
    # Results that do not count yet.
    n_results: int


def find_late_results(
    boards: Sequence[Leaderboard], agents: Sequence[int], *, own: Tournament | None = None
) -> Late:
    """Return the counted results of these agents that lie beyond the closed prefix.

    own: the tournament of the campaign that is judged; None: of one that has not begun.
    """
    of_board = {board.pk: board for board in boards}
    tallies: dict[int, Tally] = {}
    matches: set[int] = set()
    for tournament, board, standing in _find_unfinished(boards, agents):
        is_own = own is not None and tournament == own.pk
        if standing is None or is_own:
            late = _read_late(tournament, of_board[board], is_own=is_own)
        else:
            late = _read_late_of_finished(tournament, of_board[board], standing)
        if not late:
            continue
        matches.update(result.match for result in late)
        if is_scored(of_board[board]):
            continue  # below, all at once: two late episodes of a block are one result
        total = tallies.setdefault(board, Tally())
        tally_results(late, total, teams=teams_of(of_board[board]))
    for pk, scored in of_board.items():
        if matches and is_scored(scored):
            tallies[pk] = tally_late_episodes(scored, matches)
    return Late(tallies, frozenset(matches))


def _read_late(tournament: int, board: Leaderboard, *, is_own: bool) -> Sequence[Result]:
    """Return the counted outcomes of a tournament behind its prefix, as the rater read them."""
    end = find_first_unsettled(tournament, board.pk, is_own=is_own)
    if end is None:
        return []
    rows = _filter_done_matches(tournament, behind=end).filter(
        sequence__gte=board.season_first_sequence
    )
    uncounted = Uncounted.objects.filter(leaderboard=board, is_counted=False)
    columns = ("pk", "sequence", "lineup", "outcome__ranks", "outcome__guilty_seat")
    more = ("outcome__reason", "same_as__leaderboard_id")
    late_rows = rows.exclude(pk__in=uncounted.values("match")).values_list(*columns, *more)
    return [
        Result(pk, sequence, True, lineup, ranks, guilty, first_board is not None, reason)
        for pk, sequence, lineup, ranks, guilty, reason, first_board in late_rows
        # The same game again on the same leaderboard was not counted.
        if first_board != board.pk
    ]


def _read_late_of_finished(
    tournament: int, board: Leaderboard, standing: tuple[object, ...]
) -> Sequence[Result]:
    """Return the late results of a tournament that is over; read again once it stands otherwise.

    Each campaign leaves some when its verdict cancels the rest: of hundreds of campaigns of the
    same agents, to read them at each look of the next one takes seconds.
    """
    # A new season moves the beginning, and with it what is late: it is part of the key.
    key = (board.pk, board.season_first_sequence, *standing)
    key_before, late = _finished.get(tournament, (None, ()))
    if key_before != key:
        late = _read_late(tournament, board, is_own=False)
        # All at once: to keep the newest only would need their order, and a miss is a few queries.
        if len(_finished) >= MOST_REMEMBERED:
            _finished.clear()
        _finished[tournament] = key, late
    return late


def find_first_unsettled(tournament: int, board: int, *, is_own: bool) -> int | None:
    """Return the number of the match that ends the prefix of a tournament, if there is one."""
    cancelled = Match.objects.filter(
        Match.is_closed(),
        is_in_state("matches_match", [Match.State.CANCELLED]),
        tournament=tournament,
    )
    ends = (
        _find_first_pending(tournament, is_sent=not is_own),
        _find_first_in_flight(tournament),
        _find_first(cancelled, is_sent=not is_own),
        # Over, but the counts do not hold it yet.
        Uncounted.objects.filter(
            leaderboard=board, is_counted=False, match__tournament=tournament
        ).aggregate(first=Min("sequence"))["first"],
    )
    return min((end for end in ends if end is not None), default=None)


def find_waiting_results(tournament: Tournament) -> WaitingResults | None:
    """Return what a campaign's own verdict waits for; None while no result waits."""
    first = _find_first_open(tournament.pk)
    if first is None:
        return None
    newest = (
        _filter_done_matches(tournament.pk)
        .order_by("-sequence")
        .values_list("sequence", flat=True)
        .first()
    )
    if newest is None or newest < first:
        return None
    between = Match.objects.filter(tournament=tournament, sequence__gte=first)
    blocks = between.filter(Match.is_open(), sequence__lt=newest).values("block").distinct()
    match = Match.objects.get(leaderboard=tournament.leaderboard_id, sequence=first)
    return WaitingResults(
        match, blocks.count(), _filter_done_matches(tournament.pk, behind=first).count()
    )


def count_beyond_prefix(tournament: Tournament, *, most: int) -> int:
    """Return how many results lie behind the first open match of a tournament; at most `most`."""
    first = _find_first_open(tournament.pk)
    return 0 if first is None else _filter_done_matches(tournament.pk, behind=first)[:most].count()


def _find_unfinished(
    boards: Sequence[Leaderboard], agents: Sequence[int]
) -> Iterator[tuple[int, int, tuple[object, ...] | None]]:
    """Yield the tournaments of these agents, with their boards, that may have late results.

    Third is how it stands, if it is over and all counted: as long as that is so, so are these.
    """
    entered = Entrant.objects.filter(agent__in=among(agents)).values("tournament")
    shared = entered.annotate(n=Count("pk")).filter(n__gte=COUPLE).values("tournament")
    of = among([board.pk for board in boards])
    uncounted = Uncounted.objects.filter(leaderboard__in=of, is_counted=False)
    rated = Tournament.objects.filter(leaderboard__in=of, is_rated=True, n_done__gt=0)
    unfinished = rated.filter(
        Q(state__in=_OPEN) | Q(n_cancelled__gt=0) | Q(pk__in=uncounted.values("match__tournament"))
    )
    rows = unfinished.filter(pk__in=shared).order_by("pk")
    not_counted = set(uncounted.values_list("match__tournament", flat=True).distinct())
    for pk, board, state, *standing in rows.values_list("pk", "leaderboard_id", *_STANDING):
        is_settled = state not in _OPEN and pk not in not_counted
        yield pk, board, (state, *standing) if is_settled else None


def _filter_done_matches(tournament: int, *, behind: int = 0) -> QuerySet[Match]:
    done = is_in_state("matches_match", [Match.State.DONE])
    return Match.objects.filter(Match.is_closed(), done, tournament=tournament, sequence__gt=behind)


def _find_first_open(tournament: int) -> int | None:
    ends = (_find_first_pending(tournament, is_sent=False), _find_first_in_flight(tournament))
    return min((end for end in ends if end is not None), default=None)


def _find_first_pending(tournament: int, *, is_sent: bool) -> int | None:
    """Return the first pending match; is_sent: of those that were sent before."""
    pending = Match.objects.filter(
        is_in_state("matches_match", [Match.State.PENDING]), tournament=tournament
    )
    # One query for each need: the index of pending matches is ordered within a need only.
    kinds = list_pending_needs(tournament)
    firsts = (_find_first(pending.filter(needs=needs), is_sent=is_sent) for needs in kinds)
    return min((first for first in firsts if first is not None), default=None)


def _find_first(matches: QuerySet[Match], *, is_sent: bool) -> int | None:
    rows = matches.order_by("sequence").values_list("sequence", "attempt")
    looked_at = rows[: MOST_LOOKED_AT if is_sent else 1]
    return next((sequence for sequence, attempt in looked_at if attempt or not is_sent), None)


def _find_first_in_flight(tournament: int) -> int | None:
    orders = selectors.list_open_orders(tournament)
    in_flight = Match.objects.filter(Match.is_in_flight(), order__in=among(orders))
    first: int | None = in_flight.aggregate(first=Min("sequence"))["first"]
    return first
