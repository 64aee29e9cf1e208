"""How long a tournament will still take, from what was recorded within the last minute."""

from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from matches.models import Attempt, Tournament
from matches.operations.explanations.tournament import ENDS
from matches.store import selectors
from matches.store.explanation import Explanation
from matches.store.formats import format_pace, format_span

WINDOW = timedelta(minutes=1)
# Attempts of all tournaments that are read: at a high pace they cover less than a minute.
N_SEEN = 1_000
_CLOSING = (Attempt.Ending.DONE, Attempt.Ending.FORFEIT)


class Pace(NamedTuple):
    """Matches a second and what follows from it, in words; both empty where none ended of late."""

    rate: str
    remaining: str


_STANDS = Pace("", "")


def tell_end(explanation: Explanation, pace: Pace) -> Explanation:
    """Return the explanation of a tournament with one statement of when it is done.

    That of the last minute where there is one; else that of all the time since it started.
    """
    if not explanation.next.startswith(ENDS):
        return explanation
    if pace.remaining:
        text = f"{ENDS}: in {pace.remaining} at the {pace.rate} of the last minute"
        return replace(explanation, next=text, next_at=None)
    notes = ("no match ended within the last minute", *explanation.notes)
    return replace(explanation, notes=notes)


def measure_pace(tournament: Tournament, *, now: datetime) -> Pace:
    """Return the pace of the last minute and how long the pending matches take at that pace.

    One query of bounded size, however much was played.
    """
    if tournament.state not in Tournament.ACTIVE:
        return _STANDS
    columns = ("match__tournament", "ending", "ended_at")
    # The newest of all tournaments by key: no index holds the attempts of one by their end.
    newest = list(Attempt.objects.order_by("-pk").values_list(*columns)[:N_SEEN])
    start = now - WINDOW
    if len(newest) == N_SEEN:
        start = max(start, newest[-1][-1])
    n_ended = sum(
        played_for == tournament.pk and ending in _CLOSING and ended_at >= start
        for played_for, ending, ended_at in newest
    )
    if not n_ended:
        return _STANDS
    # At least a second: a burst of matches that ended at once has no rate.
    rate = n_ended / max((now - start).total_seconds(), 1.0)
    left = selectors.read_progress(tournament).pending
    return Pace(format_pace(rate), f"about {format_span(ceil(left / rate))}")
