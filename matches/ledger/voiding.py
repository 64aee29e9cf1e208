"""Declare matches void for a reason, and have void ones played again.

Locks are taken in the order matches, tournaments, leaderboards: as the recorder and the planner do.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Case, F, Value, When

from matches import dispatch
from matches.errors import BadInputError, ConflictError
from matches.ledger import planning
from matches.ledger.planning import PlannedMatch
from matches.ledger.tournaments import finish_if_closed, refuse_imported
from matches.models import (
    Leaderboard,
    Match,
    Outcome,
    Replacement,
    Score,
    Tournament,
    Uncounted,
    Voiding,
)
from matches.models.match import parse_numbers
from matches.ratings.tournament_counts import forget_counts
from matches.store import auditing
from matches.store.auditing import Actor, Target
from matches.store.bulk import among

MAX_AT_ONCE = 10_000
BY_PEOPLE = "operator"
"""The reason code of a match that people declared void; theirs stands in Voiding."""

_OPEN = frozenset(state.value for state in Match.OPEN)
_STATES = Tournament.State


@dataclass(frozen=True)
class VoidResult:
    """What a call changed."""

    n_open: int
    """Matches that were not over: later reports of them are refused."""
    n_struck: int
    """Matches that had an outcome, which is kept and counts no more."""
    n_unchanged: int
    """Matches that were void or cancelled before."""
    leaderboards: tuple[str, ...]
    """Those that are rated again."""


@dataclass(frozen=True)
class RequeueResult:
    """What a call changed: the new match of each void one, also where there was one before."""

    replacements: dict[int, int]
    n_new: int


class Row(NamedTuple):
    """A match as it is declared void or planned again."""

    pk: int
    state: str
    leaderboard: int
    tournament: int
    block: int
    rotation: int
    game_seed: int
    lineup: str


@transaction.atomic
def void_matches(
    match_ids: Sequence[int], *, actor: Actor, reason: str, now: datetime
) -> VoidResult:
    """Declare matches void, and with them their copies: matches that were the same game again.

    Doing it again changes nothing; an outcome stays as it is. Raises BadInputError without a
    reason, for too many matches or one that is not there.
    """
    why = auditing.check_reason(reason)
    rows = _read_rows(_add_copies(match_ids), is_locked=True)
    opened = [row for row in rows if row.state in _OPEN]
    done = [row for row in rows if row.state == Match.State.DONE]
    _mark_void(opened, actor=actor, reason=why, now=now, was_done=False)
    _mark_void(done, actor=actor, reason=why, now=now, was_done=True)
    _move_counters(opened, done, now=now)
    boards = _strike_outcomes(done)
    forget_counts({row.tournament for row in done})
    voided = VoidResult(len(opened), len(done), len(rows) - len(opened) - len(done), boards)
    touched = [(_describe_target(row), {"was": row.state}) for row in (*opened, *done)]
    auditing.add_audit_rows("match.void", touched, actor=actor, reason=why, now=now)
    transaction.on_commit(dispatch.wake_rater)
    transaction.on_commit(dispatch.wake_relay)
    return voided


@transaction.atomic
def requeue_matches(
    match_ids: Sequence[int], *, actor: Actor, reason: str, now: datetime
) -> RequeueResult:
    """Have void matches played again: same agents, seats, block and game seed, a new number.

    One that has a replacement keeps it. Raises BadInputError as `void_matches` does, ConflictError
    for a match that is not void and for one of a cancelled tournament.
    """
    why = auditing.check_reason(reason)
    rows = _read_rows(match_ids, is_locked=True)
    for row in rows:
        if row.state != Match.State.VOID:
            raise ConflictError(f"match {row.pk} is {row.state}: declare it void first")
    refuse_imported({row.tournament for row in rows})
    owners = Tournament.objects.filter(pk__in=among(sorted({row.tournament for row in rows})))
    for tournament in owners.filter(state=_STATES.CANCELLED)[:1]:
        raise ConflictError(f"tournament {tournament.pk} is cancelled: schedule a new one")
    replaced = Replacement.objects.filter(pk__in=among([row.pk for row in rows]))
    earlier_replacements = dict(replaced.values_list("replaced_id", "match_id"))
    fresh = [row for row in rows if row.pk not in earlier_replacements]
    replacements: dict[int, int] = {}
    for pk in sorted({row.tournament for row in fresh}):
        replacements |= _replace_matches(
            pk, [row for row in fresh if row.tournament == pk], now=now
        )
    touched = [(_describe_target(row), {"replacement": replacements[row.pk]}) for row in fresh]
    auditing.add_audit_rows("match.requeue", touched, actor=actor, reason=why, now=now)
    transaction.on_commit(dispatch.wake_relay)
    return RequeueResult({**earlier_replacements, **replacements}, len(replacements))


def _add_copies(match_ids: Sequence[int]) -> list[int]:
    """Return the matches and their copies, which have their outcomes."""
    linked = newest = set(match_ids)
    while newest:
        copies = Match.objects.filter(same_as__in=among(sorted(newest)))
        newest = set(copies.values_list("pk", flat=True)) - linked
        linked = linked | newest
    return sorted(linked)


def _read_rows(match_ids: Sequence[int], *, is_locked: bool = False) -> list[Row]:
    """Return the matches in the order of their keys, on demand locked until the commit."""
    if not 1 <= len(match_ids) <= MAX_AT_ONCE:
        raise BadInputError("matches", f"give 1 to {MAX_AT_ONCE} matches, got {len(match_ids)}")
    matches = Match.objects.filter(pk__in=among(sorted(set(match_ids)))).order_by("pk")
    if is_locked and connection.features.has_select_for_update:
        matches = matches.select_for_update()
    columns = ("pk", "state", "leaderboard_id", "tournament_id", "block", "rotation", "game_seed")
    rows = [Row(*row) for row in matches.values_list(*columns, "lineup")]
    missing = sorted(set(match_ids) - {row.pk for row in rows})
    if missing:
        raise BadInputError("matches", f"there is no match {', '.join(map(str, missing[:5]))}")
    return rows


def _mark_void(
    rows: Sequence[Row], *, actor: Actor, reason: str, now: datetime, was_done: bool
) -> None:
    fields: dict[str, object] = {} if was_done else {"order": None}
    Match.objects.filter(
        pk__in=among([row.pk for row in rows]), state__in=Match.sources(Match.State.VOID)
    ).update(state=Match.State.VOID, void_reason=BY_PEOPLE, **fields)
    Voiding.objects.bulk_create(
        (
            Voiding(match_id=row.pk, at=now, actor=actor.name, reason=reason, was_done=was_done)
            for row in rows
        ),
        batch_size=500,
    )


def _move_counters(opened: Sequence[Row], done: Sequence[Row], *, now: datetime) -> None:
    """Move the matches within the counters of their tournaments, in the order of the keys."""
    n_open, n_done = (Counter(row.tournament for row in rows) for rows in (opened, done))
    forfeited = Outcome.objects.filter(pk__in=among([row.pk for row in done]), is_forfeit=True)
    forfeits = set(forfeited.values_list("pk", flat=True))
    n_forfeits = Counter(row.tournament for row in done if row.pk in forfeits)
    tournaments = sorted({*n_open, *n_done})
    for pk in tournaments:
        Tournament.objects.filter(pk=pk).update(
            n_void=F("n_void") + n_open[pk] + n_done[pk],
            n_done=F("n_done") - n_done[pk],
            n_forfeits=F("n_forfeits") - n_forfeits[pk],
        )
    finish_if_closed(tournaments, now=now)


def _strike_outcomes(done: Sequence[Row]) -> tuple[str, ...]:
    """Remove the outcomes from the ratings; return the boards that had counted some."""
    tournaments = Tournament.objects.filter(
        pk__in=among(sorted({row.tournament for row in done})), is_rated=True
    )
    rated_tournaments = set(tournaments.values_list("pk", flat=True))
    rated = [row for row in done if row.tournament in rated_tournaments]
    names = []
    for pk in sorted({row.leaderboard for row in rated}):
        board = Leaderboard.objects.select_for_update().get(pk=pk)
        ids = [row.pk for row in rated if row.leaderboard == pk]
        # What the rater has not counted yet is only removed; the rest needs a fit from the start.
        waiting = Uncounted.objects.filter(match__in=among(ids))
        n_uncounted = waiting.filter(is_counted=False).count()
        waiting.delete()
        Score.objects.filter(pk__in=among(ids)).delete()
        if n_uncounted < len(ids):
            Leaderboard.objects.filter(pk=pk).update(n_rerates_asked=F("n_rerates_asked") + 1)
            names.append(board.name)
    if names:
        transaction.on_commit(dispatch.wake_rerater)
    return tuple(names)


def _replace_matches(pk: int, rows: Sequence[Row], *, now: datetime) -> dict[int, int]:
    """Have a tournament go on with new matches in the place of these; return their numbers."""
    was_done = When(state=_STATES.DONE, then=Value(_STATES.RUNNING.value))
    # Not by the state that was read before: it may have been cancelled meanwhile.
    open_one = Tournament.objects.filter(pk=pk).exclude(state=_STATES.CANCELLED)
    if not open_one.update(
        n_void=F("n_void") - len(rows),
        n_replaced=F("n_replaced") + len(rows),
        state=Case(was_done, default=F("state")),
        finished_at=None,
    ):
        raise ConflictError(f"tournament {pk} is cancelled: schedule a new one")
    # The same block and seed: the new match is what the void one would have been.
    planned = [PlannedMatch((), row.block, row.rotation, row.game_seed) for row in rows]
    lineups = [parse_numbers(row.lineup) for row in rows]
    new_keys = planning.write_matches(Tournament.objects.get(pk=pk), planned, lineups)
    pairs = {row.pk: new for row, new in zip(rows, new_keys, strict=True)}
    Replacement.objects.bulk_create(
        (Replacement(replaced_id=old, match_id=new, at=now) for old, new in pairs.items()),
        batch_size=500,
    )
    return pairs


def _describe_target(row: Row) -> Target:
    return Target("match", row.pk, f"match {row.pk} ({row.state})")
