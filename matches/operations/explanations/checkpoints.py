"""What the check of a checkpoint waits for."""

from matches.models import Checkpoint
from matches.operations.explanations.presence import Presence
from matches.store.explanation import format_count, format_since


def describe_check(checkpoint: Checkpoint, there: Presence) -> str:
    """Return what to wait for until the verdict on a checkpoint."""
    waiting = format_since(checkpoint.created_at, now=there.now)
    missing = [*there.missing_gpu(), *there.missing_control()]
    asked = (
        f"ordered {format_count(checkpoint.n_asked, 'time')} so far"
        if checkpoint.n_asked
        else "not ordered yet"
    )
    return f"the check of checkpoint {checkpoint}{waiting}: {', '.join(missing) or asked}"
