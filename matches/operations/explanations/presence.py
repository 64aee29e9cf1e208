"""What is missing or held back: nodes, control and recorder, checks, agents in quarantine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from arena.needs import CPU, GPU, SERVER, TORCH, Needs
from matches.ledger import recorder_marks
from matches.models import Agent, Checkpoint, Worker
from matches.store import disk, game_servers
from matches.store.clock import ALIVE_WITHIN, LOST_WITHIN
from matches.store.formats import format_ago, format_count, format_since, format_span
from matches.store.order_versions import describe_old_nodes
from matches.store.plugin_files import Files, describe_missing_files, has_files
from matches.store.start_hints import GPU_HINT, PLAY_HINT, TORCH_HINT

MAX_NAMED = 3
"""Agents in quarantine that are named; of more it is said that there are more."""
SILENT_AFTER = timedelta(seconds=10)
"""Control sends a mark every second; one that is older than this did not come through."""


@dataclass(frozen=True)
class Presence:
    """What reported lately, read once for an explanation."""

    workers: tuple[Worker, ...]
    mark: recorder_marks.LatestMark
    """Of the recorder that is the furthest behind."""
    now: datetime
    n_taken: Mapping[str, int] | None = None
    """Slots of game servers that are taken; None: read when they are asked for."""
    lost: tuple[Worker, ...] = ()
    """Those that fell silent lately."""

    def list_able(self, needs: Needs, files: Files) -> list[Worker]:
        """Return the nodes that are alive, can play this and are not in quarantine."""
        return [w for w in self._list_capable(needs) if has_files(w.plugins, files)]

    def _list_capable(self, needs: Needs) -> list[Worker]:
        free = [worker for worker in self.workers if worker.quarantined_at is None]
        return [worker for worker in free if needs.are_met_by(worker.capabilities)]

    def list_missing(self, needs: Needs, files: Files, *, game: str) -> list[str]:
        """Return what must be started before matches of a game with these needs can be played."""
        missing = []
        capable = self._list_capable(needs)
        if capable and not self.list_able(needs, files):
            missing.append(describe_missing_files(capable, files))
        missing += filter(None, [describe_old_nodes(capable, needs)])
        if not capable:
            quarantined = [w.node for w in self.workers if needs.are_met_by(w.capabilities)]
            only = f" but {', '.join(quarantined)}, in quarantine" if quarantined else ""
            lost = self._describe_lost(needs)
            missing.append(f"{needs.node}: none is alive{only}{lost} ({_describe_start(needs)})")
        return missing + self.list_missing_services(needs, game=game)

    def _describe_lost(self, needs: Needs) -> str:
        """Return which nodes could have played these, and since when they are silent."""
        lost = [worker for worker in self.lost if needs.are_met_by(worker.capabilities)]
        lost.sort(key=lambda worker: worker.last_seen_at, reverse=True)
        named_nodes = [
            f"{worker.node} was lost{format_ago(worker.last_seen_at, now=self.now)}"
            for worker in lost[:MAX_NAMED]
        ]
        more = [f"{len(lost) - MAX_NAMED:,} more before"] if len(lost) > MAX_NAMED else []
        return "".join(f", {text}" for text in named_nodes + more)

    def list_missing_services(self, needs: Needs, *, game: str) -> list[str]:
        """Return what must be started before what matches of this game ask for answers."""
        missing = self.list_missing_gpu() if GPU in needs.services else []
        if SERVER in needs.services:
            servers = self._list_servers()
            missing.append(game_servers.describe_missing(game, servers, now=self.now))
        return [text for text in missing if text]

    def list_busy_servers(self, needs: Iterable[Needs], *, game: str) -> list[str]:
        """Return that the game servers of these matches have no room, if that is so."""
        if not any(SERVER in one.services for one in needs):
            return []
        n_taken = self.n_taken
        if n_taken is None:
            n_taken = game_servers.count_taken(game_servers.read_dealt())
        busy = game_servers.describe_busy(game, self._list_servers(), n_taken, now=self.now)
        return [busy] if busy else []

    def _list_servers(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.is_server]

    def list_missing_gpu(self) -> list[str]:
        """Return what must be started before a gpu worker answers."""
        free = [worker for worker in self.workers if worker.quarantined_at is None]
        if any(GPU in worker.capabilities for worker in free):
            return []
        return [f"a gpu worker: none is alive ({GPU_HINT})"]

    def list_missing_control(self) -> list[str]:
        """Return what must come back before anything is planned, sent or given up."""
        full = [f"room: {shortage}"] if (shortage := disk.describe_shortage()) else []
        programs = f"control and {self.mark.recorder}"
        if self.mark.at is None:
            return [*full, f"{programs}: neither has given a sign of life"]
        silent = self.now - self.mark.at
        if silent <= SILENT_AFTER:
            return full
        return [
            *full,
            f"{programs}: the last sign of life was {format_span(silent.total_seconds())} ago",
        ]


def read_presence(*, now: datetime) -> Presence:
    """Return which nodes live, and which were lost: two queries."""
    recent = Worker.objects.filter(last_seen_at__gte=now - LOST_WITHIN)
    mark = recorder_marks.find_slowest_mark(recorder_marks.read_marks())
    return divide_workers(recent, mark, now=now)


def divide_workers(
    workers: Iterable[Worker],
    mark: recorder_marks.LatestMark,
    *,
    now: datetime,
    n_taken: Mapping[str, int] | None = None,
) -> Presence:
    """Divide the workers seen lately into living and lost ones."""
    alive, lost = list[Worker](), list[Worker]()
    for worker in workers:
        (alive if now - worker.last_seen_at <= ALIVE_WITHIN else lost).append(worker)
    return Presence(tuple(alive), mark, now, n_taken, tuple(lost))


def _describe_start(needs: Needs) -> str:
    """Return how a node is started that can play these."""
    if programs := needs.programs:
        listed = "; ".join(f"{name}=..." for name in programs)
        where = "where it is installed or its address answers"
        return f'{where}: ./run stop, then EVALSITE_PROGRAMS="{listed}" ./run up'
    if own := needs.capabilities - {CPU, TORCH}:
        capabilities = ",".join([CPU, *sorted(needs.capabilities & {TORCH}), *sorted(own)])
        return f"where it is installed: ./run stop, then ./run up --capabilities {capabilities}"
    return TORCH_HINT if TORCH in needs.capabilities else PLAY_HINT


def describe_check(checkpoint: Checkpoint, presence: Presence) -> str:
    """Return what to wait for until the verdict on a checkpoint."""
    waiting = format_since(checkpoint.created_at, now=presence.now)
    missing = [*presence.list_missing_gpu(), *presence.list_missing_control()]
    orders = f"ordered {format_count(checkpoint.n_asked, 'time')} so far"
    state = ", ".join(missing) or (orders if checkpoint.n_asked else "not ordered yet")
    return f"the check of checkpoint {checkpoint}{waiting}: {state}"


def list_held(agents: QuerySet[Agent]) -> list[str]:
    """Return which of the agents must be released before their matches are sent."""
    quarantined = list(agents.filter(quarantined_at__isnull=False).order_by("pk")[: MAX_NAMED + 1])
    lines = [
        f"agent {agent.name} to be released: in quarantine, {agent.quarantine_reason}"
        for agent in quarantined[:MAX_NAMED]
    ]
    return [*lines, *(["more agents to be released"] if len(quarantined) > MAX_NAMED else [])]
