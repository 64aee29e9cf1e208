"""How long a tournament will still take, from what was recorded within the last minute."""

from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from matches.models import Attempt, Tournament
from matches.store import selectors
from matches.store.explanation import format_span

WINDOW = timedelta(minutes=1)
N_SEEN = 1_000
"""Attempts of all tournaments that are read: at a high pace they cover less than a minute."""
_CLOSING = (Attempt.Ending.DONE, Attempt.Ending.FORFEIT)
_STATES = Tournament.State


class Pace(NamedTuple):
    """Matches a second and what follows from it, in words; both are empty once it has ended."""

    rate: str
    remaining: str


def of_tournament(tournament: Tournament, *, now: datetime) -> Pace:
    """Return the pace of the last minute and how long the pending matches take at that pace.

    One query of bounded size, however much was played.
    """
    if tournament.state in Tournament.OVER:
        return Pace("", "")
    if tournament.state == _STATES.PAUSED:
        return Pace("paused", "unknown: it is paused")
    n_ended, seconds = _ended(tournament, now=now)
    if not n_ended:
        return Pace("0 matches/s", "unknown: no match of it ended within the last minute")
    rate = n_ended / seconds
    left = selectors.read_progress(tournament).pending
    return Pace(_rate(rate), f"about {format_span(ceil(left / rate))}")


def _ended(tournament: Tournament, *, now: datetime) -> tuple[int, float]:
    """Return how many matches of it ended within how many seconds."""
    columns = ("match__tournament", "ending", "ended_at")
    newest = list(Attempt.objects.order_by("-pk").values_list(*columns)[:N_SEEN])
    start = now - WINDOW
    if len(newest) == N_SEEN:
        start = max(start, newest[-1][-1])
    n_ended = sum(
        of == tournament.pk and ending in _CLOSING and ended_at >= start
        for of, ending, ended_at in newest
    )
    return n_ended, max((now - start).total_seconds(), 1.0)


def _rate(rate: float) -> str:
    return f"{rate:,.1f} matches/s" if rate >= 1 else f"{60 * rate:.2g} matches/min"
