"""What the check of a checkpoint waits for."""

from matches.models import Checkpoint
from matches.operations.explanations.presence import Presence
from matches.store.explanation import for_long, several


def waiting_check(checkpoint: Checkpoint, there: Presence) -> str:
    """Return what to wait for until the verdict on a checkpoint."""
    waiting = for_long(checkpoint.created_at, now=there.now)
    missing = [*there.missing_gpu(), *there.missing_control()]
    asked = (
        f"ordered {several(checkpoint.n_asked, 'time')} so far"
        if checkpoint.n_asked
        else "not ordered yet"
    )
    return f"the check of checkpoint {checkpoint}{waiting}: {', '.join(missing) or asked}"
