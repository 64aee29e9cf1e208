"""Changes of tournaments from outside the admin, with the audit row that the admin leaves."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import transaction

from matches.models import Tournament
from matches.store import auditing
from matches.store.auditing import Actor


@transaction.atomic
def change_with_audit(
    tournament: Tournament,
    act: str,
    change: Callable[[Tournament], object],
    *,
    actor: Actor,
    now: datetime,
) -> None:
    """Change a tournament; leave an audit row when that changed anything.

    act: resume, pause, extend or cancel, as the audit names it.
    """
    # Not locked: a tournament comes after its orders and matches, see matches.store.locks.
    before = Tournament.objects.get(pk=tournament.pk)
    change(tournament)
    after = Tournament.objects.get(pk=tournament.pk)
    if (before.state, before.n_matches) == (after.state, after.n_matches):
        return
    touched: dict[str, Any] = {}
    if act == "cancel":
        touched = {"n_cancelled": after.n_cancelled - before.n_cancelled}
    elif act == "extend":
        touched = {"n_matches": after.n_matches, "n_before": before.n_matches}
    auditing.add_audit_row(
        f"tournament.{act}", actor=actor, targets=[after], reason="", touched=touched, now=now
    )
