"""Where a leaderboard stands in lists: before the others, or in none."""

from datetime import datetime
from typing import Final

from django.db import transaction

from matches.errors import BadInputError
from matches.models import Leaderboard
from matches.store import auditing
from matches.store.auditing import Actor

PLACES: Final = ("is_listed", "is_pinned")


@transaction.atomic
def place_board(
    board: Leaderboard,
    *,
    is_listed: bool | None = None,
    is_pinned: bool | None = None,
    actor: Actor,
    reason: str = "",
    now: datetime,
) -> Leaderboard:
    """Return the leaderboard as it stands in lists from now on; None leaves a mark as it is.

    What it is already changes nothing and leaves no audit row. Raises BadInputError when nothing is
    asked for.
    """
    marks = {"is_listed": is_listed, "is_pinned": is_pinned}
    if all(value is None for value in marks.values()):
        raise BadInputError("is_pinned", "say is_pinned or is_listed, true or false")
    locked = Leaderboard.objects.select_for_update().get(pk=board.pk)
    changed = {
        name: value
        for name, value in marks.items()
        if value is not None and value != getattr(locked, name)
    }
    if changed:
        Leaderboard.objects.filter(pk=board.pk).update(**changed)
        # As the form of the admin notes it.
        auditing.add_audit_row(
            "leaderboard.change",
            actor=actor,
            targets=[locked],
            reason=reason,
            touched=changed,
            now=now,
        )
    return Leaderboard.objects.get(pk=board.pk)
