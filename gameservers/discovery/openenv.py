"""Environments that speak OpenEnv: which of them an operator names, and whether their spaces fit.

They know neither our games nor our protocol, so the operator says which game of the catalog is
played there. They are looked at over HTTP alone: a WebSocket would take one of their sessions.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from arena.addresses import Address, AddressError, hide_login, read_address
from arena.errors import ArenaError
from arena.games import registry as games
from arena.games.line_messages import PROTOCOL, ServerHello
from arena.games.openenv.game import OpenEnvGame
from arena.parameters import parse_number
from gameservers.discovery.sightings import (
    Environment,
    Kind,
    LookError,
    Sighting,
    SourceView,
    shorten,
)
from gameservers.discovery.transport import Ask, Call, ask
from gameservers.errors import SettingsError

VARIABLE: Final = "EVALSITE_OPENENV_SERVERS"
MAX_SLOTS: Final = 4096
LIMIT_S: Final = 2.5
_RULE: Final = "a list of GAME=ADDRESS or, for N sessions at once, GAME=ADDRESS*N"
_ENTRY: Final = re.compile(r"(?P<game>\w+)=(?P<address>[^*]+)(\*(?P<slots>\d+))?", re.ASCII)
_SOCKET: Final = "/ws"
"""The path of its WebSocket, beside which its pages lie; whoever leaves it out means it."""

FindGame = Callable[[str], object]


class EnvironmentList:
    """The environments that an operator has written down."""

    name = "openenv"

    def __init__(self, text: str) -> None:
        """Read `my_env=ws://host:8000/ws*16, ...`. Raises SettingsError, AddressError."""
        entries = filter(None, map(str.strip, text.split(",")))
        self._servers = tuple(map(_read_entry, dict.fromkeys(entries)))
        addresses = [server.address for server in self._servers]
        if len(set(addresses)) < len(addresses):
            raise SettingsError(VARIABLE, text, f"{_RULE}, each address once")

    async def look(self) -> SourceView:
        """Return them all."""
        return SourceView(self._servers)


def _read_entry(text: str) -> Sighting:
    entry = _ENTRY.fullmatch(text)
    slots = parse_number(entry["slots"] or "1", lowest=1, highest=MAX_SLOTS) if entry else None
    if entry is None or slots is None:
        raise SettingsError(VARIABLE, hide_login(text), _RULE)
    try:
        address = _read_socket(entry["address"])
    except AddressError as error:
        raise AddressError(f"{VARIABLE}: {error}") from error
    environment = Environment(entry["game"], slots)
    return Sighting(
        name_server(environment, address), Kind.OPENENV, address.url(), environment=environment
    )


def _read_socket(text: str) -> Address:
    address = read_address(text)
    return replace(address, path=f"{address.path.rstrip('/').removesuffix(_SOCKET)}{_SOCKET}")


def name_server(environment: Environment, address: Address) -> str:
    """Return the name by which its results, faults and quarantine go: it has none of its own."""
    folder = address.path.removesuffix(_SOCKET)
    return re.sub(r"[^A-Za-z0-9_.-]", "-", f"{environment.game}-{address}{folder}")[-60:]


class Target(NamedTuple):
    """Where an environment is asked: by its own name, and at the IP address that was admitted."""

    environment: Environment
    address: Address
    ip: str


async def greet_environment(
    target: Target, *, ask: Ask = ask, find_game: FindGame = games.get
) -> ServerHello:
    """Return the hello that a game server of this environment would say.

    Raises LookError where it does not answer, or does not have the spaces of the catalog file.
    """
    environment, address = target.environment, target.address
    game = _find_game(environment.game, find_game)
    scheme = "https" if address.is_tls else "http"
    url = f"{scheme}://{address}{address.path.removesuffix(_SOCKET)}/schema"
    reply = await ask(Call("GET", url, limit_s=LIMIT_S, ip=target.ip))
    if reply.status != 200:  # noqa: PLR2004
        raise LookError(f"{url} answers HTTP {reply.status}: it is no server of OpenEnv")
    try:
        schema = msgspec.json.decode(reply.body, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise LookError(f"{url} is no schema of OpenEnv: {error}") from error
    if misfit := find_misfit(game, schema):
        why = f"does not fit the catalog file of {environment.game}: {shorten(misfit)}"
        raise LookError(f"{url} {why}")
    spec = game.spec
    return ServerHello(
        PROTOCOL, name_server(environment, address), spec.id, spec.rules_version,
        environment.slots, spec.n_seats, spec.n_actions, list(spec.observation_shape),
        spec.observation_dtype,
    )  # fmt: skip


def _find_game(name: str, find_game: FindGame) -> OpenEnvGame:
    try:
        game = find_game(name)
    except ArenaError as error:
        raise LookError(f"{VARIABLE}: {error}") from error
    if not isinstance(game, OpenEnvGame):
        raise LookError(f"{VARIABLE}: {name} is no OpenEnvGame of the catalog")
    return game


def find_misfit(game: OpenEnvGame, schema: Mapping[str, object]) -> str:
    """Return which field the file and a schema disagree about; empty where none.

    Values are not compared: what the environment does not take is refused when it is played.
    """
    action, observation = (_read_object(schema.get(part)) for part in ("action", "observation"))
    layout = game.layout
    if action is not None:
        if extra := sorted(layout.fields.keys() - action.names):
            return f"its action has no {', '.join(extra)}, but {', '.join(sorted(action.names))}"
        if missing := sorted(action.required - layout.fields.keys()):
            return f"its action needs {', '.join(missing)}, too"
    field_names = {name.partition(".")[0] for name in layout.readers}
    if observation is not None and (extra := sorted(field_names - observation.names)):
        present = ", ".join(sorted(observation.names))
        return f"its observation has no {', '.join(extra)}, but {present}"
    return ""


class _Object(NamedTuple):
    names: frozenset[str]
    required: frozenset[str]


def _read_object(schema: object) -> _Object | None:
    """Return the fields of a JSON schema; None where it does not list them, or takes any."""
    if not isinstance(schema, Mapping) or schema.get("additionalProperties") not in (None, False):
        return None
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        return None
    return _Object(frozenset(map(str, properties)), frozenset(map(str, required)))
