"""Record what nodes report. Every byte of a report is hostile until its tokens are checked."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import msgspec
from django.db import connection, transaction
from django.db.models import F

from arena.errors import MessageError
from arena.games import registry as games
from arena.games.base import forfeit_ranks
from arena.messages import (
    Alive,
    Checked,
    Ending,
    Mark,
    Reason,
    Report,
    ResultRow,
    Results,
    Started,
    match_token,
    play_queue,
    read_report,
)
from arena.teams import Teams, by_team
from matches import dispatch
from matches.leases import PLAYING_LEASE
from matches.models import Attempt, Match, Order, Outcome, Tournament, Uncounted
from matches.models.match import joined
from matches.services import checks, marks, nodes, provenance, reuse, tallies, trajectories
from matches.services.attempts import Ended, give_back, write_attempts
from matches.services.locks import lock_matches_in_flight, lock_orders
from matches.services.rows import among, insert_rows
from matches.services.tournaments import finish_if_closed
from matches.titles import game_problem
from matches.tokens import is_same, tournament_secret

log = logging.getLogger(__name__)

_MS = 1_000
# How much of the measured length of a match comes from the newest report.
NEWEST_WEIGHT = 0.3
# Plain strings, because a row read as values has no enum.
NEEDS_PROOF = frozenset((Reason.TIMEOUT, Reason.CRASH))
"""Of a failed attempt: may have been the machine's, unless another attempt ends with the same."""
_OPEN = frozenset(state.value for state in Match.OPEN)
_CLOSING = frozenset((Ending.DONE, Ending.FORFEIT))
_IN_FLIGHT = frozenset(state.value for state in Match.IN_FLIGHT)


@dataclass(frozen=True)
class Recorded:
    """What a report changed: matches closed, tried again, and rows that changed nothing."""

    n_closed: int = 0
    n_given_back: int = 0
    n_refused: int = 0


class OpenMatch(NamedTuple):
    """What the recorder must know of a match."""

    pk: int
    leaderboard: int
    sequence: int
    n_seats: int
    teams: Teams
    state: str
    attempt: int


@dataclass
class _Sorted:
    """The rows of a report by what they do."""

    closing: list[tuple[OpenMatch, ResultRow]] = field(default_factory=list)
    given_back: list[ResultRow] = field(default_factory=list)
    n_refused: int = 0


def receive(wire: object, *, now: datetime) -> Recorded:
    """Record a report as it came off the queue; refuse one that has not its form."""
    try:
        report = read_report(wire)
    except MessageError as error:
        log.warning("refused: %s", error)
        return Recorded(n_refused=1)
    recorded = record(report, now=now)
    tallies.flush(now=now)
    return recorded


def record(report: Report, *, now: datetime) -> Recorded:
    """Store one report; safe to deliver twice, late or in any order. `now`: database clock."""
    if isinstance(report, Alive | Started | Results) and not provenance.is_genuine(
        report, provenance.read_keys([report])
    ):
        provenance.note_forged(report, now=now)
        return Recorded(n_refused=max(1, len(getattr(report, "results", ()))))
    match report:
        case Alive():
            nodes.note_alive(report, now=now)
        case Started():
            nodes.note_started(report, now=now)
        case Mark():
            marks.note(report)
        case Checked():
            checks.note(report, now=now)
        case Results():
            return _record_results(report, now=now)
    return Recorded()


def _record_results(report: Results, *, now: datetime) -> Recorded:
    """Check the tokens, then store: what costs time and needs no lock comes before the lock."""
    orders = Order.objects.select_related("tournament__leaderboard")
    order = orders.filter(uuid=report.order).first()
    if order is None:
        log.warning("results of an unknown order %s from %s refused", report.order, report.node)
        return Recorded(n_refused=len(report.results))
    if problem := game_problem(order.tournament.leaderboard.game):
        # Without the game nobody can say who shares a rank; the order is played again later.
        log.warning("results of order %s refused: %s", report.order, problem)
        return Recorded(n_refused=len(report.results))
    if nodes.is_quarantined(report.node, order.node):
        log.warning("results of %s refused: it is in quarantine", report.node)
        return _refuse_all(report, order, now=now)
    rows = _with_trajectories(list(_genuine(report.results, order.tournament)), order.tournament)
    genuine = {row.match: row for row in rows}
    return _store(report, order, genuine, now=now)


@transaction.atomic
def _refuse_all(report: Results, order: Order, *, now: datetime) -> Recorded:
    """Count the results of a node in quarantine as refused; its order is played elsewhere."""
    Tournament.objects.filter(pk=order.tournament_id).update(
        n_refused=F("n_refused") + len(report.results)
    )
    nodes.take_back(order, now=now)
    return Recorded(n_refused=len(report.results))


