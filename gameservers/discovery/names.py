"""Game servers by their addresses: a list that an operator keeps, all addresses of a DNS name."""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import replace

from arena.addresses import Address
from gameservers.discovery.sightings import Kind, LookError, LookUp, Sighting, SourceView


class ServerList:
    """The addresses that an operator has written down."""

    name = "list"

    def __init__(self, addresses: Sequence[str]) -> None:
        self._servers = tuple(Sighting(address, Kind.LIST, address) for address in addresses)

    async def look(self) -> SourceView:
        """Return them all."""
        return SourceView(self._servers)


class DnsName:
    """All addresses of one name: a headless service of Kubernetes has one for each of its pods."""

    def __init__(self, address: Address, *, look_up: LookUp) -> None:
        self._address, self._look_up = address, look_up
        self.name = f"dns {address}"

    async def look(self) -> SourceView:
        """Return a server for each address. Raises LookError."""
        host = self._address.host
        ips = sorted(set(await self._look_up(host)))
        places = (replace(self._address, host=ip).url() for ip in ips)
        return SourceView(tuple(Sighting(host, Kind.DNS, place, host=host) for place in places))


async def look_up_host(host: str) -> list[str]:
    """Return the IP addresses of a host name. Raises LookError."""
    try:
        answers = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise LookError(f"the name {host} cannot be looked up: {why}") from error
    return [str(address[0]) for *_, address in answers]
