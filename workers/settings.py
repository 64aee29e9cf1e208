"""Settings of a play node, read from its environment once; a wrong one stops the start."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from arena.errors import ProgramListError
from arena.machine import CLASS, SPOT, LabelError, read_machine_labels
from arena.needs import CPU, list_installed, refuse_capability
from arena.parameters import parse_number
from arena.programs import VARIABLE as PROGRAMS
from arena.programs import Program, read_programs
from workers.errors import SettingsError
from workers.notices.base import ADDRESS
from workers.notices.watcher import CHOICES, OFF

# Celery takes the broker by host and port, never as a socket.
SCHEMES = ("redis://", "rediss://")
MAX_SLOTS = 4096
MAX_NAME = 200
MAX_SHARDS = 1024
WAIT_AT_LEAST_S = 300.0
# A player with every game and torch takes 300 MiB, with networks of its own up to 2 GiB more.
PLAYER_MB = 4_096


@dataclass(frozen=True)
class Settings:
    """What distinguishes one play node from another."""

    redis_url: str
    node: str
    slots: int
    # Proves to the recorder that a report is of this node.
    key: str = field(repr=False)
    capabilities: tuple[str, ...] = (CPU,)
    # What its operator says of the machine.
    labels: Mapping[str, str] = field(default_factory=dict)
    alive_s: float = 10.0
    report_s: float = 1.0
    # How often the actions of a match in play are reported, so that it can go on elsewhere.
    actions_s: float = 2.0
    notice_s: float = 5.0
    # Queues of gpu workers: no doorbell goes to any other.
    n_shards: int = 1
    # How long a player may wait for an answer: longer than any answer may take.
    wait_s: float = WAIT_AT_LEAST_S
    # What may decide for agents here.
    programs: Mapping[str, Program] = field(default_factory=dict)
    # Memory of one player in MiB, without what is mapped from files.
    player_mb: int = PLAYER_MB
    # Whose notices stop the node, and where they are asked for.
    notices: str = OFF
    notices_url: str = ADDRESS


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings. Raises SettingsError naming variable, value and choices."""
    capabilities, labels = _read_capabilities(environ), _read_labels(environ)
    if SPOT in capabilities:
        # Where it was said before there were labels.
        labels.setdefault(CLASS, SPOT)
        capabilities = tuple(name for name in capabilities if name != SPOT) or list_installed(
            environ
        )
    return Settings(
        redis_url=_read_redis_url(environ),
        node=_check_name("EVALSITE_NODE", environ.get("EVALSITE_NODE") or socket.gethostname()),
        slots=_read_whole_number(environ, "EVALSITE_SLOTS", count_cores(), MAX_SLOTS),
        key=_read_node_key(environ),
        capabilities=capabilities,
        labels=labels,
        alive_s=_number_of_seconds(environ, "EVALSITE_ALIVE_S", 10.0),
        report_s=_number_of_seconds(environ, "EVALSITE_REPORT_S", 1.0),
        actions_s=_number_of_seconds(environ, "EVALSITE_ACTIONS_S", 2.0),
        notice_s=_number_of_seconds(environ, "EVALSITE_NOTICE_S", 5.0),
        n_shards=_read_whole_number(environ, "EVALSITE_SHARDS", 1, MAX_SHARDS),
        notices=_read_notices(environ),
        notices_url=_read_notices_url(environ),
        programs=_read_programs(environ),
        player_mb=_read_whole_number(environ, "EVALSITE_PLAYER_MB", PLAYER_MB, 1 << 24),
        wait_s=max(
            WAIT_AT_LEAST_S,
            2 * read_answer_s(environ),
            2 * _read_whole_number(environ, "EVALSITE_DEADLINE_MS", 60_000, 3_600_000) / 1000,
        ),
    )


def count_cores() -> int:
    """Return how many cores this process may use: a container may leave it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_answer_s(environ: Mapping[str, str]) -> float:
    """Return how long a game server may take for an answer. Raises SettingsError."""
    return _number_of_seconds(environ, "EVALSITE_SERVER_S", 30.0)


def _read_redis_url(environ: Mapping[str, str]) -> str:
    url = environ.get("REDIS_URL", "")
    if not url.startswith(SCHEMES):
        # The address may hold a password: only its scheme is shown.
        scheme = url.split("//")[0] + "//..." if "//" in url else url
        raise SettingsError("REDIS_URL", scheme, f"the broker's address, {' or '.join(SCHEMES)}")
    return url


def _read_node_key(environ: Mapping[str, str]) -> str:
    key = environ.get("EVALSITE_NODE_KEY", "")
    if not re.fullmatch("[0-9a-f]{64}", key):
        # A key that was cut is still a secret: only its length is shown.
        length = f"{len(key)} characters"
        rule = "the 64 hexadecimal digits that the server gives this node, see docs/operating.md"
        raise SettingsError("EVALSITE_NODE_KEY", length, rule)
    return key


def _read_whole_number(environ: Mapping[str, str], name: str, default: int, highest: int) -> int:
    raw = environ.get(name) or str(default)
    if (number := parse_number(raw, lowest=1, highest=highest)) is None:
        raise SettingsError(name, raw, f"a whole number, 1..{highest}")
    return number


def _read_capabilities(environ: Mapping[str, str]) -> tuple[str, ...]:
    variable = "EVALSITE_CAPABILITIES"
    names = (environ.get(variable) or ",".join(list_installed(environ))).split(",")
    for name in map(str.strip, names):
        if refusal := refuse_capability(name):
            raise SettingsError(variable, name, refusal)
    return tuple(dict.fromkeys(map(str.strip, names)))


def _read_programs(environ: Mapping[str, str]) -> dict[str, Program]:
    try:
        return read_programs(environ.get(PROGRAMS, ""))
    except ProgramListError as error:
        raise SettingsError(PROGRAMS, f"{error.entry:.80}", error.rule) from None


def _read_labels(environ: Mapping[str, str]) -> dict[str, str]:
    try:
        return read_machine_labels(environ)
    except LabelError as error:
        raise SettingsError(error.variable, error.label, error.rule) from None


def _read_notices(environ: Mapping[str, str]) -> str:
    choice = environ.get("EVALSITE_NOTICES") or OFF
    if choice not in CHOICES:
        raise SettingsError("EVALSITE_NOTICES", choice, f"one of {', '.join(CHOICES)}")
    return choice


def _read_notices_url(environ: Mapping[str, str]) -> str:
    url = environ.get("EVALSITE_NOTICES_URL") or ADDRESS
    if not re.fullmatch(r"http://[^/?#@\s]+", url):
        rule = "http://host:port of the metadata address, without a path"
        raise SettingsError("EVALSITE_NOTICES_URL", url, rule)
    return url


def _check_name(variable: str, value: str) -> str:
    if not value or not value.isprintable() or len(value) > MAX_NAME:
        raise SettingsError(variable, value, f"1 to {MAX_NAME} printable characters per name")
    return value


def _number_of_seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    raw = environ.get(name) or str(default)
    try:
        value = float(raw)
    except ValueError:
        raise SettingsError(name, raw, "a number of seconds") from None
    if not isfinite(value) or value <= 0:
        raise SettingsError(name, raw, "a number of seconds above 0")
    return value
