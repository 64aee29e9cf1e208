"""The game servers that the head knows: found, healthy, unreachable, leaving or gone, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import uuid4

from arena.credentials import NAME_RULE, is_node_name
from arena.games.line_messages import PROTOCOL, ServerHello
from gameservers.discovery.merging import Place

# What is gone is shown for so long.
SHOWN_S = 3_600.0
MAX_SERVERS = 1_000
DIALLED_IN = "dialled in"
# Of the load that a server tells of.
PLAYING, EPISODES = "playing", "episodes"


def dialled_key(name: str) -> str:
    """Return the key of a server that dialled in."""
    return f"play:{name}"


class State(StrEnum):
    """What is known of a server."""

    FOUND = "found"
    HEALTHY = "healthy"
    UNREACHABLE = "unreachable"
    LEAVING = "leaving"
    GONE = "gone"


class FoundServer(NamedTuple):
    """A server that sources of discovery name; without a place it is not dialled by us."""

    name: str
    address: str
    source: str
    place: Place | None
    # What the sources know of one that is not dialled.
    state: State = State.FOUND
    reason: str = ""

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return self.address or f"name:{self.name}"


@dataclass
class KnownServer:
    """One server; `key` is its address, or of one that dialled in its name behind `play:`."""

    key: str
    name: str
    address: str
    source: str
    since: float
    state: State = State.FOUND
    reason: str = ""
    place: Place | None = None
    hello: ServerHello | None = None
    seen_at: float = 0.0
    latency_ms: float | None = None
    incarnation: str = field(default_factory=lambda: uuid4().hex)

    @property
    def n_playing(self) -> float:
        """Episodes that it plays now, as it says."""
        return self.hello.load.get(PLAYING, 0.0) if self.hello else 0.0

    def become(self, state: State, reason: str, *, now: float) -> None:
        """Take another state, or another reason for it."""
        if state != self.state:
            self.since = now
            if state == State.HEALTHY:
                self.incarnation = uuid4().hex
        self.state, self.reason = state, reason

    def as_row(self, *, now: float) -> dict[str, Any]:
        """Return the server as pages and programs see it."""
        hello = self.hello
        load = hello.load if hello else {}
        return {
            "name": self.name,
            "address": self.address,
            "source": self.source,
            "state": self.state.value,
            "reason": self.reason,
            "since_s": round(max(0.0, now - self.since), 1),
            "seen_s": round(max(0.0, now - self.seen_at), 1) if self.seen_at else None,
            "game": hello.game if hello else "",
            "slots": hello.slots if hello else None,
            "cpu": load.get("cpu"),
            "memory": load.get("memory"),
            "playing": load.get(PLAYING),
            "episodes": load.get(EPISODES),
            "latency_ms": None if self.latency_ms is None else round(self.latency_ms, 2),
        }


class ServerBoard:
    """All servers by their keys; told by discovery, by looks and by those that dial in."""

    def __init__(self) -> None:
        self._servers: dict[str, KnownServer] = {}
        # Ended since the start of the head, on all servers.
        self.n_episodes = 0.0

    def note_found(self, servers: Iterable[FoundServer], *, now: float) -> None:
        """Take what discovery found; what it finds no more is gone."""
        keys = set()
        for listed in servers:
            keys.add(listed.key)
            server = self._servers.get(listed.key)
            if server is None:
                if len(self._servers) >= MAX_SERVERS:
                    continue
                server = KnownServer(
                    listed.key, listed.name, listed.address, listed.source, since=now
                )
                self._servers[listed.key] = server
            server.place, server.source = listed.place, listed.source
            if listed.place is None:
                server.become(listed.state, listed.reason, now=now)
            elif server.state == State.GONE:
                server.become(State.FOUND, "", now=now)
        for server in self.list_all():
            is_listed = server.source == DIALLED_IN or server.key in keys
            if not is_listed and server.state != State.GONE:
                server.become(State.GONE, f"no longer named by {server.source}", now=now)
            if server.state == State.GONE and now - server.since > SHOWN_S:
                del self._servers[server.key]

    def note_dialled_in(self, hello: ServerHello, address: str, *, now: float) -> KnownServer:
        """Take a server that has opened a line to us; one that is not healthy then is refused."""
        key = dialled_key(hello.name)
        server = self._servers.get(key)
        if server is None:
            server = KnownServer(key, hello.name, address, DIALLED_IN, since=now)
        self.note_hello(server, hello, now=now)
        if key not in self._servers and len(self._servers) >= MAX_SERVERS:
            server.become(
                State.UNREACHABLE, f"the head knows {MAX_SERVERS} servers, no more", now=now
            )
        elif server.state == State.HEALTHY:
            self._servers[key] = server
        return server

    def note_hello(
        self,
        server: KnownServer,
        hello: ServerHello,
        *,
        now: float,
        latency_ms: float | None = None,
    ) -> None:
        """Take what a server said of itself just now."""
        server.seen_at, server.latency_ms = now, latency_ms
        if refusal := self._refuse_hello(server, hello):
            server.become(State.UNREACHABLE, refusal, now=now)
            return
        self._count_episodes(server, hello)
        server.hello, server.name = hello, hello.name
        server.become(State.HEALTHY, "", now=now)

    def find(self, key: str) -> KnownServer | None:
        """Return a server by its key, None where there is none."""
        return self._servers.get(key)

    def list_all(self) -> list[KnownServer]:
        """Return all servers, by name."""
        return sorted(self._servers.values(), key=lambda server: (server.name, server.key))

    def list_healthy(self) -> list[KnownServer]:
        """Return those that matches may be sent to."""
        return [server for server in self.list_all() if server.state == State.HEALTHY]

    def list_listening(self) -> list[KnownServer]:
        """Return those that are looked at: they have an address that may be dialled."""
        return [server for server in self.list_all() if server.place and server.state != State.GONE]

    def _count_episodes(self, server: KnownServer, hello: ServerHello) -> None:
        ended = hello.load.get(EPISODES, 0.0)
        before = server.hello.load.get(EPISODES, 0.0) if server.hello else ended
        # Fewer than before: it has started again, and counts from nothing.
        self.n_episodes += ended - before if ended >= before else ended

    def _refuse_hello(self, server: KnownServer, hello: ServerHello) -> str:
        if not is_node_name(hello.name):
            return f"its name is {hello.name!r:.100}: must be {NAME_RULE}"
        if hello.protocol != PROTOCOL:
            return f"it speaks version {hello.protocol} of the protocol, the head {PROTOCOL}"
        for other in self.list_healthy():
            # Results and quarantine go by the name.
            if other.name == hello.name and other.key != server.key:
                return f"the server at {other.address} has the name {hello.name}, too: rename one"
        return ""
