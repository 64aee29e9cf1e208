"""Which sources there are and what they are asked: read from the environment once."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from arena.addresses import AddressError, networks_of, read_address
from arena.parameters import parse_number
from gameservers.discovery.names import DnsName, ServerList, look_up_host
from gameservers.discovery.openenv import VARIABLE as ENVIRONMENTS
from gameservers.discovery.openenv import EnvironmentList
from gameservers.discovery.probing import probe_server
from gameservers.discovery.registry import Probe, Registry
from gameservers.discovery.sightings import Clock, LookUp, Source
from gameservers.discovery.skypilot import Clusters, Services
from gameservers.discovery.skypilot_api import ENDPOINT, TOKEN, ApiServer
from gameservers.discovery.transport import Ask, ask
from gameservers.errors import SettingsError

SERVERS: Final = "EVALSITE_GAME_SERVERS"
DNS: Final = "EVALSITE_GAME_SERVERS_DNS"
PREFIX: Final = "GAME_SERVER_PREFIX"
PORT: Final = "GAME_SERVER_PORT"
DEFAULT_PORT: Final = 8081


def _read_time() -> datetime:
    return datetime.now(UTC)


def build_registry(
    environ: Mapping[str, str],
    *,
    probe: Probe | None = probe_server,
    look_up: LookUp = look_up_host,
    ask: Ask = ask,
    clock: Clock = _read_time,
) -> Registry:
    """Return the registry of what the environment names. Raises SettingsError, AddressError."""
    sources: list[Source] = []
    if addresses := _list_addresses(environ, SERVERS):
        sources.append(ServerList(addresses))
    if environ.get(ENVIRONMENTS):
        sources.append(EnvironmentList(environ[ENVIRONMENTS]))
    names = map(read_address, _list_addresses(environ, DNS))
    sources.extend(DnsName(name, look_up=look_up) for name in names)
    if environ.get(ENDPOINT):
        sources += _build_skypilot(environ, ask=ask, clock=clock)
    return Registry(
        sources, networks=networks_of(environ), look_up=look_up, probe=probe, clock=clock
    )


def _list_addresses(environ: Mapping[str, str], variable: str) -> list[str]:
    """Return the addresses of a list, each once, as they are written."""
    texts = list(dict.fromkeys(filter(None, map(str.strip, environ.get(variable, "").split(",")))))
    for text in texts:
        try:
            read_address(text)
        except AddressError as error:
            raise AddressError(f"{variable}: {error}") from error
    return texts


def _build_skypilot(environ: Mapping[str, str], *, ask: Ask, clock: Clock) -> list[Source]:
    prefix = environ.get(PREFIX, "")
    if not (prefix.strip() and prefix.isprintable()):
        # Without one, everything that runs there would be taken for a game server.
        rule = f"the beginning of the names of your game servers, as {ENDPOINT} is set"
        raise SettingsError(PREFIX, prefix, rule)
    text = environ.get(PORT) or str(DEFAULT_PORT)
    if (port := parse_number(text, lowest=1, highest=65_535)) is None:
        raise SettingsError(PORT, text, "a port, 1..65535")
    api = ApiServer(environ[ENDPOINT], environ.get(TOKEN, ""), ask=ask)
    return [Clusters(api, prefix, port=port, clock=clock), Services(api, prefix)]
