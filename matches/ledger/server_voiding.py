"""Declare void what one game server decided."""

from datetime import datetime

from matches.ledger.voiding import MAX_AT_ONCE, void_matches
from matches.models import Attempt, Match
from matches.store.auditing import Actor
from matches.store.bulk import split_batches

_CLOSING = (Attempt.Ending.DONE, Attempt.Ending.FORFEIT)


def list_matches(server: str) -> list[int]:
    """Return the matches whose outcome counts and was decided on a game server."""
    served = Attempt.objects.filter(Attempt.is_served(), server=server, ending__in=_CLOSING)
    columns = ("match_id", "number", "match__outcome__attempt", "match__state")
    return sorted(
        match
        for match, number, deciding, state in served.values_list(*columns)
        # Another attempt, on another server, may have been first.
        if state == Match.State.DONE and number == deciding
    )


def void_matches_of_server(server: str, *, actor: Actor, reason: str, now: datetime) -> int:
    """Declare void what a game server decided, and what is a copy of it; return how many had ended.

    Raises BadInputError without a reason.
    """
    n_struck = 0
    for batch in split_batches(list_matches(server), MAX_AT_ONCE):
        n_struck += void_matches(batch, actor=actor, reason=reason, now=now).n_struck
    return n_struck
