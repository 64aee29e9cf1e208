"""What a source of game servers says: what it sees, and why it could not look."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from gameservers.errors import GameServerError

Clock = Callable[[], datetime]
LookUp = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the IP addresses of a host name. Raises LookError."""
MAX_SHOWN = 200
MAX_NAME = 200


class Kind(StrEnum):
    """What stands behind a name."""

    CLUSTER = "cluster"
    SERVICE = "service"
    REPLICA = "replica"
    DNS = "dns"
    LIST = "list"
    DIALLED = "dialled"
    OPENENV = "openenv"


class State(StrEnum):
    """What is known of a server."""

    FOUND = "found"
    HEALTHY = "healthy"
    UNREACHABLE = "unreachable"
    GONE = "gone"


class LookError(GameServerError):
    """A source could not be asked, or answered what cannot be used; the message is the reason."""


class Environment(NamedTuple):
    """What a server of OpenEnv does not say: which game it is, how many sessions it has."""

    game: str
    slots: int


@dataclass(frozen=True)
class Sighting:
    """One server as a source sees it."""

    name: str
    kind: Kind
    # As the source wrote it; empty where it has none, and then `reason` says why.
    address: str = ""
    reason: str = ""
    # What the source itself knows of it; None: whoever answers at the address is healthy.
    state: State | None = None
    # The name in its certificate, where the address holds an IP address instead.
    host: str = ""
    # Of one that speaks OpenEnv.
    environment: Environment | None = None


@dataclass(frozen=True)
class SourceView:
    """What a source sees now; `problems` are of single entries, and the others stand."""

    servers: tuple[Sighting, ...] = ()
    problems: tuple[str, ...] = ()


class Source(Protocol):
    """Where servers are looked for."""

    @property
    def name(self) -> str:
        """Return the name under which it is shown."""

    async def look(self) -> SourceView:
        """Return what is there now. Raises LookError."""


def shorten(text: object) -> str:
    """Return the beginning of what somebody else wrote, on one line and printable."""
    first, *more = str(text)[: 4 * MAX_SHOWN].strip().splitlines() or [""]
    line = "".join(letter if letter.isprintable() else "?" for letter in first)
    return f"{line[: MAX_SHOWN - 3]}..." if more or len(line) > MAX_SHOWN else line


def is_shown(name: str) -> bool:
    """Say whether a name can be that of a server."""
    return 0 < len(name) <= MAX_NAME and name.isprintable()