@transaction.atomic
def _store(
    report: Results, order: Order, genuine: dict[int, ResultRow], *, now: datetime
) -> Recorded:
    tournament = order.tournament
    lock_orders([order.pk])
    lock_matches_in_flight([order.pk] if report.is_last else [], more=list(genuine))
    by_kind = _sorted_rows(genuine, tournament)
    by_kind.n_refused += len(report.results) - len(genuine)
    _close(by_kind.closing, tournament, node=report.node, now=now)
    ended = [_ended(row, report.node) for row in by_kind.given_back]
    n_void = give_back(tournament.pk, ended, now=now)
    n_returned = _update_order(order, report, now=now)
    _update_tournament(tournament, by_kind)
    finish_if_closed([tournament.pk], now=now)
    if by_kind.closing or n_void:
        transaction.on_commit(dispatch.wake_rater)
    transaction.on_commit(dispatch.wake_relay)
    return Recorded(len(by_kind.closing), len(ended) + n_returned, by_kind.n_refused)


def _sorted_rows(genuine: dict[int, ResultRow], tournament: Tournament) -> _Sorted:
    """Sort rows: the first valid one of an open match closes it, whichever attempt it is from."""
    matches = _read_matches(list(genuine), tournament)
    by_kind = _Sorted(n_refused=len(genuine))
    earlier = _other_suspicions(list(genuine.values()))
    for number, row in genuine.items():
        match = matches.get(number)
        if match is None or match.state not in _OPEN or row.attempt > match.attempt:
            continue
        settled = _charged(row, match, earlier)
        if settled.ending in _CLOSING:
            if not _has_valid_ranks(settled, match):
                continue
            by_kind.closing.append((match, settled))
        elif row.attempt == match.attempt and match.state in _IN_FLIGHT:
            by_kind.given_back.append(row)
        else:
            continue
        by_kind.n_refused -= 1
    return by_kind


def _read_matches(numbers: Sequence[int], tournament: Tournament) -> dict[int, OpenMatch]:
    """Return the matches of these numbers that are of the tournament."""
    # Not filtered by tournament: SQLite would then read all of its matches instead of these.
    locked = Match.objects.filter(pk__in=among(numbers))
    columns = ("pk", "leaderboard_id", "sequence", "lineup", "state", "attempt", "tournament_id")
    teams = games.get(tournament.leaderboard.game).spec.teams
    return {
        pk: OpenMatch(pk, board, sequence, lineup.count(",") + 1, teams, state, attempt)
        for pk, board, sequence, lineup, state, attempt, of in locked.values_list(*columns)
        if of == tournament.pk
    }


def _genuine(results: Sequence[ResultRow], tournament: Tournament) -> Iterator[ResultRow]:
    """Yield the first row of each match that comes with its token."""
    secret = tournament_secret(tournament)
    seen = set[int]()
    for row in results:
        if row.match in seen:
            continue
        if is_same(match_token(secret, row.match, row.attempt), row.token):
            seen.add(row.match)
            yield row
        else:
            log.warning("result of match %s without its token refused", row.match)


def _with_trajectories(rows: Sequence[ResultRow], tournament: Tournament) -> list[ResultRow]:
    """Return the rows with trajectories that are stored; an outcome without its own is none.

    Only a seat that forfeits may leave nothing: it may have taken its player with it.
    """
    named = {row.trajectory for row in rows if row.trajectory}
    keeps = tournament.keeps_trajectories
    stored = trajectories.stored(tournament, named) if keeps else set[str]()
    return [
        row if row.trajectory in stored else _without_trajectory(row, is_wanted=keeps)
        for row in rows
    ]


def _without_trajectory(row: ResultRow, *, is_wanted: bool) -> ResultRow:
    if not (is_wanted and row.ending is Ending.DONE):
        return msgspec.structs.replace(row, trajectory="") if row.trajectory else row
    return msgspec.structs.replace(
        row,
        ending=Ending.FAILED,
        reason=Reason.ERROR,
        ranks=[],
        trajectory="",
        detail=f"its trajectory is not stored: {row.trajectory or 'none was put'}",
    )


def _other_suspicions(rows: Sequence[ResultRow]) -> set[tuple[int, int, str]]:
    """Return (match, seat, reason) of what needs proof, of other attempts than the reported ones.

    Other ones, because a report may come twice: the same attempt is no proof of itself.
    """
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
        if number != suspected[match].attempt
    }


def _needs_proof(row: ResultRow) -> bool:
    return row.reason in NEEDS_PROOF and row.seat >= 0


def _charged(row: ResultRow, match: OpenMatch, earlier: set[tuple[int, int, str]]) -> ResultRow:
    """Return the row as it counts: a forfeit's ranks are ours, a repeated suspicion is one."""
    is_repeated = _needs_proof(row) and (row.match, row.seat, row.reason.value) in earlier
    if (row.ending is Ending.FORFEIT or is_repeated) and 0 <= row.seat < match.n_seats:
        ranks = forfeit_ranks(row.seat, match.n_seats, match.teams)
        return msgspec.structs.replace(row, ending=Ending.FORFEIT, ranks=ranks)
    return row


