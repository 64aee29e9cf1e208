"""The only writer of ratings: counts new outcomes, folds the live rating, settles the ratings.

Two layers over one set of results (see arena.ratings): the settled rating reads counts only, so the
order of arrival cannot matter; the live rating is folded in planned order, its state kept at the
contiguous prefix of closed matches and the few outcomes beyond it folded on top each time.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import add

from django.db import transaction
from django.db.models import F, Q

from arena.games import registry as games
from arena.ratings.base import MU, SIGMA, Constants
from arena.ratings.settled import SettledRatings
from matches.models import Leaderboard, Match, PairCount, Rating, Score, TeamCount, Uncounted
from matches.models.rating import PRIOR_HIGH, PRIOR_LOW
from matches.ratings import live_ratings, standings
from matches.ratings.counting import KINDS, Result, Tally, tally_results, teams_of
from matches.ratings.fitting import fit_ratings
from matches.ratings.live_ratings import LiveRating, Rules
from matches.ratings.score_counting import (
    NO_MEAN,
    Mean,
    compute_means,
    count_episodes,
    is_scored,
    read_score,
)
from matches.store.bulk import among, update_rows
from matches.store.catalog import game_problem
from matches.store.clock import is_within
from matches.store.failures import Failures

SETTLED = ("mu", "sd", "low", "high")
LIVE = ("prefix_mu", "prefix_sigma", "live_mu", "live_sigma")
COUNTERS = ("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits")
MEANS = ("mean_score", "score_low", "score_high")
# Of a leaderboard, what a fit of its results says beside the ratings.
FITTED = ("spread", "fitted_draw_probability", "seat_mu", "seat_sd", "leader_p_best")
# A board with matches in flight is rated at most this often: nobody sees more.
MIN_INTERVAL = timedelta(seconds=0.5)
# The same by the outcomes beyond the prefix, each of which is read and folded again: some 5 us of a
# core. They are many where another tournament's matches were planned before and are not over.
INTERVAL_PER_WAITING = timedelta(microseconds=50)
# The settled ratings of a board with matches in flight are fitted at most this often: a tenth of a
# core for 200 agents, and for 10,000.
FIT_INTERVAL_PER_AGENT = timedelta(milliseconds=10)
# Mean scores are computed from all episodes: some 3 us each.
MEANS_INTERVAL_PER_EPISODE = timedelta(microseconds=30)


def rate_all(*, now: datetime, failures: Failures | None = None) -> list[int]:
    """Rate every leaderboard with new outcomes; return those whose ratings changed.

    One whose game cannot be used here waits. What another one raises is kept in failures, or
    without them raised once the rest is rated.
    """
    errors = failures or Failures()
    boards = Uncounted.objects.values_list("leaderboard_id", flat=True).distinct()
    rated: list[int] = []
    for board in _list_ratable(boards):
        with errors.collect(f"rating leaderboard {board}"):
            rated += [board] if rate(board, now=now) else []
    # Settled ratings that lag, those that a process left so included.
    lagging = Q(n_settled__lt=F("n_counted")) | Q(results_hash="")
    has_any = Q(n_counted__gt=0) | Q(season_began_at__isnull=False)
    unsettled = Leaderboard.objects.filter(lagging, has_any).values_list("pk", flat=True)
    for board in _list_ratable(unsettled):
        with errors.collect(f"settling leaderboard {board}"):
            rated += [board] if _settle_if_due(board, now=now) else []
    if failures is None:
        errors.raise_all()
    return rated


def _list_ratable(boards: Iterable[int]) -> list[int]:
    """Return the leaderboards whose game can be used here; pages say what the others wait for."""
    in_order = Leaderboard.objects.filter(pk__in=among(list(boards))).order_by("pk")
    return [pk for pk, game in in_order.values_list("pk", "game") if not game_problem(game)]


def rate(board_id: int, *, now: datetime) -> bool:
    """Count, fold and, when that is due, settle one leaderboard; say whether ratings changed.

    Once nothing is in flight any more, all are settled at once.
    """
    if not count_outcomes(board_id, now=now):
        return False
    _settle_if_due(board_id, now=now, is_new=True)
    return True


@transaction.atomic
def count_outcomes(board_id: int, *, now: datetime) -> int:
    """Count new outcomes and fold the live rating; return how many outcomes were new."""
    # The row lock makes it single-flight: two raters at once cannot count an outcome twice.
    board = Leaderboard.objects.select_for_update().get(pk=board_id)
    if not _is_idle(board):
        if is_within(board.rated_at, MIN_INTERVAL, now=now):
            return 0
        n_waiting = Uncounted.objects.filter(leaderboard=board).count()
        if is_within(board.rated_at, n_waiting * INTERVAL_PER_WAITING, now=now):
            return 0
    return count_locked(board, now=now)


def _is_idle(board: Leaderboard) -> bool:
    """Say whether no match of the season is open."""
    return _closed_prefix(board) == board.next_sequence - 1


def count_locked(board: Leaderboard, *, now: datetime) -> int:
    """Count as `count_outcomes` does, however long ago that was; the caller has the lock."""
    prefix = _closed_prefix(board)
    waiting = Uncounted.objects.filter(leaderboard=board)
    if board.season_first_sequence > 1:
        # Matches that were planned before the season and ended in it count for neither.
        waiting.filter(sequence__lt=board.season_first_sequence).delete()
    # Taken out of the memory, so that a transaction that fails leaves nothing there.
    remembered = live_ratings.recall_tail(board)
    new = read_uncounted(board.pk, is_new=True)
    if not new and prefix == board.prefix_sequence:
        return 0
    if is_scored(board):
        # It has no live rating: that is made match by match, and here nobody meets anybody.
        _add_to_counts(board.pk, count_episodes(board, new))
        tail = live_ratings.Tail([])
    else:
        _add_to_counts(board.pk, tally_results(new, teams=teams_of(board)))
        tail = _extend_tail(board, remembered, new)
        _fold_live(board, tail, prefix)
    waiting.filter(sequence__lte=prefix).delete()
    waiting.filter(is_counted=False).update(is_counted=True)
    Leaderboard.objects.filter(pk=board.pk).update(
        n_counted=board.n_counted + len(new), prefix_sequence=prefix, rated_at=now
    )
    # Only what the database has for sure is remembered.
    transaction.on_commit(lambda: live_ratings.remember_tail(board, tail, prefix, n_new=len(new)))
    return len(new)


def _extend_tail(
    board: Leaderboard, remembered: live_ratings.Tail | None, new: Sequence[Result]
) -> live_ratings.Tail:
    """Return the outcomes beyond the stored prefix, the new ones among them."""
    if remembered:
        remembered.add(new)
        return remembered
    if Uncounted.objects.filter(leaderboard=board, is_counted=True).exists():
        return live_ratings.Tail(read_uncounted(board.pk))
    return live_ratings.Tail(new)  # all that waits: to read it again took as long


def count_written(board: Leaderboard, results: Sequence[Result], *, now: datetime) -> bool:
    """Count outcomes where they are written; False, and nothing is done, where others come first.

    The caller's transaction has the lock of the leaderboard, has read it since, and has written
    all these matches, in planned order: so none of them has to wait for the next count.
    """
    prefix = _closed_prefix(board)
    is_next = (results[0].sequence, results[-1].sequence) == (board.prefix_sequence + 1, prefix)
    if not is_next or Uncounted.objects.filter(leaderboard=board).exists():
        return False
    _add_to_counts(board.pk, tally_results(results, teams=teams_of(board)))
    _fold_live(board, live_ratings.Tail(results), prefix)
    Leaderboard.objects.filter(pk=board.pk).update(
        n_counted=F("n_counted") + len(results), prefix_sequence=prefix, rated_at=now
    )
    return True


def start_over(board: Leaderboard, *, now: datetime) -> None:
    """Count nothing that is planned by now, and give everybody the prior again.

    The caller's transaction has the lock of the leaderboard. A fit that is under way is not stored.
    """
    for kind in (Uncounted, PairCount, TeamCount, Score):
        kind.objects.filter(leaderboard=board).delete()
    Rating.objects.filter(leaderboard=board).update(
        **dict.fromkeys(("mu", "live_mu", "prefix_mu"), MU),
        **dict.fromkeys(("sd", "live_sigma", "prefix_sigma"), SIGMA),
        **{"low": PRIOR_LOW, "high": PRIOR_HIGH},
        **dict.fromkeys(COUNTERS, 0),
        **dict.fromkeys(MEANS),
    )
    Leaderboard.objects.filter(pk=board.pk).update(
        season_first_sequence=board.next_sequence,
        ratings_reset_at=now,
        prefix_sequence=board.next_sequence - 1,
        **dict.fromkeys(("n_counted", "n_settled"), 0),
        **dict.fromkeys(FITTED),
        **dict.fromkeys(("rated_at", "fitted_at"), None),
        results_hash="",
        n_rerates_asked=F("n_rerates_asked") + 1,
        n_rerates_done=F("n_rerates_done") + 1,
    )


def _settle_if_due(board_id: int, *, now: datetime, is_new: bool = False) -> bool:
    """Settle a board, unless that was begun a moment ago; say whether new ratings were stored.

    is_new: outcomes were counted just now. Of several that come at once, one does it, and it began
    after the others had counted.
    """
    board = Leaderboard.objects.get(pk=board_id)
    if board.fitted_at is not None and not (is_new and _is_idle(board)):
        n_agents = Rating.objects.filter(leaderboard=board).count()
        interval = max(MIN_INTERVAL, n_agents * FIT_INTERVAL_PER_AGENT)
        if is_scored(board):
            interval = max(interval, board.n_counted * MEANS_INTERVAL_PER_EPISODE)
        if is_within(board.fitted_at, interval, now=now):
            return False
    # The conditional UPDATE is the lock: of several that come at once, one changes the row.
    unclaimed = Leaderboard.objects.filter(pk=board_id, fitted_at=board.fitted_at)
    return bool(unclaimed.update(fitted_at=now)) and settle_board(board_id, now=now)


def settle_board(board_id: int, *, now: datetime) -> bool:
    """Fit the settled ratings to all counted outcomes; say whether they were stored."""
    board = Leaderboard.objects.get(pk=board_id)
    rated = Rating.objects.filter(leaderboard_id=board_id).order_by("agent_id")
    ratings = list(rated.values_list("pk", "agent_id"))
    # Outside of any transaction: the recorder would wait for as long as the fit takes.
    settled = fit_ratings(board, [agent for _, agent in ratings])
    means = compute_means(board) if is_scored(board) else None
    if not _store_settled(board, [pk for pk, _ in ratings], settled, means, now=now):
        return False
    # Kept, so that lists of boards need not compute it for each.
    chance = standings.compute_leader_chance(board_id)
    Leaderboard.objects.filter(pk=board_id).update(leader_p_best=chance)
    return True


def _closed_prefix(board: Leaderboard) -> int:
    """Return the last sequence number before the first open match; void matches are passed.

    So are those of earlier seasons, which count no more.
    """
    opened = Match.objects.filter(
        Match.is_open(), leaderboard=board, sequence__gte=board.season_first_sequence
    )
    first = opened.order_by("sequence").values_list("sequence", flat=True).first()
    return (board.next_sequence if first is None else first) - 1


def read_uncounted(board_id: int, *, is_new: bool = False) -> list[Result]:
    """Return the outcomes that are not counted or lie beyond the prefix, in planned order.

    is_new: those that are not counted only.
    """
    waiting = Uncounted.objects.filter(leaderboard_id=board_id)
    rows = (waiting.filter(is_counted=False) if is_new else waiting).order_by("sequence")
    return [
        Result(
            *(match, sequence, is_counted, lineup, ranks, guilty, first is not None, reason),
            game_seed=seed,
            score=read_score(returns),
        )
        for match, sequence, is_counted, lineup, ranks, guilty, first, reason, seed, returns in (
            rows.values_list(
                *("match_id", "sequence", "is_counted", "match__lineup"),
                *("match__outcome__ranks", "match__outcome__guilty_seat"),
                *("match__same_as", "match__outcome__reason"),
                *("match__game_seed", "match__outcome__returns"),
            )
        )
    ]


def _add_to_counts(board_id: int, total: Tally) -> None:
    ratings = Rating.objects.filter(leaderboard_id=board_id, agent__in=among(list(total.agents)))
    rows = [
        (*map(add, sums, total.agents[agent]), pk)
        for pk, agent, *sums in ratings.values_list("pk", "agent_id", *COUNTERS)
    ]
    update_rows(Rating, COUNTERS, rows)
    for kind in KINDS:
        kind.add(board_id, total)


def _fold_live(board: Leaderboard, tail: live_ratings.Tail, prefix: int) -> None:
    """Move the stored state to the prefix and show it with the outcomes beyond folded on top."""
    # Only the rows of agents of these outcomes are read and written: all of 30,000 took a second
    # under the lock for which the recorder waits.
    ratings = Rating.objects.filter(leaderboard=board, agent__in=among(sorted(tail.agents())))
    stored = {agent: row for agent, *row in ratings.values_list("agent_id", "pk", *LIVE)}
    at_prefix = {agent: LiveRating(*row[1:3]) for agent, row in stored.items()}
    rules = Rules(Constants(draw_probability=board.draw_probability), teams_of(board))
    tail.pass_to(prefix, at_prefix, rules)
    live_ratings_shown = tail.shown(at_prefix, rules)
    computed = {agent: [*at_prefix[agent], *live_ratings_shown[agent]] for agent in stored}
    changed = [
        (*computed[agent], pk) for agent, (pk, *row) in stored.items() if computed[agent] != row
    ]
    update_rows(Rating, LIVE, changed)


@transaction.atomic
def _store_settled(
    board: Leaderboard,
    pks: Sequence[int],
    settled: SettledRatings,
    means: Mapping[int, Mean] | None = None,
    *,
    now: datetime,
) -> bool:
    """Write a fit of the results counted so far; False where the board has a newer one."""
    # Of three or more sides the share of draws is what was set.
    is_fitted = games.get(board.game).spec.has_draws
    # An older fit never overwrites a newer one. Without a hash the board was rated again, maybe
    # from fewer outcomes than before.
    older = Q(n_settled__lt=board.n_counted) | Q(results_hash="")
    stored = Leaderboard.objects.filter(
        older, pk=board.pk, n_rerates_done=board.n_rerates_done
    ).update(
        n_settled=board.n_counted,
        results_hash=settled.results_hash,
        spread=settled.spread,
        fitted_draw_probability=settled.draw_probability if is_fitted else None,
        seat_mu=settled.seat.mu if settled.seat else None,
        seat_sd=settled.seat.sd if settled.seat else None,
        rated_at=now,
    )
    if not stored:
        return False
    # Most ratings of a long board stay as they are, and a row that is not written costs nothing.
    settled_rows = Rating.objects.filter(leaderboard=board).values_list("pk", *SETTLED)
    stored_values = {pk: tuple(values) for pk, *values in settled_rows}
    columns = (settled.mu, settled.sd, settled.low, settled.high)
    fitted = zip(pks, *(column.tolist() for column in columns), strict=True)
    changed = [(*values, pk) for pk, *values in fitted if stored_values.get(pk) != tuple(values)]
    update_rows(Rating, SETTLED, changed)
    if means is not None:
        _store_means(board, means)
    return True


def _store_means(board: Leaderboard, means: Mapping[int, Mean]) -> None:
    """Write the mean scores that have changed; agents missing from means have none."""
    rated = Rating.objects.filter(leaderboard=board).values_list("pk", "agent_id", *MEANS)
    new_means = [(pk, means.get(agent, NO_MEAN), values) for pk, agent, *values in rated]
    rows = [(*mean, pk) for pk, mean, values in new_means if [*mean] != values]
    update_rows(Rating, MEANS, rows)
