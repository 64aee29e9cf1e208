"""Record what nodes report. Every byte of a report is hostile until its tokens are checked."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F

from arena.errors import MessageError
from arena.messages import (
    Alive,
    BegunRow,
    Checked,
    Ending,
    Mark,
    Report,
    ResultRow,
    Results,
    Started,
    read_report,
)
from matches import dispatch
from matches.artifacts import checkpoint_checks
from matches.ledger import (
    begun_matches,
    node_presence,
    order_states,
    recorder_marks,
    reuse,
    server_checks,
    server_faults,
    server_reports,
)
from matches.ledger.attempts import EndedAttempt, give_matches_back, write_attempts
from matches.ledger.node_costs import OrderUse, book_uses
from matches.ledger.result_rows import (
    OpenMatch,
    SortedRows,
    read_genuine_rows,
    read_notes,
    sort_rows,
)
from matches.ledger.tournaments import finish_if_closed
from matches.models import Match, Order, Outcome, Tournament, Uncounted
from matches.models.match import join_numbers
from matches.nodes import report_keys
from matches.store import attempt_counters
from matches.store.bulk import among, insert_rows
from matches.store.catalog import game_problem
from matches.store.locks import lock_matches_in_flight, lock_orders

log = logging.getLogger(__name__)

_MS = 1_000
# PostgreSQL takes none in a text: one, which an agent may have its player write, would lose all
# rows of a batch, also those of other agents.
NUL = "\0"
# How much of the measured length of a match comes from the newest report.
NEWEST_WEIGHT = 0.3


@dataclass(frozen=True)
class RecordedCounts:
    """What a report changed: matches closed, tried again, and rows that changed nothing."""

    n_closed: int = 0
    n_given_back: int = 0
    n_refused: int = 0

    def __add__(self, other: "RecordedCounts") -> "RecordedCounts":
        """Return the sum of both."""
        return RecordedCounts(
            self.n_closed + other.n_closed,
            self.n_given_back + other.n_given_back,
            self.n_refused + other.n_refused,
        )


class TrustedReport(NamedTuple):
    """A report of results whose tokens are checked."""

    report: Results
    order: Order
    genuine: dict[int, ResultRow]
    begun: dict[int, BegunRow]


def record_messages(wires: Sequence[object], *, now: datetime) -> RecordedCounts:
    """Record reports as they came off the queue, the oldest first; refuse what cannot be read.

    wires: each as Celery hands it over, or read already.
    """
    reports, n_broken = list[Report](), 0
    for wire in wires:
        try:
            reports.append(wire if isinstance(wire, Report) else read_report(wire))
        except MessageError as error:
            log.warning("refused: %s", error)
            n_broken += 1
    recorded = record_reports(reports, now=now) + RecordedCounts(n_refused=n_broken)
    attempt_counters.flush_counts(now=now)
    return recorded


def record_report(report: Report, *, now: datetime) -> RecordedCounts:
    """Store one report; safe to deliver twice, late or in any order. `now`: database clock."""
    return record_reports([report], now=now)


def record_reports(reports: Sequence[Report], *, now: datetime) -> RecordedCounts:
    """Store reports, the oldest first; all results of them in one transaction."""
    recorded = RecordedCounts()
    for part in _split_at_restarts(reports):
        recorded += _record_part(part, now=now)
    return recorded


def _split_at_restarts(reports: Sequence[Report]) -> Iterator[list[Report]]:
    """Yield the reports, parted where a node was restarted in between."""
    # A sign of its life before, stored last, would take away what its new life has begun.
    part, lives = list[Report](), dict[str, set[str]]()
    for report in reports:
        if isinstance(report, Started) and lives.get(report.node, set()) - {report.incarnation}:
            yield part
            part, lives = [], {}
        elif isinstance(report, Alive):
            lives.setdefault(report.node, set()).add(report.incarnation)
        part.append(report)
    yield part


def _record_part(reports: Sequence[Report], *, now: datetime) -> RecordedCounts:
    signed = [report for report in reports if isinstance(report, Alive | Started | Results)]
    keys = report_keys.read_keys(signed) if signed else {}
    recorded, results = RecordedCounts(), list[Results]()
    signs_of_life = list[Report]()
    for report in reports:
        if isinstance(report, Alive | Started | Results) and not report_keys.is_genuine(
            report, keys
        ):
            report_keys.note_forged(report, now=now)
            recorded += RecordedCounts(n_refused=max(1, len(getattr(report, "results", ()))))
        elif isinstance(report, Started):
            node_presence.note_started(report, now=now)
        elif isinstance(report, Results):
            results.append(report)
        else:
            signs_of_life.append(report)
    recorded += _record_results(results, now=now)
    # Last: what signs of life and marks say is then true of all that came before them.
    for report in signs_of_life:
        match report:
            case Alive():
                is_refused = not node_presence.note_alive(report, now=now)
                recorded += RecordedCounts(n_refused=int(is_refused))
            case Mark():
                recorder_marks.note_mark(report)
            case Checked():
                checkpoint_checks.record_verdict(report, now=now)
    return recorded


def _record_results(reports: Sequence[Results], *, now: datetime) -> RecordedCounts:
    """Check the tokens, then store all in one transaction."""
    if not reports:
        return RecordedCounts()
    # What costs time comes before the transaction: meanwhile nobody waits for its locks.
    rows = Order.objects.select_related("tournament__leaderboard")
    orders = {row.uuid.hex: row for row in rows.filter(uuid__in={r.order for r in reports})}
    recorded, trusted = RecordedCounts(), list[TrustedReport]()
    for report in reports:
        order = orders.get(report.order)
        if order is None:
            log.warning("results of an unknown order %s from %s refused", report.order, report.node)
            recorded += RecordedCounts(n_refused=len(report.results))
        elif _is_refused(report, order, now=now):
            recorded += RecordedCounts(n_refused=len(report.results))
        else:
            genuine = read_genuine_rows(report.results, order.tournament)
            genuine = server_reports.keep_trusted(genuine, order)
            begun = begun_matches.read_genuine(report.begun, order.tournament)
            trusted.append(TrustedReport(report, order, genuine, begun))
    if trusted:
        changed_rows = list[ResultRow]()
        recorded += _store_reports(trusted, changed_rows, now=now)
        # After the commit: whoever puts a server into quarantine locks its row before its orders.
        server_faults.note_rows(changed_rows, now=now)
    return recorded


def _is_refused(report: Results, order: Order, *, now: datetime) -> bool:
    """Say whether no row of a report may count; the order of a node in quarantine is taken back."""
    if problem := game_problem(order.tournament.leaderboard.game):
        # Without the game nobody can say who shares a rank; the order is played again later.
        log.warning("results of order %s refused: %s", report.order, problem)
        return True
    if not node_presence.is_quarantined(report.node, order.node):
        return False
    log.warning("results of %s refused: it is in quarantine", report.node)
    with transaction.atomic():
        Tournament.objects.filter(pk=order.tournament_id).update(
            n_refused=F("n_refused") + len(report.results)
        )
        order_states.take_order_back(order, now=now)
    return True


@transaction.atomic
def _store_reports(
    trusted: Sequence[TrustedReport], changed_rows: list[ResultRow], *, now: datetime
) -> RecordedCounts:
    """Take all locks of a batch first, in the order of matches.store.locks, then store it.

    changed_rows: takes the rows that changed something; what comes late or twice is none of them.
    """
    fresh = {order.pk: order for order in lock_orders([p.order.pk for p in trusted])}
    lock_matches_in_flight(
        [p.order.pk for p in trusted if p.report.is_last],
        more=[match for p in trusted for match in (*p.genuine, *p.begun)],
    )
    tournaments = {p.order.tournament_id: p.order.tournament for p in trusted}
    recorded, uses = RecordedCounts(), list[OrderUse]()
    # Stable: the reports of an order stay in their order. Tournaments are locked as they come.
    for report in sorted(trusted, key=lambda p: p.order.tournament_id):
        locked = fresh[report.order.pk]
        locked.tournament = tournaments[report.order.tournament_id]
        recorded += _store_report(report._replace(order=locked), uses, changed_rows, now=now)
    finish_if_closed(sorted(tournaments), now=now)
    book_uses(uses)
    transaction.on_commit(dispatch.wake_relay)
    return recorded


def _store_report(
    trusted: TrustedReport, uses: list[OrderUse], changed_rows: list[ResultRow], *, now: datetime
) -> RecordedCounts:
    """Store what one report says of its order; note what the order used and which rows counted."""
    report, order, genuine, begun = trusted
    tournament = order.tournament
    by_kind = sort_rows(genuine, tournament)
    by_kind.n_refused += len(report.results) - len(genuine)
    changed_rows += [*by_kind.given_back, *(row for _, row in by_kind.closing)]
    _close_matches(by_kind.closing, tournament, node=report.node, now=now)
    ended = [_build_attempt(row, report.node) for row in by_kind.given_back]
    # Before they are given back: what is reported of another attempt than theirs is late.
    begun_matches.note_given_back(by_kind.given_back, tournament)
    begun_matches.keep_actions(begun.values(), tournament)
    n_void = give_matches_back(tournament.pk, ended, now=now)
    was_open = order.state in Order.OPEN
    n_returned = order_states.note_progress(order, report, begun, ended=genuine, now=now)
    is_ended = was_open and order.state == Order.State.CLOSED
    uses.append(OrderUse(order, now if is_ended else None, _sum_thrown_s(by_kind.given_back)))
    _update_tournament(tournament, by_kind)
    if by_kind.closing or n_void:
        transaction.on_commit(dispatch.wake_rater)
    return RecordedCounts(len(by_kind.closing), len(ended) + n_returned, by_kind.n_refused)


def _close_matches(
    closing: Sequence[tuple[OpenMatch, ResultRow]],
    tournament: Tournament,
    *,
    node: str,
    now: datetime,
) -> None:
    """Write the outcome and the last attempt of each match, and have the rater count them."""
    if not closing:
        return
    stamp = connection.ops.adapt_datetimefield_value(now)
    Match.objects.filter(
        pk__in=among([match.pk for match, _ in closing]),
        state__in=Match.sources(Match.State.DONE),
    ).update(state=Match.State.DONE)
    write_attempts((_build_attempt(row, node) for _, row in closing), now=now)
    begun_matches.forget_ended(row for _, row in closing)
    server_checks.choose_matches([row for _, row in closing], tournament)
    columns = ("match_id", "ranks", "is_forfeit", "guilty_seat", "reason", "attempt", "actions")
    insert_rows(
        Outcome,
        (*columns, "trajectory", "notes", "recorded_at", "returns"),
        [
            (
                match.pk,
                join_numbers(row.ranks),
                row.ending is Ending.FORFEIT,
                row.seat if row.ending is Ending.FORFEIT else -1,
                row.reason.value,
                row.attempt,
                row.actions.replace(NUL, " "),
                row.trajectory,
                read_notes(row),
                stamp,
                join_returns(row),
            )
            for match, row in closing
        ],
    )
    if tournament.is_rated:
        _give_to_rater(closing, tournament)


def join_returns(row: ResultRow) -> str:
    """Return the returns as an outcome has them: to the last bit, none after a forfeit."""
    return ",".join(map(repr, row.returns)) if row.ending is Ending.DONE else ""


def _give_to_rater(closing: Sequence[tuple[OpenMatch, ResultRow]], tournament: Tournament) -> None:
    """Have the rater count the matches that are not the same game as one that counts already."""
    # Not of time-outs and crashes: on another machine the match may come out otherwise.
    results = {
        match.pk: join_numbers(row.ranks) if match.n_seats > 1 else join_returns(row)
        for match, row in closing
        if not (row.ending is Ending.FORFEIT and row.reason.value in reuse.UNREPEATABLE)
    }
    repeated = reuse.link_repeated(tournament, results)
    new = [match for match, _ in closing if match.pk not in repeated]
    insert_rows(
        Uncounted,
        ("match_id", "leaderboard_id", "sequence", "is_counted"),
        [(match.pk, match.leaderboard, match.sequence, False) for match in new],
    )


def _sum_thrown_s(given_back: Sequence[ResultRow]) -> float:
    """Return what was played and no next attempt goes on from: after a failure it starts again."""
    failed = Ending.FAILED
    return sum(r.duration_ms if r.ending is failed else r.lost_ms for r in given_back) / _MS


def _build_attempt(row: ResultRow, node: str) -> EndedAttempt:
    return EndedAttempt(
        match=row.match,
        number=row.attempt,
        ending=row.ending.value,
        reason=row.reason.value,
        seat=max(-1, min(row.seat, 32_767)),
        detail=row.detail.replace(NUL, " "),
        node=node,
        n_steps=row.n_steps,
        duration_ms=round(row.duration_ms),
        server=row.server,
    )


def _update_tournament(tournament: Tournament, by_kind: SortedRows) -> None:
    closing = by_kind.closing
    played_s = sum(row.duration_ms for _, row in closing) / _MS
    mean_match_s = tournament.mean_match_s
    if closing:
        newest_s = played_s / len(closing)
        if mean_match_s is None:
            mean_match_s = newest_s
        else:
            mean_match_s = NEWEST_WEIGHT * newest_s + (1 - NEWEST_WEIGHT) * mean_match_s
    Tournament.objects.filter(pk=tournament.pk).update(
        n_done=F("n_done") + len(closing),
        n_forfeits=F("n_forfeits") + sum(row.ending is Ending.FORFEIT for _, row in closing),
        n_refused=F("n_refused") + by_kind.n_refused,
        played_s=F("played_s") + played_s,
        mean_match_s=mean_match_s,
    )
    tournament.mean_match_s = mean_match_s  # for the next report of the batch