def _has_valid_ranks(row: ResultRow, match: OpenMatch) -> bool:
    if _are_ranks(tuple(row.ranks), match.n_seats, match.teams):
        return True
    log.warning("result of match %s with ranks %s refused", row.match, row.ranks)
    return False


@lru_cache(maxsize=1_024)
def _are_ranks(ranks: tuple[int, ...], n_seats: int, teams: Teams) -> bool:
    """Say whether every rank is the number of seats that are better, and team mates share one."""
    if len(ranks) != n_seats or any(r != sum(other < r for other in ranks) for r in ranks):
        return False
    return not teams or all(len(set(shared)) == 1 for shared in by_team(teams, ranks))


def _close(
    closing: Sequence[tuple[OpenMatch, ResultRow]],
    tournament: Tournament,
    *,
    node: str,
    now: datetime,
) -> None:
    if not closing:
        return
    stamp = connection.ops.adapt_datetimefield_value(now)
    Match.objects.filter(
        pk__in=among([match.pk for match, _ in closing]),
        state__in=Match.sources(Match.State.DONE),
    ).update(state=Match.State.DONE)
    write_attempts((_ended(row, node) for _, row in closing), now=now)
    columns = ("match_id", "ranks", "is_forfeit", "guilty_seat", "reason", "attempt", "actions")
    insert_rows(
        Outcome,
        (*columns, "trajectory", "recorded_at"),
        [
            (
                *(match.pk, joined(row.ranks), row.ending is Ending.FORFEIT, _guilty(row)),
                *(row.reason.value, row.attempt, row.actions, row.trajectory, stamp),
            )
            for match, row in closing
        ],
    )
    if tournament.is_rated:
        repeated = reuse.link_repeated(tournament, dict(_repeatable(closing)))
        new = [match for match, _ in closing if match.pk not in repeated]
        insert_rows(
            Uncounted,
            ("match_id", "leaderboard_id", "sequence", "is_counted"),
            [(match.pk, match.leaderboard, match.sequence, False) for match in new],
        )


def _repeatable(closing: Sequence[tuple[OpenMatch, ResultRow]]) -> Iterator[tuple[int, str]]:
    """Yield the matches, with their ranks, that would come out so on every machine."""
    for match, row in closing:
        if not (row.ending is Ending.FORFEIT and row.reason.value in reuse.UNREPEATABLE):
            yield match.pk, joined(row.ranks)


def _guilty(row: ResultRow) -> int:
    return row.seat if row.ending is Ending.FORFEIT else -1


def _ended(row: ResultRow, node: str) -> Ended:
    return Ended(
        match=row.match,
        number=row.attempt,
        ending=row.ending.value,
        reason=row.reason.value,
        seat=max(-1, min(row.seat, 32_767)),
        detail=row.detail,
        node=node,
        n_steps=row.n_steps,
        duration_ms=round(row.duration_ms),
    )


def _update_order(order: Order, report: Results, *, now: datetime) -> int:
    """Note what the node has in hand; with its last report, give back what it did not play."""
    if order.state not in Order.OPEN or not _has_in_hand(order, report.node):
        return 0
    n_returned = nodes.end_order(order, report, now=now) if report.is_last else 0
    if not report.is_last:
        Order.objects.filter(pk=order.pk, state__in=Order.OPEN).update(
            executing=report.executing[: order.n_matches],
            deadline_at=_deadline(order, now + PLAYING_LEASE),
        )
    return n_returned


def _has_in_hand(order: Order, node: str) -> bool:
    """Say whether an order is with a node: nobody else closes it or keeps it open."""
    return order.node == node if order.node else order.queue == play_queue(node)


def _deadline(order: Order, wanted: datetime) -> datetime:
    return min(wanted, order.hard_deadline_at) if order.hard_deadline_at else wanted


def _update_tournament(tournament: Tournament, by_kind: _Sorted) -> None:
    n_forfeits = sum(row.ending is Ending.FORFEIT for _, row in by_kind.closing)
    Tournament.objects.filter(pk=tournament.pk).update(
        n_done=F("n_done") + len(by_kind.closing),
        n_forfeits=F("n_forfeits") + n_forfeits,
        n_refused=F("n_refused") + by_kind.n_refused,
        played_s=F("played_s") + _length_s(by_kind.closing),
        mean_match_s=_mean_match_s(tournament, by_kind.closing),
    )


def _length_s(closing: Sequence[tuple[OpenMatch, ResultRow]]) -> float:
    return sum(row.duration_ms for _, row in closing) / _MS


def _mean_match_s(
    tournament: Tournament, closing: Sequence[tuple[OpenMatch, ResultRow]]
) -> float | None:
    if not closing:
        return tournament.mean_match_s
    newest = _length_s(closing) / len(closing)
    if tournament.mean_match_s is None:
        return newest
    return NEWEST_WEIGHT * newest + (1 - NEWEST_WEIGHT) * tournament.mean_match_s
