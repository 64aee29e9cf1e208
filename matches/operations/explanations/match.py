"""Why a match stands where it stands."""

from collections.abc import Callable, Sequence
from datetime import datetime

from arena.messages import play_queue
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
from matches.operations.explanations.attempts import describe_attempts, list_attempts
from matches.operations.explanations.busy_nodes import busy_with_others
from matches.operations.explanations.presence import Presence, read_presence
from matches.operations.explanations.quarantine import list_held
from matches.store.explanation import (
    Explanation,
    Finding,
    age_s,
    format_ago,
    format_count,
    format_since,
)

MAX_COUNTED = 1_000
"""Matches before this one are counted up to here: nobody needs to know more exactly."""

_MOVED = "read it again: it has just moved"


def of_match(match: Match, *, now: datetime) -> Explanation:
    """Return what a match waits for and what happens next."""
    attempts = list_attempts(match)
    found = _READERS[Match.State(match.state)](match, attempts, now)
    return Explanation(
        subject="match",
        id=match.pk,
        name=f"{match.sequence} of {match.leaderboard}",
        state=match.state,
        since=found.since,
        age_s=age_s(found.since, now=now),
        summary=found.summary,
        waits_for=tuple(found.waits_for),
        next=found.next,
        next_at=found.next_at,
        notes=(*_replaces(match), *describe_attempts(attempts)),
    )


def _replaces(match: Match) -> list[str]:
    replaced = Replacement.objects.filter(match=match).first()
    return [f"played in the place of match {replaced.replaced_id}"] if replaced else []


def _explain_pending(match: Match, attempts: Sequence[Attempt], now: datetime) -> Finding:
    tournament, needs = match.tournament, Match.Needs(match.needs)
    since = attempts[-1].ended_at if attempts else tournament.started_at
    there = read_presence(now=now)
    waits_for = [*there.missing_control(), *there.missing(needs)]
    if tournament.state == Tournament.State.PAUSED:
        waits_for.insert(0, f"tournament {tournament.pk} to be resumed: it is paused")
    waits_for += list_held(Agent.objects.filter(pk__in=match.agent_ids))
    waits_for = waits_for or busy_with_others(tournament, there)
    n_before = _n_before(match)
    if n_before and not waits_for:
        waits_for.append(f"its turn: {_counted(n_before)} of this tournament come before it")
    return Finding(
        since=since,
        summary=f"pending{format_since(since, now=now)}: not sent to a node yet",
        waits_for=waits_for,
        next=f"control sends it to a node with {needs.capability} as soon as one has room",
    )


def _n_before(match: Match) -> int:
    pending = Match.objects.filter(
        tournament=match.tournament_id, needs=match.needs, state=Match.State.PENDING
    )
    return pending.filter(sequence__lt=match.sequence)[: MAX_COUNTED + 1].count()


def _counted(n: int) -> str:
    return f"more than {MAX_COUNTED:,} matches" if n > MAX_COUNTED else f"{n:,} matches"


def _explain_queued(match: Match, _: Sequence[Attempt], now: datetime) -> Finding:
    order = match.order
    if order is None:  # closed between two reads
        return Finding("queued", _MOVED)
    there = read_presence(now=now)
    return Finding(
        since=order.created_at,
        summary=f"queued in order {order.pk} on {order.queue}"
        + format_since(order.created_at, now=now),
        waits_for=there.missing_control()
        + (there.missing(Match.Needs(match.needs)) or [_its_node(order, there)]),
        next="its node takes the order; while another idles or if this one is lost, another does",
        next_at=order.deadline_at,
    )


def _its_node(order: Order, there: Presence) -> str:
    node = order.queue.removeprefix(play_queue(""))
    if not any(worker.node == node for worker in there.workers):
        return f"{node}, which reports no more"
    before = Order.objects.filter(Order.is_open(), queue=order.queue, pk__lt=order.pk)
    return (
        f"{node} to have room: {format_count(before.count(), 'order')} before it on {order.queue}"
    )


def _explain_running(match: Match, _: Sequence[Attempt], now: datetime) -> Finding:
    order = match.order
    if order is None:
        return Finding("running", _MOVED)
    there = read_presence(now=now)
    is_begun = match.pk in order.executing
    doing = "being played" if is_begun else "in hand, its turn in the order or its report awaited"
    return Finding(
        since=order.started_at,
        summary=f"on {order.node} in order {order.pk}"
        f"{format_since(order.started_at, now=now)}: {doing}",
        waits_for=_missing_while_running(match, order, there),
        next="its outcome is recorded; without a report of its node it is given up and sent again",
        next_at=order.deadline_at,
    )


def _missing_while_running(match: Match, order: Order, there: Presence) -> list[str]:
    missing = there.missing_control()
    if not any(node.node == order.node for node in there.workers):
        missing.append(f"{order.node}, which reports no more")
    if Match.Needs(match.needs).wants_gpu:
        missing += there.missing_gpu()
    return missing


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
    after = "nothing by itself; an operator may have it played again"
    if replacement is not None:
        after = f"match {replacement.match_id} is played in its place"
    voiding = Voiding.objects.filter(pk=match.pk).first()
    if voiding is None:
        since = attempts[-1].ended_at if attempts else None
        reason = match.void_reason or "no reason kept"
        return Finding(
            f"void{format_ago(since, now=now)}: {reason}; it counts for no rating", after, since
        )
    verb = "struck" if voiding.was_done else "declared void"
    said = f"{verb} by {voiding.actor}{format_ago(voiding.at, now=now)}: {voiding.reason}"
    kept = "; its outcome is kept and counts for no rating" if voiding.was_done else ""
    rating = [f"{match.leaderboard} to be rated again"] if match.leaderboard.is_rerating else []
    return Finding(said + kept, after, voiding.at, rating)


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
