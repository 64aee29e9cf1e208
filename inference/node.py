"""One gpu worker: its settings, its engine and its connections, from start to stop."""

import logging
import os
import platform
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final
from uuid import uuid4

from celery.app import app_or_default
from celery.worker import state

from arena.faststore import leases_key
from arena.messages import Alive, Checked, CheckOrder
from inference import settings
from inference.connection import Link
from inference.drain import drain
from inference.drain_loop import Answered, Tools
from inference.maintenance import Calls, Keeper
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


class Alone:
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
        self._engine = Alone(engine)
        self._links: deque[Link] = deque()
        self._answered = Answered()
        self._draining = {shard: threading.Lock() for shard in own.serves}
        self._metrics = Metrics(own, engine)
        self._keeper = Keeper(
            Link(own.fast_url),
            own,
            Calls(
                ring=publisher.ring,
                is_idle=is_idle,
                say_alive=lambda: publisher.report(self.alive()),
                show=lambda link, now_s: self._metrics.show(link, now_s=now_s),
            ),
        )

    def open(self) -> None:
        """Load the functions, say that the worker lives, and keep doing so."""
        self._metrics.open()
        self._keeper.open()
        log.info("%s serves shards %s of %d", self._own.gpu, self._own.serves, self._own.n_shards)

    def close(self) -> None:
        """Give the connections back."""
        self._keeper.close()
        while self._links:
            self._links.pop().close()

    def drain(self, shard: int, lease: str) -> dict[str, int]:
        """Work on a shard for one slice; return what was done.

        Two drainers of one worker would only halve each other's batches: where one works on the
        shard already, the doorbell of another is taken back.
        """
        turn = self._draining.setdefault(shard, threading.Lock())
        # A drainer that hands its lease on has rung before it has quite left.
        if not turn.acquire(timeout=LEAVING_S):
            with self._link() as link:
                link.call("ZREM", leases_key(shard), f"ring:{lease}")
            return {"surplus": 1}
        try:
            return self._drain(shard, lease)
        finally:
            turn.release()

    def _drain(self, shard: int, lease: str) -> dict[str, int]:
        with self._link() as link:
            tools = Tools(
                link=link,
                engine=self._engine,
                settings=self._own,
                ring=self._rings,
                stop=is_stopping,
                fail=stop_broken,
                answered=self._answered,
                observe=self._metrics.observe,
            )
            counts = drain(tools, shard, lease)
        self._metrics.count(counts)
        return counts

    def check(self, order: CheckOrder) -> None:
        """Find out whether a checkpoint can play, and report it. Raises PublishError."""
        verdict: Checked = import_module("inference.check").check(order, self._own)
        self._publisher.report(verdict)

    def alive(self) -> Alive:
        """Return the sign of life."""
        return Alive(
            node=self._own.gpu,
            incarnation=self._incarnation,
            slots=1,
            capabilities=[CAPABILITY],
            versions=versions(),
            orders=[],
            key=self._own.key,
        )

    def _rings(self, shard: int, lease: str) -> bool:
        try:
            self._publisher.ring(shard, lease)
        except PublishError as error:
            log.warning("shard %d is drained on without a message: %s", shard, error)
            return False
        return True

    @contextmanager
    def _link(self) -> Iterator[Link]:
        """Lend a connection to one thread."""
        link = self._links.pop() if self._links else Link(self._own.fast_url)
        try:
            yield link
        finally:
            self._links.append(link)


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


def versions() -> dict[str, str]:
    """Return the versions of what decides what a network answers."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            log.debug("%s is not installed as a package: its version is not reported", package)
    return found


@cache
def here() -> Node:
    """Return the gpu worker that this process is; the first call loads torch."""
    own = settings.read_worker(os.environ)
    engine: Answerer = import_module("inference.engine_factory").build(own)
    publisher = Publisher(app_or_default())  # a proxy would find no app in another thread
    return Node(own, incarnation=uuid4().hex, publisher=publisher, engine=engine)
