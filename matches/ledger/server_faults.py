"""Game servers that were lost, or that answer nonsense: the one pauses, the other is stopped."""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction

from arena.messages import Ending, Reason, ResultRow
from arena.needs import Needs
from matches.ledger.quarantine import quarantine_worker
from matches.models import Attempt, Worker
from matches.store.auditing import CONTROL
from matches.store.formats import format_count
from matches.store.game_servers import compute_pause
from matches.store.order_versions import reads_orders
from matches.store.plugin_files import has_files, list_files
from matches.store.selectors import list_alive_workers

log = logging.getLogger(__name__)

FAULTS_IN_A_ROW = 3
LAST, MAX_FAULTS = 100, 5
"""So many faults in its last matches, and a server is stopped."""
_READ = 2 * LAST
"""Attempts that are read: some are of one and the same match."""
MAX_NAMED = 3

_TELLING = (Ending.DONE, Ending.FORFEIT)


def note_rows(rows: Sequence[ResultRow], *, now: datetime) -> None:
    """Note losses and faults of game servers; without such rows no query is made."""
    served_rows = [row for row in rows if row.server]
    if not served_rows:
        return
    _note_losses(
        {row.server for row in served_rows if row.reason is Reason.SERVER_LOST},
        {row.server for row in served_rows if row.ending in _TELLING},
        now=now,
    )
    for name in sorted({row.server for row in served_rows if row.reason is Reason.SERVER_FAULT}):
        stop_if_faulty(name, now=now)


def _note_losses(lost: Collection[str], played: Collection[str], *, now: datetime) -> None:
    # It answers somebody: the pauses begin anew.
    Worker.objects.filter(node__in=sorted(played), n_lost__gt=0).update(n_lost=0)
    for worker in Worker.objects.filter(node__in=sorted(lost)).order_by("node"):
        # All players lose it at once: only a loss after it was tried again is another one.
        is_new = worker.lost_at is None or now >= worker.lost_at + compute_pause(worker)
        n_lost = worker.n_lost + 1 if is_new else max(worker.n_lost, 1)
        Worker.objects.filter(pk=worker.pk).update(lost_at=now, n_lost=n_lost)
        log.warning("game server %s was lost by a player, %d times in a row", worker.node, n_lost)


@transaction.atomic
def stop_if_faulty(name: str, *, now: datetime) -> bool:
    """Put a server into quarantine that is at fault again and again; False: it is not, or is there.

    Counted over its last matches, each by its newest attempt, and since it was trusted again.
    """
    worker = Worker.objects.filter(node=name, quarantined_at=None).first()
    if worker is None:
        return False
    judged = _read_last_matches(worker)
    faults = [attempt for attempt in judged if attempt.reason == Reason.SERVER_FAULT]
    in_a_row = judged[:FAULTS_IN_A_ROW]
    is_in_a_row = len(in_a_row) == FAULTS_IN_A_ROW and faults[:FAULTS_IN_A_ROW] == in_a_row
    if not is_in_a_row and len(faults) < MAX_FAULTS:
        return False
    is_in_a_row = is_in_a_row and _are_believed(in_a_row, now=now)
    if not is_in_a_row and not (len(faults) >= MAX_FAULTS and _are_believed(faults, now=now)):
        log.warning("faults of game server %s are told by %s alone", name, faults[0].node)
        return False
    count = f"{len(faults)} of its last {len(judged)} matches"
    if is_in_a_row:
        count = f"{FAULTS_IN_A_ROW} matches in a row"
    match_ids = ", ".join(str(attempt.match_id) for attempt in faults[:MAX_NAMED])
    last = f"last, as {faults[0].node} reports: {faults[0].detail}"
    reason = f"its answers were faulty in {count} ({match_ids}); {last}"[:500]
    return quarantine_worker(worker, actor=CONTROL, reason=reason, now=now)


def _are_believed(faults: Sequence[Attempt], *, now: datetime) -> bool:
    """Say whether two nodes tell of these faults, or one that is the only one to play such matches.

    Else a single node that lies, or is broken, would stop every server that it is dealt. Of a
    server that is bad another node tells the same as soon as it plays there.
    """
    if len({attempt.node for attempt in faults}) > 1:
        return True
    match = faults[0].match
    needs, files = Needs(match.needs), list_files(match.tournament)
    able = [
        n.node
        for n in list_alive_workers(now=now)
        if needs.are_met_by(n.capabilities)
        and reads_orders(n.versions, needs)
        and has_files(n.plugins, files)
    ]
    return set(able) <= {faults[0].node}


def _read_last_matches(worker: Worker) -> list[Attempt]:
    """Return the attempts that tell something of a server, one per match, the newest first."""
    served = Attempt.objects.filter(Attempt.is_served(), server=worker.node).order_by("-id")[:_READ]
    since = worker.trusted_at
    by_match: dict[int, Attempt] = {}
    for attempt in served:
        is_telling = attempt.ending in _TELLING or attempt.reason == Reason.SERVER_FAULT
        if is_telling and (since is None or attempt.ended_at >= since):
            by_match.setdefault(attempt.match_id, attempt)
    return list(by_match.values())[:LAST]


def count_matches(name: str) -> str:
    """Return in words how many finished matches a server played, counted up to a limit."""
    attempts = Attempt.objects.filter(Attempt.is_served(), server=name, ending__in=_TELLING)
    n = attempts[: 10 * _READ + 1].count()
    return f"more than {n - 1:,} matches" if n > 10 * _READ else format_count(n, "match", "matches")
