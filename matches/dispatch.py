"""The only place that names tasks and queues. A message may fail: the rows are the truth."""

import json
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

from arena.message_texts import describe_message
from arena.message_tokens import mark_token
from arena.messages import CheckOrder, Mark, MatchOrder, to_wire
from arena.queues import (
    CHECK_TASK,
    MAX_RECORDERS,
    PLAY_TASK,
    RECORD_TASK,
    REPORTS_QUEUE,
    TRAIN_QUEUE,
    TRAIN_TASK,
    gpu_queue,
    reports_aside,
    reports_queue,
)
from arena.train_messages import TrainOrder
from arena.train_messages import describe as describe_slice
from arena.train_messages import to_wire as write_slice
from matches.errors import BrokerError
from matches.store.signing import derive_key

log = logging.getLogger(__name__)

CONTROL_QUEUE = "control"
TICK = "matches.tick"
EXPERIENCE_TICK = "experience.tick"
PLAN = "matches.plan"
RELAY = "matches.relay"
RATE = "matches.rate"
RERATE = "matches.rerate"
SCHEDULE_TOURNAMENT = "matches.schedule_tournament"
NAMES = (RECORD_TASK, TICK, PLAN, RELAY, RATE, RERATE, SCHEDULE_TOURNAMENT, EXPERIENCE_TICK)
"""Every task that control is sent; a test compares them with the registered ones."""

REPORT_QUEUES = tuple(reports_queue(shard) for shard in range(MAX_RECORDERS))
# Reports of one transaction; a recorder that keeps up takes one or two.
MOST_REPORTS = 64
# No more are taken after these: rows stay locked while they are written.
MOST_BYTES = 2_000_000
# Reports that control moves at once: it does so again a second later.
MOST_MOVED = 1_000
MOST_MOVED_BYTES = 20_000_000
# Moves that share a round trip: their bytes are counted only after it.
_STRIDE = 8

# A wake-up that nobody took within this time may be repeated; the tick does its work anyhow.
_WAKE_MS = 1_000
# Beyond so many that wait for control no more are sent: one of each kind is enough.
_MAX_WAITING = 20


def publish_order(order: MatchOrder, queue: str) -> None:
    """Send an order to a play node's queue. Raises BrokerError when it was not accepted."""
    _send_task(
        PLAY_TASK, [to_wire(order)], queue, task_id=order.order, shown=describe_message(order)
    )


def publish_check(order: CheckOrder) -> None:
    """Send a checkpoint to be checked to the gpu workers. Raises BrokerError."""
    _send_task(CHECK_TASK, [to_wire(order)], gpu_queue(0), shown=describe_message(order))


def publish_slice(order: TrainOrder) -> None:
    """Send a slice of a training run to the trainers. Raises BrokerError."""
    described = describe_slice(order)
    _send_task(TRAIN_TASK, [write_slice(order)], TRAIN_QUEUE, task_id=order.order, shown=described)


def publish_mark(at: str, shard: int = 0) -> None:
    """Send a mark through a queue of reports, to learn how far its recorder has come."""
    mark = Mark(at=at, token=mark_token(derive_key(), at, shard), shard=shard)
    _send_task(RECORD_TASK, [to_wire(mark)], reports_queue(shard), shown=describe_message(mark))


def own_reports_queue() -> str:
    """Return the queue of reports that this worker consumes, by what it was started with."""
    # Not by what a report says: whoever takes from another's list of what is set aside could
    # delete it before it is recorded.
    consumed = current_app.amqp.queues.consume_from
    return next((queue for queue in REPORT_QUEUES if queue in consumed), REPORTS_QUEUE)


