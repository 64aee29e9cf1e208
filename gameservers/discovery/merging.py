"""What several sources say of the same server, made one: pure, no clock and no network."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from arena.addresses import IP, Address
from gameservers.discovery.sightings import Environment, Sighting, State


@dataclass(frozen=True)
class Place:
    """An address that may be connected to, and the IP address that its host had in this round."""

    address: Address
    ip: IP
    # The name in its certificate, where the address holds an IP address instead.
    name: str = ""
    # Of a server that speaks OpenEnv.
    environment: Environment | None = None

    @property
    def url(self) -> str:
        """Return the WebSocket address that holds the IP address."""
        return self.address.url(self.ip)

    @property
    def host(self) -> str:
        """Return what its certificate must name."""
        return self.name or self.address.host

    @property
    def key(self) -> str:
        """Return what two names of one place have in common."""
        place = str(Address(str(self.ip), self.address.port))
        # Several environments may share a port, each under a path of its own.
        return f"{place}{self.address.path}" if self.environment else place


@dataclass(frozen=True)
class Answer:
    """What a server said when it was tried; `refusal` is empty where it is well."""

    refusal: str = ""
    game: str = ""
    slots: int = 0


@dataclass(frozen=True)
class LocatedServer:
    """A sighting, by whom, and what became of its address."""

    source: str
    at: datetime
    sighting: Sighting
    place: Place | None = None
    # Why its address may not be connected to.
    refusal: str = ""


@dataclass
class MergedServer:
    """One server with all sightings of it."""

    seen: list[LocatedServer] = field(default_factory=list)

    @property
    def place(self) -> Place | None:
        """Return where it is, None as long as nobody knows."""
        return next((server.place for server in self.seen if server.place), None)

    def judge(self, answers: Mapping[str, Answer]) -> tuple[State, str]:
        """Return its state and the reason; answers: of the servers that were tried, by place."""
        verdicts = [_judge_server(server, answers) for server in self.seen]
        # One way in is enough: a server that has dialled in may have no endpoint of its own.
        for state in (State.HEALTHY, State.UNREACHABLE, State.FOUND):
            for verdict, reason in verdicts:
                if verdict is state:
                    return state, reason
        return State.FOUND, ""


def _judge_server(server: LocatedServer, answers: Mapping[str, Answer]) -> tuple[State, str]:
    own = server.sighting
    if server.refusal:
        return State.UNREACHABLE, server.refusal
    if own.state is not None:
        return own.state, own.reason
    answer = answers.get(server.place.key) if server.place else None
    if answer is None:
        return State.FOUND, own.reason or "not tried yet"
    return (State.UNREACHABLE, answer.refusal) if answer.refusal else (State.HEALTHY, "")


def merge(sightings: Iterable[LocatedServer]) -> dict[str, MergedServer]:
    """Return the servers by key; sightings of one address, or of one name, are one server.

    A name that has several places, as in DNS, stands for a server at each; what has the name alone
    belongs to the first of them.
    """
    by_key: dict[str, MergedServer] = {}
    keys_of_names: dict[str, str] = {}
    everything = list(sightings)
    for server in sorted(everything, key=lambda server: server.place is None):
        name = server.sighting.name
        key = server.place.key if server.place else keys_of_names.get(name, f"name {name}")
        by_key.setdefault(key, MergedServer()).seen.append(server)
        keys_of_names.setdefault(name, key)
    return by_key
