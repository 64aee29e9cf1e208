"""Game servers that SkyPilot has started: clusters and services whose names begin with a prefix."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

import msgspec

from gameservers.discovery.sightings import (
    Clock,
    Kind,
    LookError,
    Sighting,
    SourceView,
    State,
    is_shown,
    shorten,
)
from gameservers.discovery.skypilot_api import ApiServer, RequestFailedError

LIST_LIMIT_S: Final = 9.0
ENDPOINT_LIMIT_S: Final = 5.0
LOOK_LIMIT_S: Final = 10.5
"""Of the list and as many endpoints as the time is enough for: the registry gives a source 11 s."""
ENDPOINTS_AT_ONCE: Final = 8
# An endpoint stays what it is until its cluster is launched again; asked anew in case it does not.
ENDPOINT_KEPT: Final = timedelta(minutes=5)
RETRIES: Final = (timedelta(seconds=15), timedelta(minutes=4))
"""Between two questions for an endpoint that failed: doubled from the first up to the second."""
QUESTION: Final = {
    # Neither handles, which are pickles, nor the keys to the machines.
    **{"include_handle": False, "include_credentials": False},
    **{"all_users": True, "summary_response": True},
}
UP, READY = "UP", "READY"
STARTING: Final = frozenset({"INIT", "PENDING", "WAITING"})
_NO_SERVICES: Final = "ClusterNotUpError"


class _Named(msgspec.Struct):
    name: str
    status: str


T = TypeVar("T", bound=_Named)


class _Cluster(_Named):
    launched_at: float | None = None
    cluster_hash: str = ""


class _Replica(_Named):
    endpoint: str | None = None


class _Service(_Named):
    endpoint: str | None = None
    replica_info: list[_Replica] = []


@dataclass(frozen=True)
class _Endpoint:
    """What is known of where a cluster listens."""

    ask_at: datetime
    address: str = ""
    reason: str = ""
    n_failures: int = 0


class Clusters:
    """The clusters of a prefix, each with the endpoint of the port that game servers listen on."""

    name = "skypilot clusters"

    def __init__(self, api: ApiServer, prefix: str, *, port: int, clock: Clock) -> None:
        self._api, self._prefix, self._port, self._clock = api, prefix, port, clock
        self._endpoints: dict[tuple[str, object, str], _Endpoint] = {}

    async def look(self) -> SourceView:
        """Return them all; those whose endpoints are not known yet without one."""
        until = asyncio.get_running_loop().time() + LOOK_LIMIT_S
        answer = await self._api.call("/status", QUESTION, limit_s=LIST_LIMIT_S)
        clusters, problems = _read_rows(answer, _Cluster, self._prefix)
        keys = [_key_of(cluster) for cluster in clusters]
        self._endpoints = {key: self._endpoints[key] for key in keys if key in self._endpoints}
        up = [cluster for cluster in clusters if cluster.status == UP]
        await self._ask_endpoints(up, limit_s=until - asyncio.get_running_loop().time())
        return SourceView(tuple(map(self._sight_cluster, clusters)), problems)

    def _sight_cluster(self, cluster: _Cluster) -> Sighting:
        if cluster.status != UP:
            state = State.FOUND if cluster.status in STARTING else State.UNREACHABLE
            reason = f"the cluster is {shorten(cluster.status)}"
            return Sighting(cluster.name, Kind.CLUSTER, reason=reason, state=state)
        endpoint = self._endpoints.get(_key_of(cluster))
        if endpoint is None:
            reason = "its endpoint has not been asked for yet: the API server is slow"
            return Sighting(cluster.name, Kind.CLUSTER, reason=reason, state=State.FOUND)
        if endpoint.reason:
            state = State.UNREACHABLE
            return Sighting(cluster.name, Kind.CLUSTER, reason=endpoint.reason, state=state)
        return Sighting(cluster.name, Kind.CLUSTER, endpoint.address)

    async def _ask_endpoints(self, clusters: Sequence[_Cluster], *, limit_s: float) -> None:
        """Ask for endpoints that are due, the longest waiting first, as far as the time goes."""
        now, never = self._clock(), datetime.min.replace(tzinfo=self._clock().tzinfo)
        due = {_key_of(cluster): cluster for cluster in clusters}
        times = {key: endpoint.ask_at for key, endpoint in self._endpoints.items()}
        waiting = [key for key in due if times.get(key, never) <= now]
        waiting.sort(key=lambda key: times.get(key, never))
        # Pulled one by one, not started all at once: what is cut off has not been asked for at all.
        queue = iter([due[key] for key in waiting])
        workers = [asyncio.create_task(self._ask_each(queue)) for _ in range(ENDPOINTS_AT_ONCE)]
        done, late = await asyncio.wait(workers, timeout=limit_s)
        for worker in late:
            worker.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        for worker in done:
            worker.result()

    async def _ask_each(self, queue: Iterator[_Cluster]) -> None:
        for cluster in queue:
            key = _key_of(cluster)
            before = self._endpoints.get(key)
            try:
                address = await self._ask_endpoint(cluster)
            except LookError as error:
                n_failures = (before.n_failures if before else 0) + 1
                first, longest = RETRIES
                wait = min(first * 2 ** min(n_failures - 1, 10), longest)
                at, reason = self._clock() + wait, f"no endpoint: {error}"
                self._endpoints[key] = _Endpoint(at, reason=reason, n_failures=n_failures)
            else:
                self._endpoints[key] = _Endpoint(self._clock() + ENDPOINT_KEPT, address)

    async def _ask_endpoint(self, cluster: _Cluster) -> str:
        answer = await self._api.call(
            "/endpoints", {"cluster": cluster.name}, limit_s=ENDPOINT_LIMIT_S
        )
        try:
            endpoints = msgspec.json.decode(answer, type=dict[str, str])
        except (msgspec.DecodeError, UnicodeError) as error:
            raise LookError(f"the answer is no table of ports: {shorten(error)}") from error
        if (address := endpoints.get(str(self._port))) is None:
            ports = shorten(", ".join(sorted(endpoints)) or "none")
            raise LookError(f"port {self._port} is not open (open: {ports}): see its `ports`")
        return address


class Services:
    """The services of a prefix and their replicas.

    A service's own endpoint is a balancer: it would part the messages of an episode among replicas,
    so nobody plays there. Its replicas dial the head, or are reached one by one.
    """

    name = "skypilot services"

    def __init__(self, api: ApiServer, prefix: str) -> None:
        self._api, self._prefix = api, prefix

    async def look(self) -> SourceView:
        """Return each service, whose state SkyPilot says, and each of its replicas."""
        question = {"service_names": None}
        try:
            answer = await self._api.call("/serve/status", question, limit_s=LIST_LIMIT_S)
        except RequestFailedError as error:
            if error.kind == _NO_SERVICES:
                return SourceView()  # no controller of services: there is none
            raise
        services, problems = _read_rows(answer, _Service, self._prefix)
        rows = (sighting for service in services for sighting in _sight_service(service))
        return SourceView(tuple(rows), problems)


def _sight_service(service: _Service) -> Iterator[Sighting]:
    n_ready = sum(replica.status == READY for replica in service.replica_info)
    reason = f"{shorten(service.status)}, {n_ready} of {len(service.replica_info)} replicas ready"
    state = State.HEALTHY if service.status == READY else State.UNREACHABLE
    address = service.endpoint or ""
    yield Sighting(service.name, Kind.SERVICE, address, f"a balancer: {reason}", state)
    for replica in filter(lambda replica: is_shown(replica.name), service.replica_info):
        if replica.status == READY and replica.endpoint:
            yield Sighting(replica.name, Kind.REPLICA, replica.endpoint)
        else:
            reason = f"the replica is {shorten(replica.status)}"
            state = State.UNREACHABLE if replica.status == READY else State.FOUND
            yield Sighting(replica.name, Kind.REPLICA, reason=reason, state=state)


def _read_rows(answer: bytes, kind: type[T], prefix: str) -> tuple[list[T], tuple[str, ...]]:
    """Return the rows whose names begin with the prefix, and what is wrong with others."""
    try:
        rows = msgspec.json.decode(answer, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeError) as error:
        raise LookError(f"the answer is no list: {shorten(error)}") from error
    read, problems = [], []
    for number, row in enumerate(rows, 1):
        try:
            entry = msgspec.json.decode(row, type=kind)
        except (msgspec.DecodeError, UnicodeError) as error:
            problems.append(f"entry {number} cannot be read: {shorten(error)}")
            continue
        if not entry.name.startswith(prefix):
            continue
        if is_shown(entry.name):
            read.append(entry)
        else:
            problems.append(f"entry {number}: no server can be named {shorten(entry.name)!r}")
    return read, tuple(problems)


def _key_of(cluster: _Cluster) -> tuple[str, object, str]:
    return cluster.name, cluster.launched_at, cluster.cluster_hash
