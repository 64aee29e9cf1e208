"""What an operator does with workers."""

from matches.admin.acts.base import Chosen, Confirmed, Touch
from matches.admin.acts.holding import QuarantineAct, ReleaseAct
from matches.ledger import quarantine
from matches.models import Order, Worker
from matches.store.explanation import format_ago, format_count

CHANGE = "matches.change_worker"


class Quarantine(QuarantineAct[Worker]):
    """Trust a worker no more."""

    permission = CHANGE
    question = "Put workers into quarantine?"
    consequence = (
        "Their orders are taken back and sent to others, they get no new ones, and reports of "
        "theirs are refused from now on; what was recorded stays. Releasing them undoes it."
    )
    counts = "matches taken back"

    def stops(self, chosen: Chosen[Worker]) -> Touch:
        """Return what would be taken back."""
        row = chosen.row
        held = list(
            Order.objects.filter(Order.is_open(), node=row.node).values_list("n_matches", flat=True)
        )
        in_hand = f"{format_count(len(held), 'order')} of {sum(held):,} matches in hand"
        seen = f"last seen{format_ago(row.last_seen_at, now=chosen.now)}"
        return Touch(f"{format_count(row.slots, 'slot')}, {in_hand}, {seen}", n=sum(held))

    def do(self, chosen: Confirmed[Worker]) -> str:
        """Take back what it has."""
        row = chosen.row
        quarantine.quarantine_worker(
            row, actor=chosen.actor, reason=chosen.given["reason"], now=chosen.now
        )
        return f"{row} is in quarantine"


class Release(ReleaseAct[Worker]):
    """Trust a worker again."""

    permission = CHANGE
    question = "Release workers from quarantine?"
    consequence = "They get orders and may report again. Another quarantine undoes it."

    def do(self, chosen: Confirmed[Worker]) -> str:
        """Let it play."""
        row = chosen.row
        quarantine.release_worker(
            row, actor=chosen.actor, reason=chosen.given["reason"], now=chosen.now
        )
        return f"{row} may play again"


ACTS = (Quarantine(), Release())
