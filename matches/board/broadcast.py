"""Push what changed on a leaderboard to those who look at it.

The fast store holds, per leaderboard, the state that was pushed last: the snapshot that a viewer
gets. A push compares the database with it, stores the new state under the next sequence number and
sends the difference. So nothing is computed per viewer, and there is no list of unsent changes that
could be lost: what one call left out (rate limit, another process, fast store away) the next call
finds by comparing. `epoch` names a run of sequence numbers; it changes when the fast store was
emptied, and tells a viewer to ask for a snapshot.
"""

import json
import logging
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypedDict, cast

import msgspec
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.core.cache import cache
from redis.exceptions import RedisError

from matches.board import progress
from matches.board.progress import Nodes, Status
from matches.models import Leaderboard, Tournament
from matches.ratings import standings
from matches.ratings.standings import Row
from matches.store import selectors
from matches.store.clock import is_within

log = logging.getLogger(__name__)

# A board is pushed at most this often.
MIN_INTERVAL = timedelta(seconds=0.5)

# A board that was pushed more lately is left alone by push_due: it is being rated, and a push in
# between would hold back the next one, which has the new ratings.
LEAVES_ALONE = timedelta(seconds=0.75)

# A board that was rated so lately is compared every second: its last push may have been lost.
RECENT = timedelta(seconds=15)

# A quiet board's sequence number and the nodes are sent again so often: messages may be lost, and a
# viewer that hears nothing for longer knows that control is away.
HEARTBEAT = timedelta(seconds=10)

NODES_GROUP = "nodes"

_KEPT_S = 3600
_LOCKED_S = 5
_CHECKED_S = 1


class BoardState(TypedDict):
    """What was pushed last; it is what a viewer gets as a snapshot."""

    type: str
    epoch: str
    sequence: int
    pushed_at: str
    status: Status
    rows: list[Row]


class BoardDelta(TypedDict):
    """What changed: the changed fields of rows, agents to take out, what stands above the table."""

    type: str
    epoch: str
    sequence: int
    status: Status
    rows: list[dict[str, object]]
    removed: list[int]


def group(board_id: int) -> str:
    """Return the name of the group of a board's viewers."""
    return f"leaderboard.{board_id}"


def push(board_ids: Sequence[int], *, now: datetime) -> None:
    """Push these leaderboards, which were rated just now.

    It only logs when the fast store is away: the next call of push_due catches up.
    """
    try:
        for board_id in board_ids:
            publish(board_id, now=now)
    except RedisError as error:
        log.warning("nothing pushed while the fast store is away: %s", error)


def push_due(*, now: datetime) -> None:
    """Push every leaderboard that may have changed without a push; call it once a second.

    It sends what the rate limit kept back, the progress of tournaments and who can play.
    """
    watched = {
        tournament.leaderboard_id for tournament in selectors.list_watched_tournaments(now=now)
    }
    recent = Leaderboard.objects.filter(rated_at__gte=now - RECENT).values_list("pk", flat=True)
    paused = Tournament.objects.filter(state=Tournament.State.PAUSED)
    seldom = int(HEARTBEAT.total_seconds())
    try:
        # Boards with a paused tournament, each once in a while: that it is paused is shown.
        paused_boards = {
            board
            for board in set(paused.values_list("leaderboard", flat=True))
            if cache.add(_make_cache_key(board, "paused"), 1, timeout=seldom)
        }
        for board_id in sorted({*watched, *recent, *paused_boards}):
            publish(board_id, now=now, at_least=LEAVES_ALONE)
    except RedisError as error:
        log.warning("nothing pushed while the fast store is away: %s", error)
    try:
        _publish_nodes(now=now)
    except RedisError as error:
        log.warning("nodes not pushed while the fast store is away: %s", error)


def publish(
    board_id: int, *, now: datetime, at_least: timedelta = MIN_INTERVAL
) -> BoardDelta | None:
    """Push one leaderboard; None when nothing shown changed or it is too early.

    at_least: how long after the last push. Raises RedisError.
    """
    # It expires by itself: a process that dies with it stops the pushes for some seconds only.
    lock = _make_cache_key(board_id, "lock")
    if not cache.add(lock, 1, timeout=_LOCKED_S):
        return None
    try:
        return _publish_locked(board_id, now=now, at_least=at_least)
    finally:
        cache.delete(lock)


