"""What the control process does: plan, send, give up, rate. Each duty may be woken or ticked."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from math import inf
from threading import Lock
from time import monotonic

from matches import dispatch
from matches.artifacts import checkpoint_checks, trajectories
from matches.board import broadcast
from matches.campaigns import judging, overdue_schedules
from matches.errors import BrokerError
from matches.ledger import planning, recorder_marks, server_checks, sweep
from matches.ledger import relay as relaying
from matches.models import Order, Tournament
from matches.operations.system import minutes, pushing
from matches.ratings import rater, rerating, snapshots, tournament_counts
from matches.store import attempt_counters, disk
from matches.store.clock import db_now
from matches.store.failures import Failures, do_each

log = logging.getLogger(__name__)
TICK_AGAIN_S = 0.5
# Of one tick: whoever is due to be planned or sent waits for no more.
JUDGING_LIMIT_S = 0.5
_planner = Lock()
_rerater = Lock()


class Pace:
    """Passes over a tick whose duties another has just done."""

    # Ticks that waited while control was away come all at once. They may not expire: that goes by
    # two wall clocks, and with control two seconds ahead of beat every tick was dropped silently.

    def __init__(self) -> None:
        self._again_at_s = -inf

    def is_due(self, *, now_s: float) -> bool:
        """Say whether the duties are due; now_s: of a clock that nobody sets."""
        return now_s >= self._again_at_s

    def note_done(self, *, now_s: float) -> None:
        """Note that all duties have been done."""
        self._again_at_s = now_s + TICK_AGAIN_S


_pace = Pace()


def do_duties_if_due(*, pace: Pace = _pace, clock_s: Callable[[], float] = monotonic) -> None:
    """Do every duty once, unless that has just been done."""
    if pace.is_due(now_s=clock_s()):
        do_duties(now=db_now())
        pace.note_done(now_s=clock_s())


def do_duties(*, now: datetime) -> None:
    """Do every duty once; one that fails keeps none of the others from being done."""
    do_each(_DUTIES, now=now)


def plan_tournaments(*, now: datetime) -> None:
    """Plan what waits for it."""
    dispatch.note_woken(dispatch.PLAN)
    _plan_once(now=now)


def send_matches(*, now: datetime) -> None:
    """Send pending matches to the play nodes."""
    dispatch.note_woken(dispatch.RELAY)
    relaying.send_pending_matches(now=now)


def rate_results(*, now: datetime) -> None:
    """Count and rate new outcomes, show them, and judge by them."""
    dispatch.note_woken(dispatch.RATE)
    failures = Failures()
    rated = rater.rate_all(now=now, failures=failures)
    with failures.collect("pushing what was rated"):
        broadcast.push(rated, now=now)
    if rated:
        with failures.collect("judging"):
            judging.judge_all(now=now, limit_s=JUDGING_LIMIT_S)
        # The pairings that go by results may choose more; those of other boards wait for none.
        planning_now = Tournament.objects.filter(state=Tournament.State.PLANNING)
        if planning_now.filter(leaderboard__in=rated).exists():
            dispatch.wake_planner()
    failures.raise_all()


def rerate_boards(*, now: datetime) -> None:
    """Rate again from all outcomes, unless another thread does: it would be for nothing."""
    dispatch.note_woken(dispatch.RERATE)
    if _rerater.acquire(blocking=False):
        try:
            broadcast.push(rerating.rerate_due(now=now), now=now)
        finally:
            _rerater.release()


def _wake_rerater(*, now: datetime) -> None:
    """Let another thread do what may take a minute."""
    del now
    # A wake-up that was lost is repeated here.
    if rerating.is_due():
        dispatch.wake_rerater()


def _plan_once(*, now: datetime) -> None:
    """Plan, unless another thread does."""
    # A second planner would draw all pairings again for nothing.
    if not disk.describe_shortage() and _planner.acquire(blocking=False):
        try:
            planning.plan_scheduled(now=now)
        finally:
            _planner.release()


def _give_up_lost_orders(*, now: datetime) -> None:
    """Give up what is lost; before, delete the queues whose orders are sent to other nodes."""
    queued = Order.objects.filter(Order.is_open(), state=Order.State.QUEUED)
    try:
        if lost_queues := sweep.find_lost_queues(now=now):
            dispatch.delete_queues(lost_queues)
        n_queued = Counter(queued.values_list("queue", flat=True))
        lengths = dispatch.read_queue_lengths(n_queued)
        # Of queues shorter than their rows only: messages are long, a length is one number.
        short = [queue for queue, n in n_queued.items() if lengths[queue] < n]
        waiting = {queue: dispatch.list_waiting_orders(queue) for queue in short}
    except BrokerError as error:
        log.warning("nothing is given up while the broker is away: %s", error)
        return
    sweep.give_up_lost_orders(now=now, waiting=waiting)


_DUTIES: Sequence[Callable[..., object]] = (
    sweep.shorten_leases,
    recorder_marks.send_marks,
    _give_up_lost_orders,
    checkpoint_checks.order_due_checks,
    overdue_schedules.start_overdue,
    relaying.send_pending_matches,
    rate_results,
    judging.judge_all,
    server_checks.check_chosen,
    _wake_rerater,
    broadcast.push_due,
    attempt_counters.flush_counts,
    tournament_counts.count_active,
    pushing.push_sample,
    minutes.keep_minute,
    snapshots.take_due,
    trajectories.delete_expired_pieces,
    # Last, as it takes the longest.
    _plan_once,
)
