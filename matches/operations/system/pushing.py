"""Control looks at the system once a second; the fast store keeps what was seen for everybody.

Every message is the whole picture, so that one that was missed costs nothing.
"""

import json
import logging
from datetime import datetime, timedelta

import msgspec
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.core.cache import cache
from redis.exceptions import RedisError

from matches.operations.system.display import SILENT_AFTER, format_state
from matches.operations.system.sample import SystemState
from matches.operations.system.sampling import take_sample
from matches.store import fast_store
from matches.store.clock import is_within

log = logging.getLogger(__name__)

GROUP = "system"
MIN_INTERVAL = timedelta(seconds=0.9)
"""Control ticks once a second, and may tick twice in a row."""
HISTORY = timedelta(minutes=5)
KEY = "live:system"
_LOCK = "live:system:lock"
_KEPT_S = 3600
# Whoever dies while it looks keeps the others from looking for so long.
_LOCKED_S = 5


def push_sample(*, now: datetime) -> None:
    """Look as control, keep what was seen and send it; it only logs without the fast store."""
    try:
        _push_once(now=now, control_at=now)
    except RedisError as error:
        log.warning("the system's state is not pushed while the fast store is away: %s", error)


def read_newest(*, now: datetime) -> SystemState:
    """Return what was seen last; while control is away, whoever asks looks, once a second.

    Raises RedisError.
    """
    state = read_latest()
    if state is not None and is_within(state.sample.at, SILENT_AFTER, now=now):
        return state
    _push_once(now=now, control_at=state.control_at if state else None)
    return read_latest() or look_alone(now=now)


def format_newest(*, now: datetime) -> str:
    """Return the message that a new viewer gets. Raises RedisError."""
    return json.dumps(format_state(read_newest(now=now)))


def read_latest() -> SystemState | None:
    """Return what was seen last, however long ago. Raises RedisError."""
    raw = fast_store.get_client().get(KEY)
    try:
        return None if raw is None else msgspec.json.decode(raw, type=SystemState)
    except msgspec.DecodeError:
        return None  # of another version: control writes a new one within a second


def look_alone(*, now: datetime) -> SystemState:
    """Return the state of now without the minutes before, whatever answers."""
    sample = take_sample(now=now, last=None)
    return SystemState(sample=sample, history=[sample.point], control_at=None)


def _push_once(*, now: datetime, control_at: datetime | None) -> None:
    # One at a time: of control and those who ask while it is away, each would look by itself.
    if not cache.add(_LOCK, 1, timeout=_LOCKED_S):
        return
    try:
        last = read_latest()
        if last is not None and is_within(last.sample.at, MIN_INTERVAL, now=now):
            return
        history = last.history if last else []
        points = [point for point in history if timedelta(0) < now - point.at <= HISTORY]
        sample = take_sample(now=now, last=last.sample if last else None, history=points)
        history = [*points, sample.point]
        state = SystemState(sample=sample, history=history, control_at=control_at)
        fast_store.get_client().set(KEY, msgspec.json.encode(state), ex=_KEPT_S)
    finally:
        cache.delete(_LOCK)
    # After the lock is let go: a slow channel layer keeps nobody from looking.
    layer = get_channel_layer()
    async_to_sync(layer.group_send)(
        GROUP, {"type": "viewer.text", "text": json.dumps(format_state(state))}
    )
