"""One gpu worker: its settings, its engine and its connections, from start to stop."""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final
from uuid import uuid4

from celery.app import app_or_default
from celery.worker import state

from arena.faststore import leases_key
from arena.machine import measure_load, read_versions
from arena.messages import Alive, CheckOrder
from inference import settings
from inference.check import check
from inference.connection import FastConnection
from inference.drain import drain
from inference.drain_loop import AnsweredRequests, DrainTools
from inference.maintenance import Calls, MaintenanceThread
from inference.metrics import Metrics
from inference.protocol import Answer, Answerer, BlockRequest, no_op
from inference.publisher import Publisher, PublishError
from inference.settings import Settings

log = logging.getLogger(__name__)

PACKAGES: Final = ("evalsite", "torch", "safetensors", "numpy", "celery")
CAPABILITY: Final = "gpu"
EXIT_BROKEN: Final = 70
LEAVING_S: Final = 0.2
_flags: Any = state


class SerialEngine:
    """An engine that answers one batch at a time, whatever the number of threads."""

    def __init__(self, engine: Answerer) -> None:
        """engine: not safe for several threads."""
        self._engine, self._lock = engine, threading.Lock()

    @property
    def counts(self) -> Mapping[str, int]:
        """What the engine has counted."""
        return self._engine.counts

    def answer(
        self, blocks: Sequence[BlockRequest], *, keep_alive: Callable[[], None] = no_op
    ) -> list[Answer]:
        """Return what the engine answers."""
        with self._lock:
            return self._engine.answer(blocks, keep_alive=keep_alive)


class Node:
    """Drains shards and checks checkpoints; tasks call it from the threads of the pool."""

    def __init__(
        self, own: Settings, *, incarnation: str, publisher: Publisher, engine: Answerer
    ) -> None:
        """incarnation: 32 hex digits that no other start of a worker has."""
        self._own, self._incarnation, self._publisher = own, incarnation, publisher
        self._engine = SerialEngine(engine)
        self._connections: deque[FastConnection] = deque()
        self._answered = AnsweredRequests()
        self._draining = {shard: threading.Lock() for shard in own.serves}
        self._metrics = Metrics(own, engine)
        self._maintenance = MaintenanceThread(
            FastConnection(own.fast_url),
            own,
            Calls(
                ring=publisher.publish_doorbell,
                is_idle=is_idle,
                say_alive=lambda: publisher.publish_report(self.sign_of_life()),
                show=lambda connection, now_s: self._metrics.publish_figures(
                    connection, now_s=now_s
                ),
            ),
        )

    def open(self) -> None:
        """Load the functions, say that the worker lives, and keep doing so."""
        self._metrics.open()
        self._maintenance.open()
        log.info("%s serves shards %s of %d", self._own.gpu, self._own.serves, self._own.n_shards)

    def close(self) -> None:
        """Give the connections back."""
        self._maintenance.close()
        while self._connections:
            self._connections.pop().close()

    def drain_shard(self, shard: int, lease: str) -> dict[str, int]:
        """Work on a shard for one slice; return what was done.

        Two drainers of one worker would only halve each other's batches: where one works on the
        shard already, the doorbell of another is taken back.
        """
        turn = self._draining.setdefault(shard, threading.Lock())
        # A drainer that hands its lease on has rung before it has quite left.
        if not turn.acquire(timeout=LEAVING_S):
            with self._connection() as connection:
                connection.call("ZREM", leases_key(shard), f"ring:{lease}")
            return {"surplus": 1}
        try:
            with self._connection() as connection:
                tools = DrainTools(
                    connection=connection,
                    engine=self._engine,
                    settings=self._own,
                    ring=self._try_to_ring,
                    stop=is_stopping,
                    fail=stop_broken,
                    answered=self._answered,
                    observe=self._metrics.observe_batch,
                )
                counts = drain(tools, shard, lease)
            self._metrics.count_slice(counts)
            return counts
        finally:
            turn.release()

    def check_upload(self, order: CheckOrder) -> None:
        """Find out whether a checkpoint can play, and report it. Raises PublishError."""
        self._publisher.publish_report(check(order, self._own))

    def sign_of_life(self) -> Alive:
        """Return the sign of life."""
        return Alive(
            node=self._own.gpu,
            incarnation=self._incarnation,
            slots=1,
            capabilities=[CAPABILITY],
            versions=read_versions(PACKAGES),
            orders=[],
            key=self._own.key,
            labels=dict(self._own.labels),
            load=measure_load(),
        )

    def _try_to_ring(self, shard: int, lease: str) -> bool:
        try:
            self._publisher.publish_doorbell(shard, lease)
        except PublishError as error:
            log.warning("shard %d is drained on without a message: %s", shard, error)
            return False
        return True

    @contextmanager
    def _connection(self) -> Iterator[FastConnection]:
        """Lend a connection to one thread."""
        connection = (
            self._connections.pop() if self._connections else FastConnection(self._own.fast_url)
        )
        try:
            yield connection
        finally:
            # Kept for the next: to open one is a login and several round trips.
            self._connections.append(connection)


def is_stopping() -> bool:
    """Return True once the worker has been told to end."""
    flags = (_flags.should_stop, _flags.should_terminate)
    return any(flag is not None and flag is not False for flag in flags)  # 0 is an exit code


def is_idle() -> bool:
    """Return True while the worker has no task in hand."""
    return not state.active_requests and not state.reserved_requests


def stop_broken() -> None:
    """Have the worker end, so that its supervisor starts another."""
    _flags.should_stop = EXIT_BROKEN


@cache
def this_worker() -> Node:
    """Return the gpu worker that this process is; the first call loads torch."""
    own = settings.read_worker_settings(os.environ)
    # Late: it loads torch, and what that raises must end the worker, see celery.open_node.
    from inference.engine_factory import build_engine  # noqa: PLC0415

    publisher = Publisher(app_or_default())  # a proxy would find no app in another thread
    return Node(own, incarnation=uuid4().hex, publisher=publisher, engine=build_engine(own))
