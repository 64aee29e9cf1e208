"""Look at the whole system: a handful of queries by index and three round trips."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
from redis.exceptions import RedisError

from arena.games import registry as games
from arena.machine import CLASS, SPOT
from arena.messages import Serving
from arena.needs import SERVER, plays_matches
from arena.queues import gpu_queue, play_queue, reports_queue, serving_key
from matches import dispatch
from matches.errors import BrokerError
from matches.ledger import recorder_marks
from matches.models import Attempt, Order, Outcome, Uncounted, Worker
from matches.nodes.desired_nodes import DesiredNodes, measure_desired_nodes
from matches.nodes.report_keys import list_warnings
from matches.operations.system.sample import (
    AttemptTally,
    Counts,
    Delays,
    Failure,
    Failures,
    Node,
    Point,
    Queue,
    Sample,
)
from matches.operations.system.standstill import describe_standstill
from matches.operations.system.waiting import list_under_way
from matches.store import attempt_counters, disk, fast_store, game_servers
from matches.store.catalog import game_problem
from matches.store.clock import ALIVE_WITHIN, LOST_WITHIN, is_within
from matches.store.plugin_files import list_game_files

MAX_NODES = 200
FAILURES_EVERY = timedelta(seconds=10)
FAILURES_WITHIN = timedelta(hours=1)
MAX_FAILURES = 2_000
"""Read per ending: a storm of failures must not make the look itself a load."""
MAX_UNCOUNTED = 10_000
NEWEST_ORDERS = 200
STARTED_WITHIN = timedelta(minutes=10)
RATE_OVER = timedelta(seconds=5)

_RECORDED = (Attempt.Ending.DONE.value, Attempt.Ending.FORFEIT.value)
Answer = TypeVar("Answer")
Hand = dict[str, tuple[int, int, int]]


def take_sample(*, now: datetime, last: Sample | None, history: Sequence[Point] = ()) -> Sample:
    """Return what is now. last and history: of the looks before, for rates and what is kept."""
    trouble: list[str] = []
    orders = list(
        Order.objects.filter(Order.is_open()).values_list(
            "queue", "state", "n_matches", "tournament", "servers", "created_at"
        )
    )
    workers = list(Worker.objects.filter(last_seen_at__gte=now - LOST_WITHIN))
    in_hand = _count_in_hand(orders)
    n_taken = game_servers.count_taken(dealt for *_, dealt, _ in orders)
    described = [_describe_node(worker, in_hand, n_taken, now=now) for worker in workers]
    servers = [node for node in described if node.kind == SERVER]
    nodes = [node for node in described if node.kind != SERVER]
    serving: list[Serving] = _read_or(trouble, "fast store", lambda: _read_serving(nodes), [])
    none: dict[attempt_counters.Kind, int] = {}
    counts = _read_or(trouble, "fast store", attempt_counters.read_counts, none)
    tallied = [AttemptTally(*kind, n) for kind, n in sorted(counts.items())]
    # Alive before lost, gpu workers first, then by name: of many the first are shown.
    by_rank = sorted(nodes, key=lambda node: (not node.is_alive, node.kind != "gpu", node.name))
    tournaments = list_under_way(orders, workers, now=now)
    queues = _measure_queues(orders, nodes, serving, trouble, now=now)
    return Sample(
        at=now,
        point=_make_point(queues, serving, tallied, history, now=now),
        counts=_count_nodes(nodes, servers, measure_desired_nodes(now=now)),
        nodes=by_rank[:MAX_NODES],
        queues=queues,
        serving=serving,
        failures=_count_failures(last, now=now),
        delays=_measure_delays(now=now),
        tallies=tallied,
        # Up to a limit: a rater that is far behind must not make the look slow.
        n_uncounted=Uncounted.objects.filter(is_counted=False)[:MAX_UNCOUNTED].count(),
        trouble=list(dict.fromkeys(trouble)),
        game_files=list_game_files(
            [worker for worker in workers if is_within(worker.last_seen_at, ALIVE_WITHIN, now=now)]
        ),
        set_aside=disk.list_files_set_aside(now=now),
        tournaments=tournaments,
        standstill=describe_standstill(nodes, tournaments, disk.describe_shortage()),
        servers=sorted(servers, key=lambda s: (not s.is_alive, s.game, s.name))[:MAX_NODES],
    )


def _read_or(trouble: list[str], name: str, read: Callable[[], Answer], instead: Answer) -> Answer:
    """Return what is read, or the other with a note of what did not answer."""
    try:
        return read()
    except (RedisError, BrokerError):
        trouble.append(name)
        return instead


def _count_in_hand(orders: Iterable[tuple[Any, ...]]) -> Hand:
    """Return (orders in play, their matches, orders that wait) by the queue of a node."""
    in_hand: Hand = defaultdict(lambda: (0, 0, 0))
    for queue, state, n_matches, *_ in orders:
        n_orders, n_before, n_queued = in_hand[queue]
        if state == Order.State.PLAYING.value:
            in_hand[queue] = (n_orders + 1, n_before + n_matches, n_queued)
        else:
            in_hand[queue] = (n_orders, n_before, n_queued + 1)
    return in_hand


def _describe_node(
    worker: Worker, in_hand: Hand, n_taken: Mapping[str, int], *, now: datetime
) -> Node:
    n_orders, n_matches, n_queued = in_hand.get(play_queue(worker.node), (0, 0, 0))
    kind = "play" if plays_matches(worker.capabilities) else "gpu"
    if worker.is_server:
        kind, n_matches = SERVER, n_taken.get(worker.node, 0)
    return Node(
        pk=worker.pk,
        name=worker.node,
        kind=kind,
        # A node of an older version says it among its capabilities.
        is_spot=worker.labels.get(CLASS) == SPOT or SPOT in worker.capabilities,
        is_alive=game_servers.is_alive(worker, now=now),
        slots=worker.slots,
        capabilities=[str(name) for name in worker.capabilities],
        n_orders=n_orders,
        n_matches=n_matches,
        n_queued=n_queued,
        seen_at=worker.last_seen_at,
        versions={str(name): str(version) for name, version in worker.versions.items()},
        quarantine=worker.quarantine_reason,
        warnings=list_warnings(worker, now=now),
        labels=worker.labels,
        load=worker.load,
        game=worker.game,
        address=worker.address,
        problem=_describe_problem(worker, now=now) if worker.is_server else "",
    )


def _describe_problem(worker: Worker, *, now: datetime) -> str:
    if worker.game not in games.names():
        return "plays a game that is not installed here"
    if problem := game_problem(worker.game):
        return f"plays {worker.game}: {problem}"
    return game_servers.describe_problem(worker, games.get(worker.game).spec, now=now)


def _count_nodes(nodes: Sequence[Node], servers: Sequence[Node], desired: DesiredNodes) -> Counts:
    able = [server for server in servers if not server.problem]
    alive = [node for node in nodes if node.is_alive]
    play = [node for node in alive if node.kind == "play" and node.is_free]
    return Counts(
        n_play=len(play),
        n_gpu=sum(node.kind == "gpu" for node in alive),
        n_slots=sum(node.slots for node in play),
        n_lost=len(nodes) - len(alive),
        n_desired=desired.n_nodes,
        backlog_s=desired.backlog_s,
        n_servers=len(able),
        n_server_slots=sum(server.slots for server in able),
        n_server_slots_taken=sum(server.n_matches for server in able),
    )


def _read_serving(nodes: Iterable[Node]) -> list[Serving]:
    """Return what the gpu workers said within the last seconds. Raises RedisError."""
    keys = [serving_key(node.name) for node in nodes if node.kind == "gpu" and node.is_alive]
    serving = []
    raws: list[Any] = fast_store.get_client().mget(keys) if keys else []
    for raw in filter(None, raws):
        # What does not decode is of another version: its figures are missing, as on the page.
        with suppress(msgspec.DecodeError, RecursionError):
            serving.append(msgspec.json.decode(raw, type=Serving))
    return serving


def _measure_queues(
    orders: Sequence[tuple[Any, ...]],
    nodes: Sequence[Node],
    serving: Sequence[Serving],
    trouble: list[str],
    *,
    now: datetime,
) -> list[Queue]:
    n_gpu = sum(node.kind == "gpu" and node.is_free for node in nodes)
    shards = sorted({0, *(shard for server in serving for shard in server.shards)})
    reports = [
        Queue(reports_queue(mark.shard), None, mark.lag_s(now=now), None)
        for mark in recorder_marks.read_marks()
    ]
    first = [Queue(dispatch.CONTROL_QUEUE, None, None, None), *reports]
    last = [Queue(gpu_queue(shard), None, None, n_gpu) for shard in shards]
    measured = [_measure_length(queue, trouble) for queue in (*first, *last)]
    play = _sum_play_queues(orders, nodes, now=now)
    return [*measured[: len(first)], play, *measured[len(first) :]]


def _sum_play_queues(
    orders: Sequence[tuple[Any, ...]], nodes: Sequence[Node], *, now: datetime
) -> Queue:
    """Return the queues of all play nodes as one: they are as many as there are nodes.

    By the rows: asking the broker for each would take longer than all the rest.
    """
    ages = [
        (now - created_at).total_seconds()
        for _, state, *_, created_at in orders
        if state == Order.State.QUEUED.value
    ]
    n_play = sum(node.kind == "play" and node.is_free for node in nodes)
    return Queue(play_queue("*"), len(ages), max(0.0, *ages) if ages else None, n_play)


def _measure_length(queue: Queue, trouble: list[str]) -> Queue:
    if "broker" in trouble:
        return queue  # it did not answer a moment ago: each call would wait for it
    length = _read_or(trouble, "broker", lambda: dispatch.read_queue_length(queue.name), None)
    return msgspec.structs.replace(queue, length=length)


def _make_point(
    queues: Sequence[Queue],
    serving: Sequence[Serving],
    tallied: Sequence[AttemptTally],
    history: Sequence[Point],
    *,
    now: datetime,
) -> Point:
    n_recorded = sum(tally.n for tally in tallied if tally.ending in _RECORDED)
    n_forwards = sum(server.forwards_per_s for server in serving)
    n_rows = sum(server.rows_per_s for server in serving)
    recent = [point for point in history if now - point.at <= RATE_OVER]
    rate = 0.0
    if recent and now > recent[0].at:
        n_new = n_recorded - (recent[0].n_recorded or 0)
        # Below 0 where the fast store began anew, and its counters with it.
        rate = max(0.0, n_new / (now - recent[0].at).total_seconds())
    return Point(
        at=now,
        n_recorded=n_recorded,
        matches_per_s=rate,
        n_waiting=sum(queue.length or 0 for queue in queues),
        rows_per_forward=n_rows / n_forwards if n_forwards else 0.0,
    )


def _count_failures(last: Sample | None, *, now: datetime) -> Failures:
    if last is not None and is_within(last.failures.read_at, FAILURES_EVERY, now=now):
        return last.failures
    counts: Counter[tuple[str, str]] = Counter()
    is_cut = False
    for ending in Attempt.NOT_DONE:
        ended = Attempt.objects.filter(Attempt.is_not_done(), ending=ending.value).order_by("-id")
        # Judged here: a condition on the time would read on through all older ones.
        newest = list(ended.values_list("reason", "ended_at")[:MAX_FAILURES])
        reasons = [reason for reason, ended_at in newest if now - ended_at <= FAILURES_WITHIN]
        is_cut = is_cut or len(reasons) == MAX_FAILURES
        counts.update((ending.value, reason) for reason in reasons)
    rows = [Failure(ending, reason, n) for (ending, reason), n in counts.most_common()]
    return Failures(read_at=now, rows=rows, is_cut=is_cut)


def _measure_delays(*, now: datetime) -> Delays:
    waits = _list_start_waits(now=now)
    mark = recorder_marks.find_slowest_mark(recorder_marks.read_marks())
    rating_s, uncounted = None, Uncounted.objects.filter(is_counted=False).order_by("pk").first()
    if uncounted is not None:
        recorded_at = Outcome.objects.values_list("recorded_at", flat=True).get(pk=uncounted.pk)
        rating_s = max(0.0, (now - recorded_at).total_seconds())
    return Delays(
        recorder_s=mark.lag_s(now=now),
        recorder=mark.recorder,
        rating_s=rating_s,
        start_p50_s=_pick_quantile(waits, 0.5),
        start_p99_s=_pick_quantile(waits, 0.99),
    )


def _list_start_waits(*, now: datetime) -> list[float]:
    newest = Order.objects.order_by("-pk").values_list("created_at", "started_at")[:NEWEST_ORDERS]
    return sorted(
        (started_at - created_at).total_seconds()
        for created_at, started_at in newest
        if started_at is not None and now - created_at <= STARTED_WITHIN
    )


def _pick_quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else None
