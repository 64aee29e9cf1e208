"""The registry of game servers: what was found, what is healthy, unreachable or gone, and why."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from arena.addresses import AddressError, Networks, admit, read_address
from gameservers.discovery.merging import Answer, LocatedServer, MergedServer, Place, merge
from gameservers.discovery.sightings import (
    Clock,
    Environment,
    Kind,
    LookError,
    LookUp,
    Sighting,
    Source,
    SourceView,
    State,
    shorten,
)

Probe = Callable[[Place], Awaitable[Answer]]
"""Tries a server; an answer with a refusal where it is not well. Raises nothing of the network."""
INTERVAL_S: Final = 15.0
# Parts of an interval that a round may spend: it ends before the next one is due.
LOOK_PART, LOOK_UP_PART, PROBE_PART = 0.74, 0.06, 0.2
AT_ONCE: Final = 64
MAX_SERVERS, MAX_PROBLEMS = 2_000, 20
"""Of one source: what a broken one invents may not take our memory."""
KEPT: Final = timedelta(minutes=10)
"""For so long a server that is gone is still shown."""
DIALLED: Final = "dialled in"
_NOT_PROBED: Final = frozenset({Kind.SERVICE, Kind.DIALLED})


@dataclass(frozen=True)
class Server:
    """A game server as the registry knows it; `ip` is what is connected to, never the name."""

    name: str
    kind: Kind
    sources: tuple[str, ...]
    state: State
    reason: str
    since: datetime
    seen_at: datetime
    # As it was found, empty as long as it has none.
    address: str = ""
    ip: str = ""
    # With `ip` in it.
    url: str = ""
    # For the certificate, where the url begins with wss.
    host: str = ""
    game: str = ""
    slots: int = 0
    # Where it speaks OpenEnv.
    environment: Environment | None = None

    @property
    def is_dialled(self) -> bool:
        """Say whether it is reached through the head."""
        return DIALLED in self.sources


@dataclass(frozen=True)
class SourceState:
    """How the last look of a source went; `failure` is empty after a good one."""

    name: str
    at: datetime | None = None
    failure: str = ""
    problems: tuple[str, ...] = ()
    n_servers: int = 0


@dataclass(frozen=True)
class _Dialled:
    game: str
    slots: int


@dataclass
class _Round:
    """What the last round has brought."""

    seen: list[LocatedServer] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)


class Registry:
    """All servers that any source sees; see the package for how the head uses it."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        networks: Networks,
        look_up: LookUp,
        probe: Probe | None,
        clock: Clock,
        interval_s: float = INTERVAL_S,
    ) -> None:
        """Keep whom to ask; nothing is asked before the first refresh.

        probe: None where the caller tries the servers; those with an address then stay "found".
        """
        self.interval_s = interval_s
        self._sources, self._networks = tuple(sources), networks
        self._look_up, self._probe, self._clock = look_up, probe, clock
        self._states = {source.name: SourceState(source.name) for source in sources}
        # Of a source that fails stays what it saw last: its servers have not gone with it.
        self._looks: dict[str, tuple[datetime, SourceView]] = {}
        self._round = _Round()
        self._dialled: dict[str, _Dialled] = {}
        self._farewells: dict[str, str] = {}
        self._servers: dict[str, Server] = {}
        self._lock, self._n_rounds = asyncio.Lock(), 0

    def servers(self) -> list[Server]:
        """Return all servers by name, those that are gone for ten minutes more."""
        return sorted(self._servers.values(), key=lambda server: (server.name, server.address))

    def sources(self) -> list[SourceState]:
        """Return what each source said last."""
        return list(self._states.values())

    def report_dialled(self, name: str, *, game: str = "", slots: int = 0) -> None:
        """Enter a server that dialled in to the head; it is healthy while it stays connected."""
        self._dialled[name] = _Dialled(game, slots)
        self._farewells.pop(name, None)
        self._update_servers()

    def report_hung_up(self, name: str, reason: str) -> None:
        """Say that a server which had dialled in is there no more, and why."""
        if self._dialled.pop(name, None) is not None:
            self._farewells[name] = reason
            self._update_servers()

    async def refresh(self) -> None:
        """Ask all sources and try all servers; during a round, wait for its end instead."""
        n_rounds = self._n_rounds
        async with self._lock:
            if self._n_rounds == n_rounds:
                await self._do_round()
                self._n_rounds += 1

    async def _do_round(self) -> None:
        await asyncio.gather(*map(self._look_at_source, self._sources))
        sightings = [
            LocatedServer(source, at, sighting)
            for source, (at, look) in self._looks.items()
            for sighting in look.servers
        ]
        places = await self._find_places(
            {sighting.sighting.address for sighting in sightings} - {""}
        )
        servers = [_attach_place(sighting, places) for sighting in sightings]
        answers = await self._try_servers(servers)
        self._round = _Round(servers, answers)
        self._update_servers()

    async def _look_at_source(self, source: Source) -> None:
        limit_s = self.interval_s * LOOK_PART
        try:
            async with asyncio.timeout(limit_s):
                look = await source.look()
        except (LookError, TimeoutError) as error:
            failure = str(error) or f"has not ended within {limit_s:g} s"
            before = self._states[source.name]
            state = replace(before, at=self._clock(), failure=shorten(failure), problems=())
        else:
            state = self._take_look(source.name, look)
        self._states[source.name] = state

    def _take_look(self, source: str, look: SourceView) -> SourceState:
        now, problems = self._clock(), look.problems
        if n_more := len(look.servers[MAX_SERVERS:]):
            problems = (*problems, f"{n_more} servers more than the {MAX_SERVERS} that are kept")
        self._looks[source] = now, SourceView(look.servers[:MAX_SERVERS])
        return SourceState(source, now, "", problems[:MAX_PROBLEMS], len(look.servers))

    async def _find_places(self, addresses: Iterable[str]) -> dict[str, Place | str]:
        """Return for each address where it may be connected to, or why not."""
        addresses = sorted(addresses)
        places = await asyncio.gather(*map(self._find_place, addresses))
        return dict(zip(addresses, places, strict=True))

    async def _find_place(self, text: str) -> Place | str:
        try:
            address = read_address(text)
            ips = [] if address.ip else await self._look_up_in_time(address.host)
            return Place(address, admit(address, ips, self._networks)[0])
        except (AddressError, LookError) as error:
            return str(error)

    async def _look_up_in_time(self, host: str) -> Sequence[str]:
        try:
            async with asyncio.timeout(self.interval_s * LOOK_UP_PART):
                return await self._look_up(host)
        except TimeoutError as error:
            raise LookError(f"the name {host} is not looked up in time: see its DNS") from error

    async def _try_servers(self, servers: Sequence[LocatedServer]) -> dict[str, Answer]:
        """Return the answers of all places at which somebody shall answer."""
        places = {
            server.place.key: server.place
            for server in servers
            if server.place and server.sighting.kind not in _NOT_PROBED
        }
        if (probe := self._probe) is None or not places:
            return {}
        turns = asyncio.Semaphore(AT_ONCE)

        async def ask(place: Place) -> Answer:
            async with turns:
                return await probe(place)

        tasks = {key: asyncio.create_task(ask(place)) for key, place in places.items()}
        limit_s = self.interval_s * PROBE_PART
        _, late = await asyncio.wait(tasks.values(), timeout=limit_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        silence = Answer(f"has not answered within {limit_s:g} s")
        return {key: silence if task in late else task.result() for key, task in tasks.items()}

    def _update_servers(self) -> None:
        """Work out the servers from the last round and from who has dialled in."""
        now = self._clock()
        dialled = [
            LocatedServer(DIALLED, now, Sighting(name, Kind.DIALLED, state=State.HEALTHY))
            for name in self._dialled
        ]
        servers = {}
        for key, merged in merge([*self._round.seen, *dialled]).items():
            state, reason = merged.judge(self._round.answers)
            servers[key] = self._describe_server(key, merged, state, reason, now)
        places = {
            (server.name, address)
            for server in servers.values()
            for address in ("", server.address)
        }
        for key, before in self._servers.items():
            # What had no address and has one now, or leads elsewhere now, is there by another key.
            is_moved = (before.name, before.address) in places
            if key not in servers and not is_moved and (gone := self._keep_gone(before, now)):
                servers[key] = gone
        self._servers = servers

    def _describe_server(
        self, key: str, merged: MergedServer, state: State, reason: str, now: datetime
    ) -> Server:
        first, place = merged.seen[0].sighting, merged.place
        before = self._servers.get(key)
        dialled = self._dialled.get(first.name)
        answer = self._round.answers.get(place.key, Answer()) if place else Answer()
        return Server(
            name=first.name,
            kind=first.kind,
            sources=tuple(dict.fromkeys(server.source for server in merged.seen)),
            state=state,
            reason=reason,
            since=before.since if before and before.state is state else now,
            seen_at=max(sighting.at for sighting in merged.seen),
            address=next((s.sighting.address for s in merged.seen if s.sighting.address), ""),
            ip=str(place.ip) if place else "",
            url=place.url if place else "",
            host=place.host if place else "",
            game=dialled.game if dialled else answer.game,
            slots=dialled.slots if dialled else answer.slots,
            environment=place.environment if place else None,
        )

    def _keep_gone(self, before: Server, now: datetime) -> Server | None:
        """Return a server that no source names any more, None once it is forgotten."""
        if before.state is State.GONE:
            if now - before.since < KEPT:
                return before
            self._farewells.pop(before.name, None)
            return None
        reason = f"no longer named by {' and '.join(before.sources)}"
        reason = self._farewells.get(before.name, reason) if before.is_dialled else reason
        return replace(before, state=State.GONE, reason=reason, since=now)


def _attach_place(server: LocatedServer, places: Mapping[str, Place | str]) -> LocatedServer:
    place = places.get(server.sighting.address)
    if isinstance(place, Place):
        own = server.sighting
        return replace(server, place=replace(place, name=own.host, environment=own.environment))
    return replace(server, refusal=place or "")
