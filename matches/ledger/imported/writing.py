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
from matches.models.match import read_numbers
from matches.ratings import rater
from matches.ratings.counting import Result
from matches.store.bulk import insert_rows, split_batches

SLICE: Final = 10_000
"""Rows of one transaction: half a second of the write lock; a third faster than 5,000."""
_DONE: Final = Match.State.DONE.value


def write_rows(
    batch: ImportBatch, sheet: Sheet, ids: Sequence[str], rows: Sequence[int], *, now: datetime
) -> int:
    """Write rows in slices; return how many. ids: of each agent of the file, by its place."""
    # What waits on the leaderboard comes first: then each slice is counted where it is written.
    rater.count_outcomes(batch.leaderboard_id, now=now)
    key_of = {row: key for key, row in sheet.keys.items()}
    for part in split_batches(rows, SLICE):
        try:
            _write_slice(batch, sheet, ids, part, key_of, now=now)
        except IntegrityError as error:
            detail = "some of its keys were imported meanwhile: send it again"
            raise ConflictError(f"{batch.file_name}: {detail}") from error
    _finish_batch(batch, now=now)
    # Not with each slice: all of them would be fitted one after the other.
    dispatch.wake_rater()
    return len(rows)


@transaction.atomic
def _finish_batch(batch: ImportBatch, *, now: datetime) -> None:
    """End the tournament with the rows that were written."""
    n_written = batch.tournament.n_planned
    # Fewer than when it began, where another import has brought some of its keys meanwhile.
    unchanged = Tournament.objects.filter(pk=batch.tournament_id, n_planned=n_written)
    unchanged.filter(state=Tournament.State.RUNNING).update(n_matches=n_written)
    finish_if_closed([batch.tournament_id], now=now)
    batch.n_known = batch.n_rows - n_written
    batch.finished_at = now
    batch.save(update_fields=("n_known", "finished_at"))


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
    # The row of the leaderboard stays locked until the commit: nobody else takes these numbers.
    boards = Leaderboard.objects.filter(pk=batch.leaderboard_id)
    boards.update(next_sequence=F("next_sequence") + n_rows)
    board = boards.get()
    lineups = [f"{ids[sheet.first[row]]},{ids[sheet.second[row]]}" for row in rows]
    ranks = [RANKS[sheet.result[row]] for row in rows]
    matches = _insert_matches(batch, board, rows, lineups)
    results = [
        Result(pk, sequence, False, lineup, ranked, -1, reason=IMPORTED)
        for (pk, sequence), lineup, ranked in zip(matches, lineups, ranks, strict=True)
    ]
    _insert_outcomes(results, now=now)
    if key_of:
        insert_rows(
            ImportedKey,
            ("match_id", "leaderboard_id", "key"),
            [(pk, board.pk, key_of[row]) for (pk, _), row in zip(matches, rows, strict=True)],
        )
    if not rater.count_written(board, results, now=now):
        insert_rows(
            Uncounted,
            ("match_id", "leaderboard_id", "sequence", "is_counted"),
            [(pk, board.pk, sequence, False) for pk, sequence in matches],
        )


def _insert_matches(
    batch: ImportBatch, board: Leaderboard, rows: Sequence[int], lineups: Sequence[str]
) -> list[tuple[int, int]]:
    """Write matches that are over under the newest numbers; return (id, number) of each."""
    tournament, first = batch.tournament_id, board.next_sequence - len(rows)
    # Nobody knows its game seed: a number that no other match has makes it a block of its own.
    seeds = tournament << 32
    more_columns = ("lineup", "needs", "state", "attempt", "void_reason")
    insert_rows(
        Match,
        (
            "leaderboard_id",
            "tournament_id",
            "sequence",
            "block",
            "rotation",
            "game_seed",
            *more_columns,
        ),
        [
            (board.pk, tournament, first + at, row, 0, seeds + row, lineups[at], CPU, _DONE, 0, "")
            for at, row in enumerate(rows)
        ],
    )
    numbered = Match.objects.filter(
        leaderboard=board, sequence__gte=first, sequence__lt=board.next_sequence
    )
    return list(numbered.order_by("sequence").values_list("pk", "sequence"))


def _insert_outcomes(results: Sequence[Result], *, now: datetime) -> None:
    """Write who sat where, and how it ended."""
    insert_rows(
        Seat,
        ("match_id", "seat", "agent_id"),
        [
            (result.match, seat, agent)
            for result in results
            for seat, agent in enumerate(read_numbers(result.lineup))
        ],
    )
    stamp = connection.ops.adapt_datetimefield_value(now)
    columns = ("match_id", "ranks", "is_forfeit", "guilty_seat", "reason", "attempt", "actions")
    insert_rows(
        Outcome,
        (*columns, "recorded_at"),
        [(result.match, result.ranks, False, -1, IMPORTED, 0, "", stamp) for result in results],
    )
