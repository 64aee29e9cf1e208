"""Import results that were played elsewhere into a leaderboard: a whole file or nothing.

A row is known again by its key, where the file has such a column; else by its file and its place
there, for the same two names and the same result may well come twice. So the same file twice
changes nothing, with keys also a longer one adds only what is new.

The file is checked before the first row is written. Then rows go in slices, a transaction each:
one for all would hold the write lock of SQLite for a minute. What a lost process leaves half done
goes on where it stopped when the same file comes again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from django.db import IntegrityError, transaction

from arena.checkpoints import MAX_BYTES, hash_file
from arena.games import registry as games
from arena.pairing.base import COUPLE
from matches.errors import BadInputError, ConflictError
from matches.ledger.imported.checking import (
    Sheet,
    find_agents,
    find_known_rows,
    read_sheet,
    refuse_spellings,
    refuse_unknown_agents,
)
from matches.ledger.imported.columns import RANKS
from matches.ledger.imported.readers import open_results
from matches.ledger.imported.writing import write_rows
from matches.ledger.tournaments import enter_agents
from matches.models import (
    IMPORTED,
    Agent,
    Entrant,
    ImportBatch,
    ImportedKey,
    Leaderboard,
    Tournament,
)
from matches.ratings.results_files import is_seated_second
from matches.store import auditing
from matches.store.auditing import Actor
from matches.store.catalog import game_problem

_AT_ONCE: Final = 500
_MAX_NAME: Final = 120


@dataclass(frozen=True)
class SentFile:
    """A file as it was sent. columns: by part of a row, where the usual names do not hold.

    adds_agents: whether names that are no agents of the game become imported ones, which are rated
    and never played.
    """

    path: Path
    name: str
    form: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    adds_agents: bool = False


class ImportedBatch(NamedTuple):
    """The batch that holds the rows of a file, and how many of them are new."""

    batch: ImportBatch
    n_new: int


class CheckedSheet(NamedTuple):
    """A file whose rows may be written: its agents that are here, and the rows that are."""

    sheet: Sheet
    agents: Mapping[str, int]
    known: set[int]


def import_results(
    board: Leaderboard, file: SentFile, *, actor: Actor, now: datetime
) -> ImportedBatch:
    """Return the batch that holds the results of a file; its new rows are on the leaderboard.

    Raises BadInputError and BadRowsError, and then nothing is imported; ConflictError where another
    call imports the same.
    """
    _check_board(board)
    _refuse_while_striking(board)
    if file.path.stat().st_size > MAX_BYTES:
        raise BadInputError("file", f"it has more than {MAX_BYTES:,} bytes: split it")
    sha256 = hash_file(file.path)
    earlier = ImportBatch.objects.filter(leaderboard=board, sha256=sha256, struck_at=None).first()
    if earlier is not None:
        _check_columns(earlier, file)
        if earlier.finished_at is not None and not earlier.n_known:
            return ImportedBatch(earlier, 0)
    columns = file.columns if earlier is None else earlier.columns
    opened = open_results(file.path, name=file.name, form=file.form, mapped=columns)
    sheet = read_sheet(opened)
    if is_seated_second(board, opened.columns.first):
        sheet.change_seats()
    checked = _check_sheet(sheet, board, adds_agents=file.adds_agents)
    if earlier is not None and earlier.finished_at is not None:
        _refuse_lost_rows(earlier, checked)
        return ImportedBatch(earlier, 0)
    if earlier is None and len(checked.known) == len(sheet):
        return ImportedBatch(_find_batch_of(board, sheet), 0)
    try:
        batch = earlier or _begin_batch(board, file, checked, sha256=sha256, actor=actor, now=now)
    except IntegrityError as error:
        # Of two calls with one file, or with one new agent, the database lets one begin.
        raise ConflictError(f"{file.name} is imported by another call: send it again") from error
    # Those that were added are agents now.
    ids = _list_ids(sheet, find_agents(sheet, game=board.game))
    start = 0 if sheet.keys else batch.tournament.n_planned
    rows = [row for row in range(start, len(sheet)) if row not in checked.known]
    return ImportedBatch(batch, write_rows(batch, sheet, ids, rows, now=now))


def _refuse_while_striking(board: Leaderboard) -> None:
    """Raise ConflictError while results of a struck import still count: they would count twice."""
    struck = ImportBatch.objects.filter(leaderboard=board, struck_at__isnull=False)
    half = struck.filter(tournament__n_done__gt=0).first()
    if half is not None:
        detail = f"{half.tournament.n_done:,} of its results still count"
        raise ConflictError(f"{half} is being struck, {detail}: strike it again, or wait")


def _refuse_lost_rows(batch: ImportBatch, checked: CheckedSheet) -> None:
    """Raise ConflictError where rows were known by another import that was struck since."""
    n_lost = len(checked.sheet) - len(checked.known)
    if n_lost:
        detail = f"{n_lost:,} of its rows were known by an import that is struck since"
        raise ConflictError(f"{batch}: {detail}: strike it, too, and send the file again")


def _check_columns(batch: ImportBatch, file: SentFile) -> None:
    """Raise ConflictError where the same file was imported by other columns."""
    for part, name in file.columns.items():
        if batch.columns.get(part, name) != name:
            column_read = f"{part}={batch.columns[part] or 'nothing'}"
            raise ConflictError(f"{batch} read {column_read}, not {name}: strike it before")


def _check_sheet(sheet: Sheet, board: Leaderboard, *, adds_agents: bool) -> CheckedSheet:
    """Compare a file with what is here. Raises BadRowsError."""
    agents = find_agents(sheet, game=board.game)
    if adds_agents:
        refuse_spellings(sheet, agents)
    else:
        refuse_unknown_agents(sheet, agents, game=board.game)
    ids = _list_ids(sheet, agents)
    known_rows = find_known_rows(sheet, board.pk, ids, RANKS) if sheet.keys else set()
    return CheckedSheet(sheet, agents, known_rows)


def _check_board(board: Leaderboard) -> None:
    """Raise BadInputError for a leaderboard that takes no results of two."""
    refusal = game_problem(board.game)
    if not refusal and not board.is_rated:
        refusal = "it is not rated"
    if not refusal and (spec := games.get(board.game).spec).n_seats != COUPLE:
        refusal = f"{board.game} is of {spec.n_seats} seats, and results of two can be imported"
    if refusal:
        raise BadInputError("leaderboard", f"{board.name!r}: {refusal}")


def _list_ids(sheet: Sheet, agents: Mapping[str, int]) -> list[str]:
    """Return the id of each agent of the file by its place, as a lineup has it; 0: not there."""
    ids = ["0"] * len(sheet.named_at)
    for name, place in sheet.names.items():
        if name in agents:
            ids[place] = str(agents[name])
    return ids


def _find_batch_of(board: Leaderboard, sheet: Sheet) -> ImportBatch:
    """Return the batch of the first key of a file all of whose keys are known."""
    first = ImportedKey.objects.get(leaderboard=board, key=next(iter(sheet.keys)))
    return ImportBatch.objects.get(tournament__matches=first.match_id)


@transaction.atomic
def _begin_batch(
    board: Leaderboard,
    file: SentFile,
    checked: CheckedSheet,
    *,
    sha256: str,
    actor: Actor,
    now: datetime,
) -> ImportBatch:
    """Return a new batch with its tournament and entrants, before any of its rows."""
    sheet, agents, known_rows = checked
    new_names = sorted({name.strip() for name in sheet.names} - set(agents))
    Agent.objects.bulk_create(
        (
            # Retired: it is offered to no tournament. Nothing here can play it.
            Agent(name=name, game=board.game, policy=IMPORTED, is_retired=True)
            for name in new_names
        ),
        batch_size=_AT_ONCE,
    )
    tournament = _begin_tournament(board, file, checked, now=now)
    batch = ImportBatch.objects.create(
        leaderboard=board,
        tournament=tournament,
        file_name=file.name[-200:],
        sha256=sha256,
        columns=sheet.columns._asdict(),
        n_rows=len(sheet),
        n_known=len(known_rows),
        n_new_agents=len(new_names),
        actor=actor.name,
        created_at=now,
    )
    touched = {"n_rows": len(sheet), "n_known": len(known_rows), "n_new_agents": len(new_names)}
    auditing.add_audit_row(
        "importbatch.import",
        actor=actor,
        targets=[batch],
        reason="",
        touched={"leaderboard": board.name, **touched},
        now=now,
    )
    return batch


def _begin_tournament(
    board: Leaderboard, file: SentFile, checked: CheckedSheet, *, now: datetime
) -> Tournament:
    """Return a new tournament for the rows that are not known, with the agents of all rows."""
    tournament = Tournament.objects.create(
        leaderboard=board,
        name=f"import of {file.name}"[:_MAX_NAME],
        n_matches=len(checked.sheet) - len(checked.known),
        rules_version=games.get(board.game).spec.rules_version,
        state=Tournament.State.RUNNING,
        started_at=now,
    )
    entered = _list_entrants(checked.sheet, board)
    Entrant.objects.bulk_create(
        (
            Entrant(tournament=tournament, agent=agent, position=position)
            for position, agent in enumerate(entered)
        ),
        batch_size=_AT_ONCE,
    )
    enter_agents(board, entered)
    return tournament


def _list_entrants(sheet: Sheet, board: Leaderboard) -> list[Agent]:
    """Return the agents that a file names, in the order in which it does."""
    ids = find_agents(sheet, game=board.game)
    placed = {sheet.names[name]: pk for name, pk in ids.items()}
    return [Agent(pk=placed[place]) for place in sorted(placed)]
