"""The last 24 hours of the system, a row a minute: more than the fast store keeps, and for longer.

Written by control with the costs by day; both go by what is missing, so a lost pass does no harm.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from redis.exceptions import RedisError

from matches.ledger import day_costs
from matches.models import SystemMinute
from matches.operations.system import pushing
from matches.operations.system.sample import Point
from matches.ratings import tournament_counts

MINUTE = timedelta(minutes=1)
KEPT = timedelta(hours=24)


def keep_minute(*, now: datetime) -> None:
    """Once a minute: keep the minute that is over, delete those of yesterday, book the costs."""
    begun = now.replace(second=0, microsecond=0) - MINUTE
    if SystemMinute.objects.filter(at=begun).exists():
        return
    try:
        state = pushing.read_latest()
    except RedisError:  # said by who pushes the samples; costs are booked from the database
        state = None
    points = (
        [point for point in state.history if begun <= point.at < begun + MINUTE] if state else []
    )
    if state is not None and points:
        row = _sum_up(points, begun, n_slots=state.sample.counts.n_slots)
        # Two controls for a moment, as while one is replaced: the first one's row stays.
        SystemMinute.objects.bulk_create([row], ignore_conflicts=True)
        SystemMinute.objects.filter(at__lt=now - KEPT).delete()
    day_costs.book_costs(now=now)
    tournament_counts.count_missing()


def _sum_up(points: Sequence[Point], begun: datetime, *, n_slots: int) -> SystemMinute:
    return SystemMinute(
        at=begun,
        matches_per_s=sum(point.matches_per_s for point in points) / len(points),
        n_waiting=max(point.n_waiting for point in points),
        rows_per_forward=max(point.rows_per_forward for point in points),
        n_slots=n_slots,
    )
