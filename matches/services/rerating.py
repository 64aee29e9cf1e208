"""Compute the ratings of a leaderboard again, from all outcomes that count."""

from datetime import datetime

from django.db import transaction
from django.db.models import F

from matches import dispatch
from matches.models import Leaderboard
from matches.services import auditing
from matches.services.auditing import Actor


@transaction.atomic
def request(board: Leaderboard, *, actor: Actor, reason: str, now: datetime) -> None:
    """Have control compute the ratings of a leaderboard again. Raises BadInputError."""
    why = auditing.given(reason)
    Leaderboard.objects.filter(pk=board.pk).update(n_rerates_asked=F("n_rerates_asked") + 1)
    board.refresh_from_db(fields=("n_rerates_asked", "n_rerates_done"))
    touched = {"n_counted": board.n_counted}
    auditing.note(
        "leaderboard.rerate", actor=actor, targets=[board], reason=why, touched=touched, now=now
    )
    transaction.on_commit(dispatch.wake_rerater)


def rerate_due(*, now: datetime) -> list[int]:
    """Rate again the leaderboards of which that was asked; return those whose ratings changed."""
    raise NotImplementedError
