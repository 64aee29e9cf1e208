"""Sort the rows of a report by what they do: close a match, give it back, or nothing."""

import logging
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import msgspec

from arena.errors import InvalidReturnsError
from arena.games import registry as games
from arena.games.base import forfeit_ranks
from arena.games.base import ranks as rank_returns
from arena.message_tokens import match_token
from arena.messages import Ending, Reason, ResultRow
from arena.teams import Teams, group_by_team
from matches.artifacts import trajectories
from matches.models import Attempt, Match, Tournament
from matches.store.bulk import among
from matches.store.signing import derive_tournament_key, is_same_token

log = logging.getLogger(__name__)

NEEDS_PROOF = frozenset((Reason.TIMEOUT, Reason.CRASH))
"""Reasons that may be the machine's fault, unless another attempt ends with the same one."""
# Plain strings, because a row read as values has no enum.
_OPEN = frozenset(state.value for state in Match.OPEN)
_CLOSING = frozenset((Ending.DONE, Ending.FORFEIT))
_IN_FLIGHT = frozenset(state.value for state in Match.IN_FLIGHT)


class OpenMatch(NamedTuple):
    """A match as the recorder sees it."""

    pk: int
    leaderboard: int
    sequence: int
    n_seats: int
    teams: Teams
    state: str
    attempt: int


@dataclass
class SortedRows:
    """The rows of a report by what they do."""

    closing: list[tuple[OpenMatch, ResultRow]] = field(default_factory=list)
    given_back: list[ResultRow] = field(default_factory=list)
    n_refused: int = 0


def read_genuine_rows(results: Sequence[ResultRow], tournament: Tournament) -> dict[int, ResultRow]:
    """Return by match its first row with a valid token; without its trajectory it has failed."""
    secret = derive_tournament_key(tournament)
    genuine: dict[int, ResultRow] = {}
    for row in results:
        if row.match in genuine:
            continue
        if is_same_token(match_token(secret, row.match, row.attempt), row.token):
            genuine[row.match] = row
        else:
            log.warning("result of match %s without its token refused", row.match)
    return _check_trajectories(genuine, tournament)


def _check_trajectories(rows: dict[int, ResultRow], tournament: Tournament) -> dict[int, ResultRow]:
    """Return the rows; one whose trajectory should be stored and is not has failed."""
    keeps = tournament.keeps_trajectories
    hashes = {row.trajectory for row in rows.values() if row.trajectory}
    stored = trajectories.find_stored_pieces(tournament, hashes) if keeps else set[str]()
    checked = {}
    for number, row in rows.items():
        if keeps and row.ending is Ending.DONE and row.trajectory not in stored:
            row = msgspec.structs.replace(
                row,
                ending=Ending.FAILED,
                reason=Reason.ERROR,
                ranks=[],
                trajectory="",
                detail=f"its trajectory is not stored: {row.trajectory or 'none was put'}",
            )
        elif row.trajectory and row.trajectory not in stored:
            # Only a seat that forfeits may leave nothing: it may have taken its player with it.
            row = msgspec.structs.replace(row, trajectory="")
        checked[number] = row
    return checked


def sort_rows(genuine: dict[int, ResultRow], tournament: Tournament) -> SortedRows:
    """Sort rows: the first valid one of an open match closes it, whichever attempt it is from."""
    matches = _read_matches(list(genuine), tournament)
    by_kind = SortedRows(n_refused=len(genuine))
    earlier = _find_other_suspicions(list(genuine.values()))
    for number, row in genuine.items():
        match = matches.get(number)
        # A higher attempt is of an order that was withdrawn (relay.withdraw_order): it is none.
        if match is None or match.state not in _OPEN or row.attempt > match.attempt:
            continue
        is_repeated = _needs_proof(row) and (number, row.seat, row.reason.value) in earlier
        if (row.ending is Ending.FORFEIT or is_repeated) and 0 <= row.seat < match.n_seats:
            # The ranks of a forfeit are ours, whatever the report says.
            ranks = forfeit_ranks(row.seat, match.n_seats, match.teams)
            row = msgspec.structs.replace(row, ending=Ending.FORFEIT, ranks=ranks)
        if row.ending in _CLOSING:
            if not _is_valid(row, match):
                continue
            by_kind.closing.append((match, row))
        elif row.attempt == match.attempt and match.state in _IN_FLIGHT:
            by_kind.given_back.append(row)
        else:
            continue
        by_kind.n_refused -= 1
    return by_kind


