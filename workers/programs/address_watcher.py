"""Look every few seconds which addresses of agents take a connection, in a thread of its own."""

import socket
import threading
from collections.abc import Iterable
from urllib.parse import urlsplit

from arena.programs import Program
from workers.programs.http_line import CONNECT_S

EVERY_S = 5.0
# Looks until the next one at an address that answered: a connection that is only looked by waits in
# line of a server that takes one at a time, and a full line looks like nobody.
LOOKS_BETWEEN = 12
_PORTS = {"http": 80, "https": 443}


class AddressWatcher:
    """Knows the programs whose address takes no connection; before the first look, none."""

    def __init__(self, programs: Iterable[Program], *, every_s: float = EVERY_S) -> None:
        self._addresses = {one.name: one.address for one in programs if one.address}
        self._every_s = every_s
        self._n_looks = 0
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
        """Try the addresses that are away, and from time to time all."""
        is_full = self._n_looks % LOOKS_BETWEEN == 0
        self._n_looks += 1
        names = self._addresses if is_full else self.away
        self.away = frozenset(
            name for name in names if not _takes_connection(self._addresses[name])
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
