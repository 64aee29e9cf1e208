"""One play node: its settings, its players and its courier, from start to stop."""

import gc
import logging
import os
import platform
import time
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from uuid import uuid4

import msgspec
from celery.app import app_or_default

from arena.messages import Alive, MatchOrder
from workers import node_lock, settings
from workers.doorbells import Ring, unheard
from workers.orphans import adopt_orphans
from workers.outbox import Courier, Publish
from workers.pool import Crew
from workers.progress import Pace
from workers.publisher import Publisher
from workers.reports import OrderReports
from workers.scheduler import Conductor
from workers.settings import Settings
from workers.stop_signals import Stopper

log = logging.getLogger(__name__)

PACKAGES = ("evalsite", "open_spiel", "numpy", "celery")
MAX_PACES = 256


class Node:
    """Plays orders, one after the other."""

    def __init__(
        self,
        own: Settings,
        *,
        incarnation: str,
        place: str = "",
        publish: Publish,
        ring: Ring = unheard,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own, self._incarnation, self._place, self._clock = own, incarnation, place, clock
        self._versions = versions()
        self._orders: list[str] = []
        self._paces: dict[bytes, Pace] = {}
        self._stopper = Stopper()
        self._courier = Courier(publish, self.alive, alive_s=own.alive_s, clock=clock, ring=ring)
        self._crew = Crew(
            own.slots, clock=clock, ring=self._ring, wait_s=own.wait_s, player_mb=own.player_mb
        )

    def open(self) -> None:
        """Start the players and say that the node lives."""
        self._stopper.install()
        adopt_orphans()
        # Celery's objects live as long as the worker: going through them at each collection took
        # a third of the parent's time in orders of short matches.
        gc.collect()
        gc.freeze()
        self._crew.fill()
        self._courier.start()
        log.info("node %s plays with %d players", self._own.node, self._own.slots)

    def close(self) -> None:
        """End the players and send the reports that wait."""
        self._crew.close()
        adopt_orphans(adopt=False)
        self._courier.close(self._own.notice_s)

    def alive(self) -> Alive:
        """Return the sign of life."""
        return Alive(
            node=self._own.node,
            incarnation=self._incarnation,
            slots=self._own.slots,
            capabilities=list(self._own.capabilities),
            versions=self._versions,
            orders=list(self._orders),
            key=self._own.key,
            place=self._place,
        )

    def play(self, order: MatchOrder) -> dict[str, int]:
        """Play an order; report what becomes of its matches and return how many ended how."""
        reports = OrderReports(
            order,
            node=self._own.node,
            incarnation=self._incarnation,
            key=self._own.key,
            post=self._courier.post,
            report_s=self._own.report_s,
            now=self._clock(),
        )
        conductor = Conductor(
            order,
            self._crew,
            reports,
            self._pace(order),
            stop=self._stopper,
            notice_s=self._own.notice_s,
            clock=self._clock,
        )
        self._orders.append(order.order)
        try:
            conductor.run()
        finally:
            self._orders.remove(order.order)
        return reports.endings

    def _ring(self, shard: int, lease: str) -> None:
        """Pass a doorbell on; a shard that does not exist would fill a queue nobody reads."""
        if shard < self._own.n_shards:
            self._courier.ring(shard, lease)
        else:
            log.warning("a player rings for shard %d of %d", shard, self._own.n_shards)

    def _pace(self, order: MatchOrder) -> Pace:
        """Return what is known of how long matches of this game and these parameters take."""
        key = msgspec.json.encode([order.game, order.game_parameters], order="sorted")
        known = self._paces.pop(key, None)
        if len(self._paces) >= MAX_PACES:
            self._paces.pop(next(iter(self._paces)))
        pace = self._paces[key] = Pace(None if known is None else known.match_s)
        return pace


def versions() -> dict[str, str]:
    """Return the versions of what decides how a match is played."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            log.debug("%s is not installed as a package: its version is not reported", package)
    return found


@cache
def here() -> Node:
    """Return the node that this process is."""
    app = app_or_default()  # a proxy would find no app in another thread
    publisher = Publisher(app)
    own = settings.read(os.environ)
    return Node(
        own,
        incarnation=uuid4().hex,
        place=node_lock.take(own.node, own.redis_url),
        publish=publisher.publish,
        ring=publisher.ring,
    )
