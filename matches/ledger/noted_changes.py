"""Changes of tournaments by people, each with its audit row: the same in admin, API and client."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import transaction

from matches.models import Campaign, Tournament
from matches.store import auditing
from matches.store.auditing import Actor, Target
from matches.store.locks import take_turn


@transaction.atomic
def change_with_audit(
    tournament: Tournament,
    act: str,
    change: Callable[[Tournament], object],
    *,
    actor: Actor,
    reason: str = "",
    now: datetime,
) -> dict[str, Any] | None:
    """Change a tournament and leave an audit row; return what was touched, None if nothing changed.

    act: resume, pause, extend or cancel, as the audit names it. Who cancels the tournament of a
    campaign stops the campaign, and that is what the audit says.
    """
    # Its row is not locked: it comes after orders and matches, see matches.store.locks.
    take_turn(tournament.pk)
    before = Tournament.objects.get(pk=tournament.pk)
    change(tournament)
    after = Tournament.objects.get(pk=tournament.pk)
    if (before.state, before.n_matches) == (after.state, after.n_matches):
        return None
    touched: dict[str, Any] = {}
    if act == "cancel":
        touched = {"n_cancelled": after.n_cancelled - before.n_cancelled}
    elif act == "extend":
        touched = {"n_matches": after.n_matches, "n_before": before.n_matches}
    action, target = f"tournament.{act}", Target.of(after)
    stopped = Campaign.objects.filter(tournament=after).first() if act == "cancel" else None
    if stopped is not None:
        action, target = "campaign.stop", Target("campaign", stopped.pk, str(after))
    auditing.add_audit_row(
        action, actor=actor, targets=[target], reason=reason, touched=touched, now=now
    )
    return touched