def read_snapshot(board_id: int, *, now: datetime) -> str:
    """Return the state pushed last as JSON, compared with the database at most once a second.

    While another process builds the first one, the database's state with a sequence number that no
    delta fits: the viewer asks again. Raises RedisError.
    """
    if cache.add(_make_cache_key(board_id, "checked"), 1, timeout=_CHECKED_S):
        publish(board_id, now=now)
    stored: str | None = cache.get(_make_cache_key(board_id, "state"))
    return stored or json.dumps(_build_state(board_id, None, now=now))


def format_nodes(*, now: datetime) -> str:
    """Return who can play, as JSON."""
    return json.dumps({"type": "nodes", **progress.count_nodes(now=now)})


def find_difference(last: BoardState | None, state: BoardState) -> BoardDelta:
    """Return what brings a viewer from the last state to this one.

    Without a last state there is nothing to start from: the new epoch makes viewers ask.
    """
    last_rows = {row["agent"]: dict(row) for row in last["rows"]} if last else {}
    agents = {row["agent"] for row in state["rows"]}
    changed = (
        {
            name: value
            for name, value in row.items()
            if name == "agent" or last_rows.get(row["agent"], {}).get(name) != value
        }
        for row in state["rows"]
    )
    return {
        "type": "delta",
        "epoch": state["epoch"],
        "sequence": state["sequence"],
        "status": state["status"],
        "rows": [fields for fields in changed if last and len(fields) > 1],
        "removed": sorted(last_rows.keys() - agents),
    }


def _publish_locked(board_id: int, *, now: datetime, at_least: timedelta) -> BoardDelta | None:
    stored: str | None = cache.get(_make_cache_key(board_id, "state"))
    last = cast(BoardState, json.loads(stored)) if stored else None
    pushed_at = datetime.fromisoformat(last["pushed_at"]) if last else None
    if is_within(pushed_at, at_least, now=now):
        return None
    # A new viewer need not compare again: it must not hold the lock when control comes back.
    cache.set(_make_cache_key(board_id, "checked"), 1, timeout=_CHECKED_S)
    state = _build_state(board_id, last, now=now)
    if last and (last["rows"], last["status"]) == (state["rows"], state["status"]):
        if is_within(pushed_at, HEARTBEAT, now=now):
            return None
        state["sequence"] = last["sequence"]
    delta = find_difference(last, state)
    cache.set(_make_cache_key(board_id, "state"), json.dumps(state), timeout=_KEPT_S)
    _send_text(group(board_id), json.dumps(delta))
    return delta


def _build_state(board_id: int, last: BoardState | None, *, now: datetime) -> BoardState:
    board = Leaderboard.objects.get(pk=board_id)
    rows = standings.load_rows(board_id)
    return {
        "type": "snapshot",
        "epoch": last["epoch"] if last else secrets.token_hex(4),
        "sequence": last["sequence"] + 1 if last else 0,
        "pushed_at": now.isoformat(),
        "status": progress.describe_board(board, rows, now=now),
        "rows": rows,
    }


def _publish_nodes(*, now: datetime) -> None:
    node_counts = progress.count_nodes(now=now)
    try:
        last = msgspec.convert(cache.get("live:nodes"), type=tuple[datetime, Nodes] | None)
    except msgspec.ValidationError:
        last = None  # of another version
    if last and last[1] == node_counts and is_within(last[0], HEARTBEAT, now=now):
        return
    cache.set("live:nodes", (now, node_counts), timeout=_KEPT_S)
    _send_text(NODES_GROUP, format_nodes(now=now))


def _make_cache_key(board_id: int, part: str) -> str:
    return f"live:board:{board_id}:{part}"


def _send_text(name: str, text: str) -> None:
    # Sent as text: no viewer's process encodes it again.
    async_to_sync(get_channel_layer().group_send)(name, {"type": "viewer.text", "text": text})
