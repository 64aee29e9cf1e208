"""Enter in the books what each tournament's matches cost, by day: core-seconds and GPU-seconds."""

from datetime import UTC, date, datetime, timedelta

from django.db import transaction
from django.db.models import F, Sum

from matches.ledger.costs import measure_gpu_s
from matches.models import DayCost, Tournament

EVERY = timedelta(minutes=1)
N_BOOKED = 200
"""Tournaments of one pass: after an upgrade all that were ever played are entered, bit by bit."""


def book_costs(*, now: datetime) -> int:
    """Enter what was played since the last pass; return how many tournaments had something.

    By what is missing and not by what is new, so that a pass that was lost costs nothing.
    """
    spent_s = F("played_s") + F("lost_s")
    to_book = Tournament.objects.filter(booked_s__lt=spent_s).order_by("pk")[:N_BOOKED]
    # A tournament at a time: the recorder waits for no more than one short transaction.
    for tournament in to_book:
        _book_tournament(tournament, now=now)
    return len(to_book)


@transaction.atomic
def _book_tournament(tournament: Tournament, *, now: datetime) -> None:
    unbooked = Tournament.objects.filter(pk=tournament.pk, booked_s=tournament.booked_s)
    # Attempts that brought nothing cost as much as others.
    spent_s = tournament.played_s + tournament.lost_s
    if not unbooked.update(booked_s=spent_s):
        return  # another control has just booked it
    n_played = tournament.n_done - tournament.n_known
    booked = tournament.day_costs.aggregate(n=Sum("n_matches"), gpu_s=Sum("gpu_s"))
    n_new = max(0, n_played - (booked["n"] or 0))
    cost, _ = DayCost.objects.get_or_create(tournament=tournament, day=_find_day(tournament, now))
    DayCost.objects.filter(pk=cost.pk).update(
        n_matches=F("n_matches") + n_new,
        core_s=F("core_s") + spent_s - tournament.booked_s,
        gpu_s=F("gpu_s") + measure_gpu_s(tournament) * n_new,
    )


def _find_day(tournament: Tournament, now: datetime) -> date:
    """Return the day of what is not entered yet: no later than its end."""
    return min(now, tournament.finished_at or now).astimezone(UTC).date()
