"""What was won in a tournament: its own matches, counted in planned order behind the results.

Pages read the counts and the few outcomes that are not counted yet; so no page grows with what was
played, and the recorder writes nothing more. What is counted comes from the matches alone: it can
be forgotten and counted anew at any time, as when a match is struck.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from arena.teams import NO_TEAMS, Teams
from matches.models import EntrantCount, Match, MeetingCount, Tournament, TournamentCount
from matches.ratings.counting import Result, Tally, tally_results, teams_of
from matches.ratings.fitting import PAIR_COUNTERS
from matches.ratings.score_counting import make_book, read_score, tally_episodes
from matches.store.bulk import add_to_rows, among
from matches.store.catalog import game_problem, is_scored_game

# Results that a page adds by itself: some 5 ms. Only where there are more, they are counted ahead.
MOST_READ = 1_000
N_LEFT = MOST_READ // 2
# Of one pass, 50 ms each: the duties of a second wait for it.
CHUNK, N_TOURNAMENTS = 10_000, 5
ROWS_AT_ONCE = 1_000
_OPEN = frozenset(state.value for state in Match.OPEN)
_COLUMNS = ("lineup", "outcome__ranks", "sequence", "block", "game_seed", "outcome__returns")
_AGENT_COUNTERS = ("n_wins", "n_draws", "n_losses")

Counts = tuple[int, int, int]


class OwnCounts(NamedTuple):
    """Won, drawn and lost of each agent that has played, and the outcomes that are not stored yet.

    is_whole: no outcome is left out.
    """

    n_matches: int
    is_whole: bool
    agents: Mapping[int, Counts]
    tail: Tally


def count_active(*, now: datetime) -> int:
    """Count more of the tournaments that control has work for; return how many results."""
    del now
    return _count_due(Q(state__in=Tournament.ACTIVE))


def count_missing() -> int:
    """Count more of all tournaments, those that ended while control was away included."""
    return _count_due(Q())


@transaction.atomic
def forget_counts(tournaments: Collection[int]) -> None:
    """Have these tournaments counted anew, because outcomes of theirs were struck."""
    # The row that says how far it is counted goes first: whoever counts now finds it gone.
    for model in (TournamentCount, EntrantCount, MeetingCount):
        model._default_manager.filter(tournament__in=tournaments).delete()


def read_counts(tournament: Tournament) -> OwnCounts:
    """Return what was won in a tournament: three queries, a row per agent that has played."""
    # Read again: it may have gone on since the tournament was read, and the rows with it.
    stored = TournamentCount.objects.filter(pk=tournament.pk).first() or TournamentCount()
    later_matches = Match.objects.filter(
        Match.is_closed(),
        tournament=tournament,
        state=Match.State.DONE,
        sequence__gt=stored.up_to_sequence,
    )
    rows = list(later_matches.order_by("sequence").values_list(*_COLUMNS)[: MOST_READ + 1])
    tail = _tally_rows(rows[:MOST_READ], tournament, stored.up_to_sequence)
    agents = {
        agent: (wins, draws, losses)
        for agent, wins, draws, losses in EntrantCount.objects.filter(
            tournament=tournament
        ).values_list("agent", *_AGENT_COUNTERS)
    }
    for agent, (_, wins, draws, losses, _) in tail.agents.items():
        counts_before = agents.get(agent, (0, 0, 0))
        agents[agent] = (
            counts_before[0] + wins,
            counts_before[1] + draws,
            counts_before[2] + losses,
        )
    n_read = min(len(rows), MOST_READ)
    return OwnCounts(stored.n_matches + n_read, len(rows) <= MOST_READ, agents, tail)


def read_meetings(
    tournament: Tournament, agents: Sequence[int], tail: Tally
) -> dict[tuple[int, int], Counts]:
    """Return what these agents won against each other, by who sat first: one query."""
    chosen = set(agents)
    meetings = MeetingCount.objects.filter(
        tournament=tournament, first__in=among(agents), second__in=among(agents)
    )
    total = defaultdict[tuple[int, int], list[int]](lambda: [0] * len(PAIR_COUNTERS))
    for first, second, *counts in meetings.values_list("first", "second", *PAIR_COUNTERS):
        total[first, second] = list(counts)
    for pair, counts in tail.pairs.items():
        if pair[0] in chosen and pair[1] in chosen:
            total[pair] = [count + more for count, more in zip(total[pair], counts, strict=False)]
    return {pair: (wins, draws, losses) for pair, (wins, draws, losses) in total.items()}


def _count_due(of: Q) -> int:
    tournaments = Tournament.objects.annotate(n_counted=Coalesce("counted__n_matches", 0))
    # Fewer than are counted: one was struck just while it was counted.
    is_due = Q(n_done__gte=F("n_counted") + N_LEFT) | Q(n_done__lt=F("n_counted"))
    due = tournaments.filter(of, is_due).select_related("leaderboard").order_by("-pk")
    return sum(_count_more(tournament) for tournament in due[:N_TOURNAMENTS])


def _count_more(tournament: Tournament) -> int:
    """Count the next matches up to the first that is open; return how many had an outcome.

    What takes long, reading and adding up, is done before the transaction: SQLite has one writer at
    a time, and the recorder would wait for it each second.
    """
    stored, _ = TournamentCount.objects.get_or_create(tournament=tournament)
    if tournament.n_done < stored.n_matches:
        forget_counts([tournament.pk])
        return 0
    closed = _read_closed_prefix(tournament, stored.up_to_sequence)
    done_rows = [row[:-1] for row in closed if row[-1] == Match.State.DONE]
    if not closed:
        return 0
    tally = _tally_rows(done_rows, tournament, stored.up_to_sequence)
    last = closed[-1][_COLUMNS.index("sequence")]
    return len(done_rows) if _add_tally(tournament, stored, tally, last, len(done_rows)) else 0


def _read_closed_prefix(tournament: Tournament, after: int) -> list[tuple[Any, ...]]:
    """Return the matches behind a place up to the first open one, some of them at a time.

    Thousands may be planned behind the first open match. Each look reads to its end: a cursor that
    is left open keeps SQLite's connection from writing once another has written.
    """
    planned = Match.objects.filter(tournament=tournament).order_by("sequence")
    closed: list[tuple[Any, ...]] = []
    while len(closed) < CHUNK:
        last = closed[-1][_COLUMNS.index("sequence")] if closed else after
        rows = planned.filter(sequence__gt=last).values_list(*_COLUMNS, "state")
        piece = list(rows[: min(ROWS_AT_ONCE, CHUNK - len(closed))])
        ended = list(takewhile(lambda row: row[-1] not in _OPEN, piece))
        closed += ended
        if not ended or len(ended) < len(piece):
            break
    return closed


@transaction.atomic
def _add_tally(
    tournament: Tournament, stored: TournamentCount, tally: Tally, last: int, n_done: int
) -> bool:
    """Add what was counted up to the sequence number `last`, unless somebody was first."""
    # Struck meanwhile, a match that was read as done must not come back: it is void now.
    is_same = Tournament.objects.filter(pk=tournament.pk, n_void=tournament.n_void)
    # The conditional UPDATE is the lock: of two that count it at once, one changes the row.
    unclaimed = TournamentCount.objects.filter(
        pk=tournament.pk, up_to_sequence=stored.up_to_sequence
    )
    is_claimed = is_same.exists() and unclaimed.update(
        up_to_sequence=last, n_matches=stored.n_matches + n_done
    )
    if is_claimed:
        _store_tally(tournament.pk, tally)
    return bool(is_claimed)


def _store_tally(tournament: int, tally: Tally) -> None:
    entrants = [(tournament, agent, *counts[1:4]) for agent, counts in tally.agents.items()]
    meetings = [(tournament, *pair, *counts[:3]) for pair, counts in tally.pairs.items()]
    add_to_rows(EntrantCount, ("tournament_id", "agent_id"), _AGENT_COUNTERS, entrants)
    add_to_rows(MeetingCount, ("tournament_id", "first_id", "second_id"), PAIR_COUNTERS, meetings)


def _tally_rows(rows: Sequence[tuple[Any, ...]], tournament: Tournament, after: int) -> Tally:
    """Return what matches behind a place in planned order add to the counts."""
    board = tournament.leaderboard
    if is_scored_game(board.game):
        return _tally_episodes(rows, tournament, after)
    # Without its plug-in nobody knows who played together: each counts alone.
    teams: Teams = NO_TEAMS if game_problem(board.game) else teams_of(board)
    return tally_results(map(_read_result, rows), teams=teams)


def _tally_episodes(rows: Sequence[tuple[Any, ...]], tournament: Tournament, after: int) -> Tally:
    """Tally episodes of one-seat games against all episodes of their blocks, earlier ones too."""
    book = make_book(tournament.leaderboard)
    blocks = sorted({row[_COLUMNS.index("block")] for row in rows})
    earlier = Match.objects.filter(
        tournament=tournament, block__in=among(blocks), sequence__lte=after, state=Match.State.DONE
    )
    tally_episodes(map(_read_result, earlier.values_list(*_COLUMNS)), book)
    return tally_episodes(map(_read_result, rows), book)


def _read_result(row: tuple[Any, ...]) -> Result:
    lineup, ranks, sequence, _, game_seed, returns = row
    score = read_score(returns)
    return Result(0, sequence, False, lineup, ranks, -1, game_seed=game_seed, score=score)
