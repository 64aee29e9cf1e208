"""Finds servers and looks at them, by itself and when somebody asks for it."""

import time
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

from arena.addresses import read_address
from gameservers.discovery.merging import Place
from gameservers.discovery.probing import greet_server
from gameservers.discovery.registry import Registry, Server
from gameservers.discovery.sightings import Kind, State
from gameservers.head.looking import look_at_all
from gameservers.head.servers import FoundServer, ServerBoard
from gameservers.head.servers import State as KnownState


class Discovering:
    """Asks the sources of a registry, and the servers that they name more often."""

    def __init__(self, board: ServerBoard, registry: Registry) -> None:
        """registry: tries no server itself, as we look at them."""
        self._board, self._registry = board, registry

    @property
    def interval_s(self) -> float:
        """Seconds between two rounds of the sources."""
        return self._registry.interval_s

    async def find(self) -> None:
        """Ask the sources, then look at every server; a call during a round shares it."""
        await self._registry.refresh()
        self._board.note_found(list_found(self._registry.servers()), now=time.time())
        await self.look()

    async def look(self) -> None:
        """Look at every server that listens."""
        await look_at_all(self._board, greet_server)

    def list_sources(self) -> list[dict[str, Any]]:
        """Return what each source said last, for pages and programs."""
        now = time.time()
        return [
            {
                "name": source.name,
                "servers": source.n_servers,
                "failure": source.failure,
                "problems": list(source.problems),
                "since_s": round(now - source.at.timestamp(), 1) if source.at else None,
            }
            for source in self._registry.sources()
        ]


def list_found(servers: Iterable[Server]) -> list[FoundServer]:
    """Return what sources name now, with where it may be dialled."""
    return [_describe_server(server) for server in servers if server.state is not State.GONE]


def _describe_server(server: Server) -> FoundServer:
    source = " and ".join(server.sources)
    # Behind the balancer of a service each line would come to another replica.
    if not server.url or server.kind is Kind.SERVICE or server.state is State.UNREACHABLE:
        is_bad = server.state is State.UNREACHABLE
        state = KnownState.UNREACHABLE if is_bad else KnownState.FOUND
        return FoundServer(server.name, server.address, source, None, state, server.reason)
    address = read_address(server.address)
    place = Place(address, ip_address(server.ip), server.host, server.environment)
    # Of TLS the name must reach players: a certificate is checked against it.
    dialled = address.url() if address.is_tls else server.url
    return FoundServer(server.name, dialled, source, place)
