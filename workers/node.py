"""One play node: its settings, its players and its outbox, from start to stop."""

import gc
import logging
import os
import time
from collections.abc import Callable
from functools import cache
from uuid import uuid4

import msgspec
from celery.app import app_or_default

from arena.catalogs import hash_plugin_files
from arena.machine import measure_load, read_versions
from arena.messages import ORDERS, ORDERS_WITH_SERVERS, PLAYED_PLUGINS, Alive, Ending, MatchOrder
from arena.programs import name_capability
from arena.queues import REPORTS_QUEUE
from workers import node_lock, settings
from workers.doorbells import Ring, ignore_doorbell
from workers.notices.watcher import NoticeWatcher, choose_cloud
from workers.orphans import adopt_orphans
from workers.outbox import OutboxThread, Publish
from workers.pool import PlayerPool
from workers.programs.address_watcher import AddressWatcher
from workers.progress import PaceEstimate
from workers.publisher import Publisher
from workers.reports import OrderReports
from workers.scheduler import Scheduler
from workers.settings import Settings
from workers.stop_signals import StopSignals

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
        ring: Ring = ignore_doorbell,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own, self._incarnation, self._place, self._clock = own, incarnation, place, clock
        # Of orders: with actions to go on from and game servers to play on. A node that does not
        # say so is sent none.
        self._versions = {**read_versions(PACKAGES), ORDERS: ORDERS_WITH_SERVERS}
        # Once: an edited file is played after the next start.
        self._plugins = hash_plugin_files(PLAYED_PLUGINS)
        self._orders: list[str] = []
        self._paces: dict[bytes, PaceEstimate] = {}
        self._stop_signals = StopSignals()
        cloud = choose_cloud(own.notices, own.notices_url)
        self._notices = NoticeWatcher(cloud) if cloud else None
        self._addresses = AddressWatcher(own.programs.values())
        self._outbox = OutboxThread(
            publish, self.sign_of_life, alive_s=own.alive_s, clock=clock, ring=ring
        )
        self._pool = PlayerPool(
            own.slots,
            clock=clock,
            ring=self._pass_doorbell_on,
            wait_s=own.wait_s,
            player_mb=own.player_mb,
        )

    def open(self) -> None:
        """Start the players and say that the node lives."""
        self._stop_signals.install_handlers()
        if self._notices:
            self._notices.hold_start(self._stop_signals)
            self._notices.start()
        self._addresses.start()
        adopt_orphans()
        # Celery's objects live as long as the worker: going through them at each collection took
        # a third of the parent's time in orders of short matches.
        gc.collect()
        gc.freeze()
        self._pool.start_missing_players()
        self._outbox.start()
        log.info("node %s plays with %d players", self._own.node, self._own.slots)

    def close(self) -> None:
        """End the players and send the reports that wait."""
        if self._notices:
            self._notices.close()
        self._addresses.close()
        self._pool.close()
        adopt_orphans(adopt=False)
        self._outbox.close(self._own.notice_s)

    def sign_of_life(self) -> Alive:
        """Return the sign of life."""
        return Alive(
            node=self._own.node,
            incarnation=self._incarnation,
            slots=self._own.slots,
            capabilities=[*self._own.capabilities, *self._list_programs()],
            versions=self._versions,
            orders=list(self._orders),
            key=self._own.key,
            place=self._place,
            labels=dict(self._own.labels),
            load=measure_load(),
            plugins=self._plugins,
        )

    def _list_programs(self) -> list[str]:
        """Return what it has of the programs that its operator lists: looked for each time.

        One that was taken away, or whose address is, is no reason to be sent its matches and to
        give them back: they wait for it, and no attempt is spent.
        """
        away, programs = self._addresses.away, self._own.programs.values()
        present = [one.name for one in programs if one.is_there and one.name not in away]
        if lacking := sorted(self._own.programs.keys() - present):
            log.warning(
                "no match is played here of programs not found or away: %s", ", ".join(lacking)
            )
        return [name_capability(name) for name in present]

    def play_order(self, order: MatchOrder) -> dict[str, int]:
        """Play an order; report what becomes of its matches and return how many ended how."""
        reports = OrderReports(
            order,
            node=self._own.node,
            incarnation=self._incarnation,
            key=self._own.key,
            post=self._outbox.post_report,
            report_s=self._own.report_s,
            now=self._clock(),
        )
        reports.actions_s = self._own.actions_s
        scheduler = Scheduler(
            order,
            self._pool,
            reports,
            self._recall_pace(order),
            stop=self._stop_signals,
            notice_s=self._own.notice_s,
            clock=self._clock,
        )
        self._orders.append(order.order)
        try:
            scheduler.play_order()
        finally:
            self._orders.remove(order.order)
        if reports.endings.get(Ending.FAILED.value):
            self._forget_edited_plugins()
        return reports.endings

    def _forget_edited_plugins(self) -> None:
        """Stop reporting plug-ins edited since the start, so that none of their matches come.

        A player that loads it now refuses what control asks for, until all start again.
        """
        present = hash_plugin_files(PLAYED_PLUGINS) if self._plugins else {}
        unchanged = {file: own for file, own in self._plugins.items() if present.get(file) == own}
        if edited := sorted(self._plugins.keys() - unchanged):
            log.warning("not played before the next start, as they changed: %s", ", ".join(edited))
            self._plugins = unchanged
            # At once: this node has nothing to do, so that the next order would be for it.
            self._outbox.post_report(
                self.sign_of_life(), queue=REPORTS_QUEUE, keep_s=self._own.alive_s
            )

    def _recall_pace(self, order: MatchOrder) -> PaceEstimate:
        """Return what is known of how long matches of this game and these parameters take."""
        kind = msgspec.json.encode([order.game, order.game_parameters], order="sorted")
        pace_before = self._paces.pop(kind, None)
        if len(self._paces) >= MAX_PACES:
            # Taken out and put in at each use, so the first is the one that was used longest ago.
            self._paces.pop(next(iter(self._paces)))
        pace = self._paces[kind] = PaceEstimate(
            None if pace_before is None else pace_before.match_s
        )
        return pace

    def _pass_doorbell_on(self, shard: int, lease: str) -> None:
        """Pass a doorbell on; a shard that does not exist would fill a queue nobody reads."""
        if shard < self._own.n_shards:
            self._outbox.post_doorbell(shard, lease)
        else:
            log.warning("a player rings for shard %d of %d", shard, self._own.n_shards)


@cache
def this_node() -> Node:
    """Return the node that this process is."""
    app = app_or_default()  # a proxy would find no app in another thread
    publisher = Publisher(app)
    own = settings.read_settings(os.environ)
    return Node(
        own,
        incarnation=uuid4().hex,
        place=node_lock.lock_node_name(own.node, own.redis_url),
        publish=publisher.publish_report,
        ring=publisher.publish_doorbell,
    )