def collect_reports(n_recorders: int) -> bool:
    """Move what lies in queues that no recorder consumes to the first one; say if nothing is left.

    Raises BrokerError.
    """
    # After a start with fewer recorders nodes still play orders that name the other queues.
    idle = REPORT_QUEUES[n_recorders:]
    # Set aside before those that wait: it is the older part of the queue.
    lists = [name for queue in idle for name in (reports_aside(queue), queue)]
    n_left = MOST_MOVED
    for name, length in read_queue_lengths(lists).items():
        if not length:
            continue
        if not n_left:
            return False
        n_most, n_bytes = min(length, n_left), MOST_MOVED_BYTES
        with _name_failure(f"move the reports of {name}"):
            n_moved = len(_move_messages(name, REPORTS_QUEUE, n_most, most_bytes=n_bytes))
        if n_moved:
            log.warning("%d reports of %s are recorded from %s", n_moved, name, REPORTS_QUEUE)
        if n_moved < length:
            return False
        n_left -= n_moved
    return True


class Aside(NamedTuple):
    """Reports that the recorder has taken and not recorded yet, the oldest first."""

    left_over: list[bytes]
    """By a recorder that ended before it had."""
    newer: list[bytes]


def set_reports_aside(queue: str) -> Aside | None:
    """Take the reports that wait, to record them at once; they are kept until they are dropped.

    None: the broker did not answer, and what is aside by now must stay there for the next time.
    """
    aside = reports_aside(queue)
    try:
        with get_broker().pipeline(transaction=False) as pipeline:
            pipeline.lrange(aside, 0, -1)
            pipeline.llen(queue)
            left_over, n_waiting = pipeline.execute()
        # While nothing can be recorded, what is aside must not grow with every try.
        n_more = min(n_waiting, max(0, MOST_REPORTS - len(left_over)))
        return Aside(left_over[::-1], _move_messages(queue, aside, n_more, most_bytes=MOST_BYTES))
    except RedisError as error:
        log.warning("reports are recorded one by one, the others cannot be read: %s", error)
        return None


def _move_messages(source: str, target: str, n: int, *, most_bytes: int) -> list[bytes]:
    """Move messages from list to list, the oldest first; return them."""
    moved: list[bytes] = []
    n_bytes = 0
    while len(moved) < n and n_bytes < most_bytes:
        with get_broker().pipeline(transaction=False) as pipeline:
            for _ in range(min(_STRIDE, n - len(moved))):
                pipeline.lmove(source, target, "RIGHT", "LEFT")
            items = pipeline.execute()
        messages = [item for item in items if item is not None]
        moved += messages
        n_bytes += sum(map(len, messages))
        if items[-1] is None:
            break
    return moved


def drop_reports_aside(queue: str) -> None:
    """Forget the reports that were set aside: they are recorded."""
    try:
        get_broker().delete(reports_aside(queue))
    except RedisError as error:
        log.warning("recorded reports are kept and will be recorded again: %s", error)


def wake_planner() -> None:
    """Tell control that a tournament waits to be planned."""
    _wake_task(PLAN)


def wake_relay() -> None:
    """Tell control that there may be matches to send or room for more."""
    _wake_task(RELAY)


def wake_rater() -> None:
    """Tell control that there are outcomes to count."""
    _wake_task(RATE)


def wake_rerater() -> None:
    """Tell control that ratings are to be computed again from all outcomes."""
    _wake_task(RERATE)


def note_woken(task: str) -> None:
    """Note that a task begins, so that its next wake-up is sent."""
    try:
        get_broker().delete(_wake_key(task))
    except RedisError as error:
        log.warning("wake-up of %s not cleared, it expires by itself: %s", task, error)


def read_queue_length(queue: str) -> int:
    """Return how many messages wait. Raises BrokerError."""
    return read_queue_lengths([queue])[queue]


def read_queue_lengths(queues: Collection[str]) -> dict[str, int]:
    """Return how many messages wait in each queue, in one round trip. Raises BrokerError."""
    with (
        _name_failure(f"say how long {', '.join(queues)} is"),
        get_broker().pipeline(transaction=False) as pipeline,
    ):
        for queue in queues:
            pipeline.llen(queue)
        lengths = pipeline.execute()
    return dict(zip(queues, lengths, strict=True))


