"""Strike all results of an import: its leaderboard is rated as if they had never come.

The rows stay, and so does what is known of them; they count no more. After it the same file may be
imported again.
"""

from datetime import datetime
from typing import Final, NamedTuple

from django.db import connection, transaction
from django.db.models import F, Q

from matches import dispatch
from matches.errors import ConflictError
from matches.ledger.voiding import BY_PEOPLE
from matches.models import (
    Entrant,
    ImportBatch,
    ImportedKey,
    Leaderboard,
    Match,
    PairCount,
    Rating,
    Tournament,
    Uncounted,
    Voiding,
)
from matches.ratings.tournament_counts import forget_counts
from matches.store import auditing
from matches.store.auditing import Actor
from matches.store.bulk import among, insert_rows

SLICE: Final = 5_000
"""Matches of one transaction."""


class Struck(NamedTuple):
    """What a call changed."""

    batch: ImportBatch
    n_struck: int


def strike_import(batch: ImportBatch, *, actor: Actor, reason: str, now: datetime) -> Struck:
    """Let all results of an import count no more; doing it again changes nothing.

    A process that is lost leaves it half done: doing it again goes on. Raises BadInputError without
    a reason, ConflictError while the import is being written.
    """
    why = auditing.check_reason(reason)
    _begin_striking(batch, actor=actor, reason=why, now=now)
    n_struck = 0
    while n_more := _strike_slice(batch, actor=actor, reason=why, now=now):
        n_struck += n_more
    _take_agents_off(batch)
    transaction.on_commit(dispatch.wake_rerater)
    return Struck(batch, n_struck)


@transaction.atomic
def _begin_striking(batch: ImportBatch, *, actor: Actor, reason: str, now: datetime) -> None:
    """Note who strikes it and why, and forget its keys."""
    # First, so that a call that still imports it stops: it writes to what is running only.
    Tournament.objects.filter(pk=batch.tournament_id).exclude(state__in=Tournament.OVER).update(
        state=Tournament.State.CANCELLED, finished_at=now
    )
    if ImportBatch.objects.filter(pk=batch.pk, struck_at=None).update(struck_at=now):
        auditing.add_audit_row(
            "importbatch.strike",
            actor=actor,
            targets=[batch],
            reason=reason,
            touched={"n_rows": batch.n_rows - batch.n_known},
            now=now,
        )
    batch.refresh_from_db()
    ImportedKey.objects.filter(match__tournament=batch.tournament_id).delete()


@transaction.atomic
def _strike_slice(batch: ImportBatch, *, actor: Actor, reason: str, now: datetime) -> int:
    """Strike the next matches of a batch; return how many."""
    done_matches = Match.objects.filter(
        Match.is_closed(), tournament=batch.tournament_id, state=Match.State.DONE
    )
    ids = list(done_matches.order_by("sequence").values_list("pk", flat=True)[:SLICE])
    if not ids:
        return 0
    n_struck = Match.objects.filter(pk__in=among(ids), state=Match.State.DONE).update(
        state=Match.State.VOID, void_reason=BY_PEOPLE
    )
    if n_struck != len(ids):
        raise ConflictError(f"{batch} is being struck by another call")
    stamp = connection.ops.adapt_datetimefield_value(now)
    insert_rows(
        Voiding,
        ("match_id", "at", "actor", "reason", "was_done"),
        [(pk, stamp, actor.name, reason, True) for pk in ids],
    )
    Tournament.objects.filter(pk=batch.tournament_id).update(
        n_done=F("n_done") - n_struck, n_void=F("n_void") + n_struck
    )
    # Asked for with every slice: who rates again meanwhile has read matches that count no more.
    Leaderboard.objects.filter(pk=batch.leaderboard_id).update(
        n_rerates_asked=F("n_rerates_asked") + 1
    )
    Uncounted.objects.filter(match__in=among(ids)).delete()
    forget_counts([batch.tournament_id])
    return n_struck


@transaction.atomic
def _take_agents_off(batch: ImportBatch) -> None:
    """Take those off the leaderboard that came to it by this import alone.

    An agent without a result has a rating, too, and the spread of the field is fitted to all.
    """
    # Whoever enters agents waits for it, or has entered them before they are looked for.
    Leaderboard.objects.select_for_update().get(pk=batch.leaderboard_id)
    others = Tournament.objects.filter(leaderboard=batch.leaderboard_id)
    others = others.exclude(pk=batch.tournament_id).exclude(imported__struck_at__isnull=False)
    entered = Entrant.objects.filter(tournament__in=others).values("agent")
    entrants = Entrant.objects.filter(tournament=batch.tournament_id).exclude(agent__in=entered)
    agents = list(entrants.values_list("agent", flat=True))
    # Its counts first: a fit has a place for each agent that they name.
    counts = PairCount.objects.filter(leaderboard=batch.leaderboard_id)
    counts.filter(Q(first__in=among(agents)) | Q(second__in=among(agents))).delete()
    Rating.objects.filter(leaderboard=batch.leaderboard_id, agent__in=among(agents)).delete()
    Leaderboard.objects.filter(pk=batch.leaderboard_id).update(
        n_rerates_asked=F("n_rerates_asked") + 1
    )