def _read_matches(numbers: Sequence[int], tournament: Tournament) -> dict[int, OpenMatch]:
    """Return by number the matches that are of the tournament."""
    # Not filtered by tournament: SQLite would then read all of its matches instead of these.
    rows = Match.objects.filter(pk__in=among(numbers))
    columns = ("pk", "leaderboard_id", "sequence", "lineup", "state", "attempt", "tournament_id")
    teams = games.get(tournament.leaderboard.game).spec.teams
    return {
        pk: OpenMatch(pk, board, sequence, lineup.count(",") + 1, teams, state, attempt)
        for pk, board, sequence, lineup, state, attempt, owner in rows.values_list(*columns)
        if owner == tournament.pk
    }


def _find_other_suspicions(rows: Sequence[ResultRow]) -> set[tuple[int, int, str]]:
    """Return (match, seat, reason) of the suspicions that other attempts ended with."""
    suspected = {row.match: row for row in rows if _needs_proof(row)}
    if not suspected:
        return set()
    reasons = [reason.value for reason in NEEDS_PROOF]
    earlier = Attempt.objects.filter(
        match__in=among(list(suspected)), reason__in=reasons, seat__gte=0
    )
    columns = ("match_id", "seat", "reason", "number")
    return {
        (match, seat, reason)
        for match, seat, reason, number in earlier.values_list(*columns)
        # A report may come twice: the same attempt is no proof of itself.
        if number != suspected[match].attempt
    }


def _needs_proof(row: ResultRow) -> bool:
    return row.reason in NEEDS_PROOF and row.seat >= 0


def _is_valid(row: ResultRow, match: OpenMatch) -> bool:
    """Say whether its ranks are ranks, and whether a forfeit names one of the seats."""
    if not _are_ranks(tuple(row.ranks), match.n_seats, match.teams):
        log.warning("result of match %s with ranks %s refused", row.match, row.ranks)
        return False
    if not _are_returns(row, match):
        log.warning("result of match %s with returns %s refused", row.match, row.returns)
        return False
    if row.ending is Ending.FORFEIT and not 0 <= row.seat < match.n_seats:
        log.warning("forfeit of match %s by seat %s refused", row.match, row.seat)
        return False
    return True


def _are_returns(row: ResultRow, match: OpenMatch) -> bool:
    """Say whether the returns are those that the ranks follow from; only scores must be told."""
    if row.ending is not Ending.DONE or not (row.returns or match.n_seats == 1):
        return True
    try:
        return rank_returns(row.returns, match.n_seats, match.teams) == list(row.ranks)
    except InvalidReturnsError:
        return False


def read_notes(row: ResultRow) -> bytes | None:
    """Return the notes of its moves as they are stored; None where they cannot be what it says."""
    try:
        notes = b64decode(row.notes, validate=True)
    except ValueError:
        return None
    fits = len(notes) in (row.n_steps, 3 * row.n_steps)
    return notes if notes and row.actions and fits else None


@lru_cache(maxsize=1_024)
def _are_ranks(ranks: tuple[int, ...], n_seats: int, teams: Teams) -> bool:
    """Say whether every rank is the number of seats that are better, and team mates share one."""
    if len(ranks) != n_seats or any(r != sum(other < r for other in ranks) for r in ranks):
        return False
    return not teams or all(len(set(shared)) == 1 for shared in group_by_team(teams, ranks))