def list_waiting_orders(queue: str) -> set[str]:
    """Return the orders (uuids in hex) that wait in a play node's queue. Raises BrokerError."""
    return {order for order, _ in _read_messages(queue)}


def move_order(order: str, source: str, target: str) -> bool:
    """Move an order that its node has not taken to the queue of another one; say whether it was.

    Raises BrokerError: an order that is lost in between is in no queue, which the sweep sees.
    """
    messages = [message for waiting, message in _read_messages(source) if waiting == order]
    with _name_failure(f"move order {order}"):
        for message in messages:
            # Of removing and taking exactly one succeeds, so no two nodes play it.
            if get_broker().lrem(source, 1, message):
                get_broker().lpush(target, message)
                return True
    return False


def move_newest_first(queue: str) -> None:
    """Let a play node take next what was sent to it last. Raises BrokerError."""
    with _name_failure(f"reorder {queue}"):
        # Only control fills the queue, at its left end; nodes take from the right.
        get_broker().lmove(queue, queue, "LEFT", "RIGHT")


def delete_queues(queues: Collection[str]) -> None:
    """Forget the orders that wait for these play nodes. Raises BrokerError."""
    with _name_failure(f"delete {', '.join(queues)}"):
        get_broker().delete(*queues)


def _read_messages(queue: str) -> Iterator[tuple[str, Any]]:
    """Yield (order, raw message) of the orders that wait for a play node, the newest first."""
    with _name_failure(f"say what waits in {queue}"):
        messages = get_broker().lrange(queue, 0, -1)
    for message in messages:
        yield json.loads(message)["headers"]["id"], message


def ping_broker() -> str:
    """Return the broker's version. Raises BrokerError saying what to do."""
    try:
        version: str = get_broker().info("server")["redis_version"]
    except RedisError as error:
        raise BrokerError(
            f"broker does not answer ({error}): start the system with ./run, or set REDIS_URL"
        ) from error
    return version


@contextmanager
def _name_failure(act: str) -> Iterator[None]:
    """Raise BrokerError with what the broker cannot do where it does not answer."""
    try:
        yield
    except RedisError as error:
        raise BrokerError(f"broker cannot {act}: {error}") from error


@cache
def get_broker() -> "Redis":
    """Return a client of the broker whose calls end soon."""
    # A web request may wait for one.
    return Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)


def _wake_task(task: str) -> None:
    try:
        # One message a second wakes as well as many: control looks at all rows.
        if get_broker().set(_wake_key(task), 1, nx=True, px=_WAKE_MS) and _has_room():
            _send_task(task, [], CONTROL_QUEUE)
    except (BrokerError, RedisError) as error:
        log.warning("%s not woken, the next tick does its work: %s", task, error)


def send_tick() -> None:
    """Have control do all its duties, and those of training. Raises BrokerError."""
    if _has_room():
        _send_task(TICK, [], CONTROL_QUEUE)
        _send_task(EXPERIENCE_TICK, [], CONTROL_QUEUE)


def _has_room() -> bool:
    """Say whether control keeps up."""
    # What waits for it does not expire (control.Pace says why).
    return read_queue_length(CONTROL_QUEUE) < _MAX_WAITING


def _wake_key(task: str) -> str:
    return f"wake:{task}"


def _send_task(
    task: str,
    args: list[Any],
    queue: str,
    *,
    task_id: str | None = None,
    shown: str = "()",
) -> None:
    try:
        current_app.send_task(
            task,
            args,
            queue=queue,
            task_id=task_id,
            # The rows are the truth: the next tick sends again what was not accepted.
            retry=False,
            # Celery would show the arguments to monitors as they are, tokens and all.
            argsrepr=shown,
            kwargsrepr="{}",
        )
    except OperationalError as error:
        raise BrokerError(f"{task} was not accepted by the broker: {error}") from error
