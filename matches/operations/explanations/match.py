"""Why a match stands where it stands."""

from collections.abc import Callable, Sequence
from datetime import datetime

from arena.messages import Reason
from arena.needs import Needs
from arena.queues import play_queue
from matches.models import (
    Agent,
    Attempt,
    Match,
    Order,
    Outcome,
    Replacement,
    Tournament,
    Uncounted,
    Voiding,
)
from matches.operations.explanations.busy_nodes import list_busy_nodes
from matches.operations.explanations.presence import Presence, list_held, read_presence
from matches.store.clock import MAX_FAILURES, MAX_INTERRUPTIONS
from matches.store.explanation import Explanation, Finding
from matches.store.formats import age_s, format_ago, format_count, format_since
from matches.store.plugin_files import list_files

MAX_COUNTED = 1_000
"""Matches before this one are counted up to here: nobody needs to know more exactly."""

_LOST = (Attempt.Ending.INTERRUPTED.value, Attempt.Ending.EXPIRED.value)
_MOVED = "read it again: it has just moved"


def of_match(match: Match, *, now: datetime) -> Explanation:
    """Return what a match waits for and what happens next."""
    attempts = list(match.attempts.order_by("number"))  # few, by their limits
    finding = _READERS[Match.State(match.state)](match, attempts, now)
    replaced = Replacement.objects.filter(match=match).first()
    notes = [f"played in the place of match {replaced.replaced_id}"] if replaced else []
    return Explanation(
        subject="match",
        id=match.pk,
        name=f"{match.sequence} of {match.leaderboard}",
        state=match.state,
        since=finding.since,
        age_s=age_s(finding.since, now=now),
        summary=finding.summary,
        waits_for=tuple(finding.waits_for),
        next=finding.next,
        next_at=finding.next_at,
        notes=tuple(notes + _describe_attempts(attempts)),
    )


def _describe_attempts(attempts: Sequence[Attempt]) -> list[str]:
    """Return how many attempts failed and how many were lost, of how many that are allowed."""
    failed = [a for a in attempts if a.ending == Attempt.Ending.FAILED.value]
    lost = [a for a in attempts if a.node and a.ending in _LOST]
    # One loss while it was executing is bad luck; from the second on it counts as its own fault.
    n_executing = sum(a.was_executing and a.reason == Reason.NODE_LOST.value for a in attempts)
    n_failures = len(failed) + max(0, n_executing - 1)
    lines = []
    if n_failures:
        lines.append(_describe_ending("failed", n_failures, MAX_FAILURES, (failed or lost)[-1]))
    if lost:
        lines.append(_describe_ending("interrupted", len(lost), MAX_INTERRUPTIONS, lost[-1]))
    unstarted = [a for a in attempts if not a.node and a.ending in _LOST]
    if unstarted:
        lines.append(f"sent {format_count(len(unstarted), 'time')} without a node that took it")
    return lines


def _describe_ending(how: str, n: int, limit: int, last: Attempt) -> str:
    at = f" on {last.node}" if last.node else ""
    detail = f": {last.detail}" if last.detail else ""
    return f"{how} {n} of {limit} times, last: {last.reason or last.ending}{at}{detail}"


def _explain_pending(match: Match, attempts: Sequence[Attempt], now: datetime) -> Finding:
    tournament, needs = match.tournament, Needs(match.needs)
    since = attempts[-1].ended_at if attempts else tournament.started_at
    presence = read_presence(now=now)
    game, files = match.leaderboard.game, list_files(tournament)
    waits_for = [*presence.list_missing_control(), *presence.list_missing(needs, files, game=game)]
    if tournament.state == Tournament.State.PAUSED:
        waits_for.insert(0, f"tournament {tournament.pk} to be resumed: it is paused")
    waits_for += list_held(Agent.objects.filter(pk__in=match.agent_ids))
    busy = presence.list_busy_servers([needs], game=game)
    waits_for = waits_for or busy or list_busy_nodes(tournament, presence)
    pending = Match.objects.filter(
        tournament=match.tournament_id, needs=match.needs, state=Match.State.PENDING
    )
    n_before = pending.filter(sequence__lt=match.sequence)[: MAX_COUNTED + 1].count()
    if n_before and not waits_for:
        n = f"{n_before:,}" if n_before <= MAX_COUNTED else f"more than {MAX_COUNTED:,}"
        waits_for.append(f"its turn: {n} matches of this tournament come before it")
    return Finding(
        since=since,
        summary=f"pending{format_since(since, now=now)}: not sent to a node yet",
        waits_for=waits_for,
        next=f"control sends it to {needs.node} as soon as one has room",
    )


