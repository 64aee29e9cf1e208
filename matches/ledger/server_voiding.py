"""Declare void what one game server decided."""

from datetime import datetime

from django.db.models import F, QuerySet

from matches.ledger.voiding import MAX_AT_ONCE, void_matches
from matches.models import Attempt, Match
from matches.store.auditing import Actor

_CLOSING = (Attempt.Ending.DONE, Attempt.Ending.FORFEIT)


def count_matches(server: str, *, most: int | None = None) -> int:
    """Return how many outcomes count that were decided on a game server, as far as is asked."""
    return _find_deciding(server)[:most].count()


def _find_deciding(server: str) -> QuerySet[Attempt]:
    """Return the attempts on a server whose outcomes count, in their order."""
    served = Attempt.objects.filter(Attempt.is_served(), server=server, ending__in=_CLOSING)
    # Another attempt, on another server, may have been first.
    deciding = served.filter(match__state=Match.State.DONE, match__outcome__attempt=F("number"))
    return deciding.order_by("pk")


def void_matches_of_server(server: str, *, actor: Actor, reason: str, now: datetime) -> int:
    """Declare void the matches that a game server decided, and copies; return how many had ended.

    Raises BadInputError without a reason.
    """
    n_struck, last_pk = 0, 0
    while batch := list(
        _find_deciding(server).filter(pk__gt=last_pk).values_list("pk", "match_id")[:MAX_AT_ONCE]
    ):
        last_pk = batch[-1][0]
        matches = sorted(match for _, match in batch)
        n_struck += void_matches(matches, actor=actor, reason=reason, now=now).n_struck
    return n_struck
