"""One order of locking for all who write matches.

Turns, workers, campaigns, orders, matches, tournaments, leaderboards; of each by primary key, until
the commit. Two transactions that take the same rows in two orders end in a deadlock, and PostgreSQL
then ends one of them. SQLite lets one write at a time.
"""

from collections.abc import Sequence

from django.db import connection

from matches.models import Match, Order
from matches.store.bulk import among

_TURNS, _RUNS = 12, 13
"""The first halves of the keys of turns: advisory locks of others have another one."""
_MAX_KEY = 2**31 - 1


def take_turn(tournament_id: int) -> None:
    """Have people who change one tournament wait for each other; before any row is locked.

    The row of the tournament cannot be what they wait for: it comes after its orders.
    """
    _wait_for_turn(_TURNS, tournament_id % _MAX_KEY)


def take_turn_of_runs() -> None:
    """Have those who start generated runs or gates wait for each other, before they look.

    Not by the key of a run: two may need the same new agents and the same new leaderboard.
    """
    _wait_for_turn(_RUNS, 0)


def _wait_for_turn(kind: int, number: int) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s::int, %s::int)", [kind, number])


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