def _explain_queued(match: Match, _: Sequence[Attempt], now: datetime) -> Finding:
    order = match.order
    if order is None:  # closed between two reads
        return Finding("queued", _MOVED)
    presence = read_presence(now=now)
    return Finding(
        since=order.created_at,
        summary=f"queued in order {order.pk} on {order.queue}"
        + format_since(order.created_at, now=now),
        waits_for=presence.list_missing_control()
        + (
            presence.list_missing(
                Needs(match.needs), list_files(match.tournament), game=match.leaderboard.game
            )
            or [_describe_node(order, presence)]
        ),
        next="its node takes the order; while another idles or if this one is lost, another does",
        next_at=order.deadline_at,
    )


def _describe_node(order: Order, presence: Presence) -> str:
    node = order.queue.removeprefix(play_queue(""))
    if not any(worker.node == node for worker in presence.workers):
        return f"{node}, which reports no more"
    orders_before = Order.objects.filter(Order.is_open(), queue=order.queue, pk__lt=order.pk)
    n_before = format_count(orders_before.count(), "order")
    return f"{node} to have room: {n_before} before it on {order.queue}"


def _explain_running(match: Match, _: Sequence[Attempt], now: datetime) -> Finding:
    order = match.order
    if order is None:
        return Finding("running", _MOVED)
    presence = read_presence(now=now)
    missing = presence.list_missing_control()
    if not any(worker.node == order.node for worker in presence.workers):
        missing.append(f"{order.node}, which reports no more")
    needs, game = Needs(match.needs), match.leaderboard.game
    missing += presence.list_missing_services(needs, game=game)
    is_begun = match.pk in order.executing
    doing = "being played" if is_begun else "in hand, its turn in the order or its report awaited"
    return Finding(
        since=order.started_at,
        summary=f"on {order.node} in order {order.pk}"
        f"{format_since(order.started_at, now=now)}: {doing}",
        waits_for=missing,
        next="its outcome is recorded; without a report of its node it is given up and sent again",
        next_at=order.deadline_at,
    )


def _explain_done(match: Match, _: Sequence[Attempt], now: datetime) -> Finding:
    outcome = Outcome.objects.filter(pk=match.pk).first()
    since = outcome.recorded_at if outcome else None
    uncounted = Uncounted.objects.filter(match=match, is_counted=False).exists()
    ended = f"done{format_ago(since, now=now)}"
    if match.same_as_id:
        ended += f", the same game as match {match.same_as_id}"
    if outcome and outcome.is_forfeit:
        ended += f": seat {outcome.guilty_seat} forfeited ({outcome.reason})"
    if not uncounted:
        return Finding(ended, since=since)
    return Finding(f"{ended}; not counted yet", "the rater counts it", since, ["the rater"])


def _explain_void(match: Match, attempts: Sequence[Attempt], now: datetime) -> Finding:
    replacement = Replacement.objects.filter(pk=match.pk).first()
    next_step = "nothing by itself; an operator may have it played again"
    if replacement is not None:
        next_step = f"match {replacement.match_id} is played in its place"
    voiding = Voiding.objects.filter(pk=match.pk).first()
    if voiding is None:
        since = attempts[-1].ended_at if attempts else None
        reason = match.void_reason or "no reason kept"
        return Finding(
            f"void{format_ago(since, now=now)}: {reason}; it counts for no rating", next_step, since
        )
    verb = "struck" if voiding.was_done else "declared void"
    summary = f"{verb} by {voiding.actor}{format_ago(voiding.at, now=now)}: {voiding.reason}"
    outcome = "; its outcome is kept and counts for no rating" if voiding.was_done else ""
    rating = [f"{match.leaderboard} to be rated again"] if match.leaderboard.is_rerating else []
    return Finding(summary + outcome, next_step, voiding.at, rating)


def _explain_cancelled(match: Match, _: Sequence[Attempt], now: datetime) -> Finding:
    since = match.tournament.finished_at
    return Finding(f"cancelled with its tournament{format_ago(since, now=now)}", since=since)


_READERS: dict[Match.State, Callable[[Match, Sequence[Attempt], datetime], Finding]] = {
    Match.State.PENDING: _explain_pending,
    Match.State.QUEUED: _explain_queued,
    Match.State.RUNNING: _explain_running,
    Match.State.DONE: _explain_done,
    Match.State.VOID: _explain_void,
    Match.State.CANCELLED: _explain_cancelled,
}
