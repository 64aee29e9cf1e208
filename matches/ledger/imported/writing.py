"""Write the rows of a file that was checked: matches that are over, a slice at a time."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from django.db import IntegrityError, connection, transaction
from django.db.models import F

from arena.needs import CPU
from matches import dispatch
from matches.errors import ConflictError
from matches.ledger.imported.checking import Sheet
from matches.ledger.imported.columns import RANKS
from matches.ledger.tournaments import finish_if_closed
from matches.models import (
    IMPORTED,
    ImportBatch,
    ImportedKey,
    Leaderboard,
    Match,
    Outcome,
    Seat,
    Tournament,
    Uncounted,
)
from matches.store.bulk import insert_rows, split_batches

SLICE: Final = 2_000
"""Rows of one transaction: a tenth of a second of the write lock."""


def write_rows(
    batch: ImportBatch, sheet: Sheet, ids: Sequence[str], rows: Sequence[int], *, now: datetime
) -> int:
    """Write rows in slices; return how many."""
    key_of = {row: key for key, row in sheet.keys.items()}
    for part in split_batches(rows, SLICE):
        try:
            _write_slice(batch, sheet, ids, part, key_of, now=now)
        except IntegrityError as error:
            detail = "some of its keys were imported meanwhile: send it again"
            raise ConflictError(f"{batch.file_name}: {detail}") from error
    finish_if_closed([batch.tournament_id], now=now)
    batch.finished_at = now
    batch.save(update_fields=("finished_at",))
    return len(rows)


@transaction.atomic
def _write_slice(
    batch: ImportBatch,
    sheet: Sheet,
    ids: Sequence[str],
    rows: Sequence[int],
    key_of: Mapping[int, str],
    *,
    now: datetime,
) -> None:
    tournament, n_rows = batch.tournament, len(rows)
    # The conditional UPDATE is the lock: of two calls with one file, one writes the slice.
    is_mine = Tournament.objects.filter(
        pk=tournament.pk, n_planned=tournament.n_planned, state=Tournament.State.RUNNING
    ).update(n_planned=F("n_planned") + n_rows, n_done=F("n_done") + n_rows)
    if not is_mine:
        raise ConflictError(f"{batch.file_name} is imported by another call, or was cancelled")
    tournament.n_planned += n_rows
    matches = _insert_matches(batch, sheet, ids, rows)
    insert_rows(
        Seat,
        ("match_id", "seat", "agent_id"),
        [
            (match, seat, int(ids[at[row]]))
            for (match, _), row in zip(matches, rows, strict=True)
            for seat, at in enumerate((sheet.first, sheet.second))
        ],
    )
    stamp = connection.ops.adapt_datetimefield_value(now)
    columns = ("match_id", "ranks", "is_forfeit", "guilty_seat", "reason", "attempt", "actions")
    insert_rows(
        Outcome,
        (*columns, "recorded_at"),
        [
            (match, RANKS[sheet.result[row]], False, -1, IMPORTED, 0, "", stamp)
            for (match, _), row in zip(matches, rows, strict=True)
        ],
    )
    insert_rows(
        Uncounted,
        ("match_id", "leaderboard_id", "sequence", "is_counted"),
        [(match, batch.leaderboard_id, sequence, False) for match, sequence in matches],
    )
    if key_of:
        insert_rows(
            ImportedKey,
            ("match_id", "leaderboard_id", "key"),
            [
                (match, batch.leaderboard_id, key_of[row])
                for (match, _), row in zip(matches, rows, strict=True)
            ],
        )
    transaction.on_commit(dispatch.wake_rater)


def _insert_matches(
    batch: ImportBatch, sheet: Sheet, ids: Sequence[str], rows: Sequence[int]
) -> list[tuple[int, int]]:
    """Write matches that are over; return (id, number) of each."""
    board, tournament = batch.leaderboard_id, batch.tournament_id
    boards = Leaderboard.objects.filter(pk=board)
    # The row stays locked until the commit: nobody else takes these numbers meanwhile.
    boards.update(next_sequence=F("next_sequence") + len(rows))
    first = boards.values_list("next_sequence", flat=True).get() - len(rows)
    # Nobody knows its game seed: a number that no other match has makes it a block of its own.
    seeds = tournament << 32
    written = ("lineup", "needs", "state", "attempt", "void_reason")
    insert_rows(
        Match,
        ("leaderboard_id", "tournament_id", "sequence", "block", "rotation", "game_seed", *written),
        [
            (
                *(board, tournament, sequence, row, 0, seeds + row),
                f"{ids[sheet.first[row]]},{ids[sheet.second[row]]}",
                *(CPU, Match.State.DONE.value, 0, ""),
            )
            for sequence, row in enumerate(rows, first)
        ],
    )
    numbered = Match.objects.filter(
        leaderboard=board, sequence__gte=first, sequence__lt=first + len(rows)
    )
    return list(numbered.order_by("sequence").values_list("pk", "sequence"))
