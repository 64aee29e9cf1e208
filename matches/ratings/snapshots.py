"""Keep the history of ratings: one compressed snapshot a minute, and fewer of what is long ago."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from django.db.models import QuerySet
from django.db.models.functions import Now

from matches.models import Leaderboard, Rating, RatingSnapshot
from matches.store import snapshot_tables
from matches.store.bulk import among
from matches.store.clock import is_within

INTERVAL = timedelta(minutes=1)
TREND_WINDOW = timedelta(hours=1)
ENOUGH_OUTCOMES = 20
"""Outcomes for each agent, after which a movement within the first hour counts as a trend."""
COLUMNS = snapshot_tables.COLUMNS
NOTHING: Mapping[int, float] = MappingProxyType({})
_N_KEPT = 16


class Tier(NamedTuple):
    """From which age on a snapshot is kept, and of how long a time one."""

    age: timedelta
    one_in: timedelta


# Of 10,000 agents a snapshot takes 390 kB: 560 MB a day without these, some 350 MB in all with.
TIERS = (
    Tier(timedelta(hours=1), timedelta(minutes=10)),
    Tier(timedelta(days=1), timedelta(hours=1)),
    Tier(timedelta(days=30), timedelta(days=1)),
)
# Snapshots of a tier that are looked at, the newest ones; more than a thinned tier has.
N_AT_ONCE = 1_000


def take_due(*, now: datetime) -> int:
    """Take a snapshot of every board that changed since its last one; return how many."""
    changed = Leaderboard.objects.filter(rated_at__gte=now - 2 * INTERVAL).exclude(results_hash="")
    n_taken = 0
    for board in changed:
        # One in the future is of a clock that was set back since: it would stay the last one, and
        # every tick would take another until the clock has caught up.
        snapshots = RatingSnapshot.objects.filter(leaderboard=board, taken_at__lte=now)
        last = snapshots.defer("table").order_by("-taken_at").first()
        # The same hash is the same ratings, whatever came in between.
        if last and last.results_hash == board.results_hash:
            continue
        if last and is_within(last.taken_at, INTERVAL, now=now):
            continue
        ratings = Rating.objects.filter(leaderboard=board).order_by("agent_id")
        RatingSnapshot.objects.create(
            leaderboard=board,
            taken_at=now,
            n_outcomes=board.n_settled,
            results_hash=board.results_hash,
            table=snapshot_tables.pack_rows(ratings.values_list(*COLUMNS)),
        )
        thin_snapshots(board, now=now)
        n_taken += 1
    return n_taken


def read_rows(snapshot: RatingSnapshot) -> list[list[float]]:
    """Return the rows of a snapshot in the order of COLUMNS."""
    return snapshot_tables.unpack_rows(snapshot)


def read_row(snapshot: RatingSnapshot, agent: int) -> list[float] | None:
    """Return the row of one agent, None if it has none."""
    return snapshot_tables.find_rows(snapshot, [agent]).get(agent)


def read_mu_before(board: Leaderboard, agents: Collection[int] | None) -> Mapping[int, float]:
    """Return mu by agent id an hour before the last rating: of these agents, None for all.

    Of a younger board it is that of the first snapshot with enough results: what moved before them
    was no trend but the doubt of the beginning. Counted from the last rating and not from now, so
    that what a quiet board shows does not change. A season in which everybody began anew compares
    with nothing before it.
    """
    if board.rated_at is None or (agents is not None and not agents):
        return NOTHING
    snapshots = list_comparable(board)
    past = (
        snapshots.filter(taken_at__lte=board.rated_at - TREND_WINDOW).order_by("-taken_at").first()
    )
    snapshot = past or _find_first_settled(board, snapshots)
    if snapshot is None:
        return NOTHING
    if agents is None:
        return _read_mu(snapshot.pk, snapshot.taken_at, snapshot.results_hash)
    # Of 10,000 agents a page shows 200: to read all took a third of its time.
    (rows,) = snapshot_tables.read_rows([snapshot], agents)
    return {agent: row[1] for agent, row in rows.items()}


def list_snapshots(board: Leaderboard) -> QuerySet[RatingSnapshot]:
    """Return the snapshots of a board, without their tables.

    Those in the future were taken before the clock was set back, and are left out until it has
    caught up: they would pass for the newest ratings.
    """
    return RatingSnapshot.objects.filter(leaderboard=board, taken_at__lte=Now()).defer("table")


def list_comparable(board: Leaderboard) -> QuerySet[RatingSnapshot]:
    """Return the snapshots since the ratings were last reset, without their tables."""
    snapshots = list_snapshots(board)
    if board.ratings_reset_at is not None:
        snapshots = snapshots.filter(taken_at__gt=board.ratings_reset_at)
    return snapshots


def _find_first_settled(
    board: Leaderboard, snapshots: QuerySet[RatingSnapshot]
) -> RatingSnapshot | None:
    n_agents = Rating.objects.filter(leaderboard=board, n_matches__gt=0).count()
    settled = snapshots.filter(n_outcomes__gte=ENOUGH_OUTCOMES * n_agents)
    # Of a board younger than an hour there are few.
    return settled.order_by("taken_at").first()


# A snapshot never changes once it is taken. Time and hash are part of the key, so that another row
# with its id is never taken for it.
@lru_cache(maxsize=_N_KEPT)
def _read_mu(pk: int, _taken_at: datetime, _results_hash: str) -> Mapping[int, float]:
    rows = snapshot_tables.unpack_rows(RatingSnapshot.objects.get(pk=pk))
    return {int(agent): mu for agent, mu, *_ in rows}


def thin_snapshots(board: Leaderboard, *, now: datetime) -> int:
    """Delete the snapshots of a board that its history does not need; return how many.

    Of each stretch of time the last one stays, so what a board came to is never lost. Called with a
    new snapshot: of a board that rests, nothing that is shown changes.
    """
    ends = [now - tier.age for tier in TIERS] + [None]
    surplus: list[int] = []
    for (newest, oldest), tier in zip(pairwise(ends), TIERS, strict=True):
        snapshots = RatingSnapshot.objects.filter(leaderboard=board, taken_at__lte=newest)
        if oldest is not None:
            snapshots = snapshots.filter(taken_at__gt=oldest)
        stretches = set[int]()
        for pk, at in snapshots.order_by("-taken_at").values_list("pk", "taken_at")[:N_AT_ONCE]:
            stretch = int(at.timestamp() // tier.one_in.total_seconds())
            surplus += [pk] if stretch in stretches else []
            stretches.add(stretch)
    RatingSnapshot.objects.filter(pk__in=among(surplus)).delete()
    return len(surplus)
