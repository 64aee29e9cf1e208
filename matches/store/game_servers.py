"""The game servers: which of them may be sent matches of a game now, how many, and why not more.

A server has as many slots as it plays episodes at once. They are counted by what was sent and has
not ended, whether or not it is being played: no player is ever told that a server is full.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from heapq import heapify, heapreplace

from arena.games import registry as games
from arena.games.base import GameSpec
from matches.models import Order, Worker
from matches.store.catalog import game_problem
from matches.store.clock import ALIVE_WITHIN, SERVER_ALIVE_WITHIN
from matches.store.formats import format_count, format_span, hide_folders

RULES = "rules"
"""In the versions of a game server: the number of its rules."""
START_HINT = "start one: docs/gameservers.md says how"
MAX_IN_ORDER = 100
"""Servers that one order names; its message holds no more."""
MAX_NAMED = 3

# After the first loss in a row, and at most: each one doubles it.
FIRST_PAUSE_S, MAX_PAUSE_S = 5, 300
_SCHEMES = ("ws://", "wss://")

Dealt = Mapping[str, Sequence[int]]
"""The matches of an order that have not ended, by server."""


@dataclass(frozen=True)
class GameServer:
    """A server that may be sent matches."""

    name: str
    slots: int
    n_free: int


class ServerPool:
    """The game servers as one pass of the relay sees them; nothing is read until it is asked."""

    def __init__(self, *, now: datetime) -> None:
        """Look at a moment of the database's clock."""
        self._now = now

    @cached_property
    def _workers(self) -> Sequence[Worker]:
        return list_servers(now=self._now)

    @cached_property
    def _n_taken(self) -> Counter[str]:
        return count_taken(read_dealt())

    def list_free(self, spec: GameSpec) -> list[GameServer]:
        """Return the servers of a game that have free slots, those with the most of them first."""
        able = [w for w in self._workers if not describe_problem(w, spec, now=self._now)]
        servers = [GameServer(w.node, w.slots, w.slots - self._n_taken[w.node]) for w in able]
        free = [server for server in servers if server.n_free > 0]
        return sorted(free, key=lambda server: (-server.n_free, server.name))[:MAX_IN_ORDER]

    def count_slots(self, spec: GameSpec) -> int:
        """Return the slots of all servers of a game that may be sent matches."""
        able = [w for w in self._workers if not describe_problem(w, spec, now=self._now)]
        return sum(worker.slots for worker in able)

    def take(self, dealt: Dealt) -> None:
        """Note what an order of this pass holds."""
        self._n_taken.update(count_taken([dealt]))


def list_servers(*, now: datetime) -> list[Worker]:
    """Return the game servers that were heard of lately, by name; also those in quarantine."""
    recent = Worker.objects.filter(last_seen_at__gte=now - ALIVE_WITHIN).exclude(game="")
    return list(recent.order_by("node"))


def read_dealt() -> list[Dealt]:
    """Return what the open orders hold of each server."""
    return [*Order.objects.filter(Order.is_open()).values_list("servers", flat=True)]


def count_taken(dealt: Iterable[Dealt]) -> Counter[str]:
    """Return the slots that are taken, by server."""
    n_taken: Counter[str] = Counter()
    for of_order in dealt:
        n_taken.update({name: len(matches) for name, matches in of_order.items()})
    return n_taken


def deal_matches(matches: Sequence[int], servers: Sequence[GameServer]) -> dict[str, list[int]]:
    """Deal matches in proportion to free slots, in turns; there must be one for each of them."""
    dealt: dict[str, list[int]] = {server.name: [] for server in servers}
    # Place k of n is due at (k + 1/2) / n: whoever has twice as many gets twice as often.
    due = [(0.5 / server.n_free, server.name, server.n_free) for server in servers]
    heapify(due)
    for match in matches:
        at, name, n_free = due[0]
        dealt[name].append(match)
        heapreplace(due, (at + 1 / n_free, name, n_free))
    return {name: numbers for name, numbers in dealt.items() if numbers}


def is_alive(worker: Worker, *, now: datetime) -> bool:
    """Say whether a node or a server was heard of as lately as its kind is."""
    within = SERVER_ALIVE_WITHIN if worker.is_server else ALIVE_WITHIN
    return now - worker.last_seen_at <= within


def compute_pause(worker: Worker) -> timedelta:
    """Return how long after its last loss a server is tried again."""
    doublings = min(max(worker.n_lost - 1, 0), 10)
    return timedelta(seconds=min(FIRST_PAUSE_S * 2**doublings, MAX_PAUSE_S))


def describe_problem(worker: Worker, spec: GameSpec, *, now: datetime) -> str:
    """Return why a server is sent no match of a game now; empty where it may be sent some."""
    if worker.game != spec.id:
        return f"plays {worker.game or 'nothing'}"
    if worker.quarantined_at is not None:
        return f"is in quarantine: {worker.quarantine_reason}"
    if not is_alive(worker, now=now):
        return f"has been silent for {format_span((now - worker.last_seen_at).total_seconds())}"
    if (rules := str(worker.versions.get(RULES, ""))) != str(spec.rules_version):
        return f"has version {rules or 'none'} of the rules, which are {spec.rules_version} here"
    if not worker.address.startswith(_SCHEMES):
        return f"has the address {worker.address!r:.80}, which does not begin with ws:// or wss://"
    return _describe_loss(worker, now=now)


def _describe_loss(worker: Worker, *, now: datetime) -> str:
    if worker.lost_at is None:
        return ""
    since = format_span(max(0.0, (now - worker.lost_at).total_seconds()))
    if worker.last_seen_at <= worker.lost_at:
        return f"was lost by a player {since} ago and has not been heard of since"
    left = worker.lost_at + compute_pause(worker) - now
    if left <= timedelta(0):
        return ""
    wait = format_span(left.total_seconds())
    return f"was lost by a player {since} ago, tried again in {wait}"


def describe_missing(game: str, workers: Iterable[Worker], *, now: datetime) -> str:
    """Return which server must be there before a game can be played; empty where one is.

    workers: the game servers that were heard of lately. A game whose file is gone: that it is.
    """
    if problem := game_problem(game):
        return hide_folders(problem)
    spec = games.get(game).spec
    of_game = [worker for worker in workers if worker.game == spec.id]
    problems = {worker.node: describe_problem(worker, spec, now=now) for worker in of_game}
    if not all(problems.values()):
        return ""
    problem_texts = [f"{node} {text}" for node, text in problems.items()][:MAX_NAMED]
    more = [f"and {len(problems) - MAX_NAMED:,} more"] if len(problems) > MAX_NAMED else []
    only = f" but {', '.join([*problem_texts, *more])}" if problem_texts else ""
    return f"a game server of {spec.id}: none may be sent matches{only} ({START_HINT})"


def describe_busy(
    game: str, workers: Iterable[Worker], n_taken: Mapping[str, int], *, now: datetime
) -> str:
    """Return that all slots of the servers of a game are taken; empty where some are free."""
    if game_problem(game):
        return ""
    spec = games.get(game).spec
    able = [worker for worker in workers if not describe_problem(worker, spec, now=now)]
    if not able or any(n_taken.get(worker.node, 0) < worker.slots for worker in able):
        return ""
    n_slots = sum(worker.slots for worker in able)
    slots, servers = format_count(n_slots, "slot"), format_count(len(able), "game server")
    return f"free slots on game servers of {spec.id}: all {slots} of {servers} are taken"
