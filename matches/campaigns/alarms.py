"""Look after alarms: somebody has seen it."""

from datetime import datetime

from django.db import transaction

from matches.models import Alarm
from matches.store import auditing
from matches.store.auditing import Actor

ACKNOWLEDGE = "alarm.acknowledge"


@transaction.atomic
def acknowledge_alarm(alarm: Alarm, *, actor: Actor, now: datetime, reason: str = "") -> bool:
    """Note who has seen an alarm; of two the first one. Say whether it was this call."""
    open_one = Alarm.objects.filter(pk=alarm.pk, acknowledged_at=None)
    if not open_one.update(acknowledged_at=now, acknowledged_by=actor.name):
        return False
    auditing.add_audit_row(
        ACKNOWLEDGE, actor=actor, targets=[alarm], reason=reason, touched={}, now=now
    )
    return True
