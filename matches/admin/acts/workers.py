"""What an operator does with workers."""

from matches.admin.acts.base import Act, Chosen, Confirmed, ReasonForm, Touch, refused
from matches.models import Order, Worker
from matches.services import quarantine
from matches.services.explanations.form import ago, several

CHANGE = "matches.change_worker"


class Quarantine(Act[Worker]):
    """Trust a worker no more."""

    name, title, icon, permission = "quarantine", "Quarantine", "shield", CHANGE
    question = "Put workers into quarantine?"
    consequence = (
        "Their orders are taken back and sent to others, they get no new ones, and reports of "
        "theirs are refused from now on; what was recorded stays. Releasing them undoes it."
    )
    counts = "matches taken back"
    form = ReasonForm

    def touch(self, chosen: Chosen[Worker]) -> Touch:
        """Return what would be taken back."""
        row = chosen.row
        if row.quarantined_at is not None:
            return refused(f"it is in quarantine: {row.quarantine_reason}")
        held = list(
            Order.objects.filter(Order.is_open(), node=row.node).values_list("n_matches", flat=True)
        )
        in_hand = f"{several(len(held), 'order')} of {sum(held):,} matches in hand"
        seen = f"last seen{ago(row.last_seen_at, now=chosen.now)}"
        return Touch(f"{several(row.slots, 'slot')}, {in_hand}, {seen}", n=sum(held))

    def do(self, chosen: Confirmed[Worker]) -> str:
        """Take back what it has."""
        row = chosen.row
        quarantine.quarantine_worker(
            row, actor=chosen.actor, reason=chosen.given["reason"], now=chosen.now
        )
        return f"{row} is in quarantine"


class Release(Act[Worker]):
    """Trust a worker again."""

    name, title, icon, permission = "release", "Release", "lock_open", CHANGE
    question = "Release workers from quarantine?"
    consequence = "They get orders and may report again. Another quarantine undoes it."
    form = ReasonForm

    def touch(self, chosen: Chosen[Worker]) -> Touch:
        """Return why it was held back."""
        row = chosen.row
        if row.quarantined_at is None:
            return refused("it is not in quarantine")
        since = ago(row.quarantined_at, now=chosen.now)
        says = f"in quarantine, put there{since}: {row.quarantine_reason}"
        return Touch(says, seen=f"{row.quarantined_at}")

    def do(self, chosen: Confirmed[Worker]) -> str:
        """Let it play."""
        row = chosen.row
        quarantine.release_worker(
            row, actor=chosen.actor, reason=chosen.given["reason"], now=chosen.now
        )
        return f"{row} may play again"


ACTS = (Quarantine(), Release())
