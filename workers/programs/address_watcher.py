"""Look every few seconds which addresses of agents take a connection, in a thread of its own."""

import socket
import threading
from collections.abc import Iterable
from urllib.parse import urlsplit

from arena.programs import Program
from workers.programs.http_line import CONNECT_S

EVERY_S = 5.0
_PORTS = {"http": 80, "https": 443}


class AddressWatcher:
    """Knows the programs whose address takes no connection; before the first look, none."""

    def __init__(self, programs: Iterable[Program], *, every_s: float = EVERY_S) -> None:
        self._addresses = {one.name: one.address for one in programs if one.address}
        self._every_s = every_s
        self.away: frozenset[str] = frozenset()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="addresses", daemon=True)

    def start(self) -> None:
        """Begin to look, where there are addresses."""
        if self._addresses:
            self._thread.start()

    def close(self) -> None:
        """Stop looking, without waiting for a look that is under way."""
        self._is_closed.set()

    def look(self) -> None:
        """Try all addresses once."""
        self.away = frozenset(
            name for name, address in self._addresses.items() if not _takes_connection(address)
        )

    def _watch(self) -> None:
        self.look()
        while not self._is_closed.wait(self._every_s):
            self.look()


def _takes_connection(address: str) -> bool:
    parts = urlsplit(address)
    place = parts.hostname, parts.port or _PORTS[parts.scheme]
    # Nothing is asked: whoever listens may be busy with a decision, and need not know of us.
    try:
        socket.create_connection(place, timeout=CONNECT_S).close()
    except (OSError, ValueError):  # the latter of what can be no name of a host
        return False
    return True
