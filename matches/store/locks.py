"""One order of locking for all who write matches.

Turns, workers, campaigns, orders, matches, tournaments, leaderboards; of each by primary key, until
the commit. Two transactions that take the same rows in two orders end in a deadlock, and PostgreSQL
then ends one of them. SQLite lets one write at a time.
"""

from collections.abc import Sequence

from django.db import connection

from matches.models import Match, Order
from matches.store.bulk import among

_TURNS = 12
"""The first half of the keys of turns: advisory locks of others have another one."""
_MAX_KEY = 2**31 - 1


def take_turn(tournament_id: int) -> None:
    """Have people who change one tournament wait for each other; before any row is locked.

    The row of the tournament cannot be what they wait for: it comes after its orders.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            key = [_TURNS, tournament_id % _MAX_KEY]
            cursor.execute("SELECT pg_advisory_xact_lock(%s::int, %s::int)", key)


def lock_orders(ids: Sequence[int]) -> list[Order]:
    """Lock orders, before any of their matches; return them as they are now."""
    # Rows that point at an order, such as those of matches, may be written meanwhile.
    locked = Order.objects.filter(pk__in=among(ids)).order_by("pk")
    return list(locked.select_for_update(no_key=True))


def lock_matches_in_flight(order_ids: Sequence[int], *, more: Sequence[int] = ()) -> None:
    """Lock the matches of locked orders that are in flight, and more, before any tournament."""
    in_flight = Match.objects.filter(Match.is_in_flight(), order__in=among(order_ids))
    ids = {*in_flight.values_list("pk", flat=True), *more} if order_ids else set(more)
    locked = Match.objects.filter(pk__in=among(sorted(ids))).order_by("pk")
    # Read, or nothing would be locked.
    list(locked.select_for_update(no_key=True).values_list("pk"))
