"""What is looked at before a node starts: what was typed, and whether it reaches the servers."""

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

import redis
import requests

from arena.errors import ProgramListError
from arena.machine import LabelError, read_machine_labels
from arena.programs import VARIABLE as PROGRAM_LIST
from arena.programs import format_programs, read_programs
from launcher.addresses import without_password
from launcher.errors import SetupError
from launcher.joining.server import name_cause
from launcher.programs import NODE_VARIABLES

# Control makes the users of a node about once a second.
USERS_S: Final = 20.0
PAUSE_S: Final = 0.2
SITE: Final = "EVALSITE_SITE_URL"
SERVERS: Final = {"REDIS_URL": "the broker", "EVALSITE_INFERENCE_URL": "the fast store"}
LOOPBACK: Final = ("localhost", "::1")
INVITE: Final = "./run manage node invite NAME"


def check_options(url: str, token: str) -> None:
    """Raise SetupError for what can be no address and no token."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise SetupError(f"--join {url!r:.100}: must be the address of the pages, http://host:port")
    # Never the token itself: lines of terminals are kept.
    if not re.fullmatch(r"[\x21-\x7e]{10,300}", token):
        missing = "is missing" if not token else "is none"
        raise SetupError(f"--token {missing}: on the server, {INVITE} prints the whole command")


def read_own_settings(environment: Mapping[str, str], slots: int) -> dict[str, str]:
    """Return the settings that the operator of this machine chose. Raises SetupError."""
    try:
        read_machine_labels(environment)
        programs = read_programs(environment.get(PROGRAM_LIST, ""))
    except LabelError as error:
        raise SetupError(f"{error.variable}: {error}") from error
    except ProgramListError as error:
        raise SetupError(str(error)) from error
    # Plug-ins are the server's: all nodes play the same.
    names = {*NODE_VARIABLES} - {"EVALSITE_PLUGINS"}
    own = {name: environment[name] for name in names if environment.get(name)}
    own |= {PROGRAM_LIST: format_programs(programs)} if programs else {}
    return {**own, "EVALSITE_SLOTS": str(slots)}


def refuse_loopback(url: str, environment: Mapping[str, str]) -> None:
    """Refuse a server that tells addresses by which only its own machine finds it."""
    if _is_loopback(url):
        return
    for name in (*SERVERS, SITE):
        if _is_loopback(environment.get(name, "")):
            host = urlsplit(environment[name]).hostname
            raise SetupError(
                f"the server says that its {name} is at {host}, which is this machine from here: "
                "start it there with ./run up --bind ADDRESS"
            )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in LOOPBACK or host.startswith("127.")


def await_servers(environment: Mapping[str, str]) -> None:
    """Wait until broker and fast store let the node in and the site answers. Raises SetupError."""
    until = time.monotonic() + USERS_S
    for name, title in SERVERS.items():
        while (url := environment.get(name)) and (why := _try_login(url)):
            if time.monotonic() > until:
                raise SetupError(
                    f"{title} at {without_login(url)} does not let this node in: {why}. Is its "
                    "port open to this machine, and control running?"
                )
            time.sleep(PAUSE_S)
    if site := environment.get(SITE):
        try:
            requests.get(f"{site}/healthz", timeout=5).raise_for_status()
        except (requests.RequestException, ValueError) as error:
            raise SetupError(
                f"{SITE} is {site}, where this machine finds no web server: {name_cause(error)}"
            ) from None


def without_login(url: str) -> str:
    """Return host and port of an address."""
    parts = urlsplit(without_password(url))
    return f"{parts.hostname}:{parts.port or 6379}"


def _try_login(url: str) -> str:
    """Return why a server does not let a node in, or nothing."""
    try:
        with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
            client.ping()
    except redis.exceptions.NoPermissionError:
        return ""  # it is in, and may do nothing but its work
    except (redis.RedisError, ValueError) as error:
        return str(error)
    return ""


def write_plugins(folder: Path, plugins: Mapping[str, bytes]) -> str:
    """Write the files that the server sent; return EVALSITE_PLUGINS. Raises SetupError."""
    for name, content in plugins.items():
        # All below the folder, whatever a server says.
        if not re.fullmatch(r"[1-9][0-9]{0,3}(/[^/\\\0]+)+", name) or ".." in name.split("/"):
            raise SetupError(f"the server sends a plug-in file {name!r:.100}: no path of one")
        path = folder / PurePosixPath(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    roots = sorted({int(name.partition("/")[0]) for name in plugins})
    return os.pathsep.join(str(folder / str(number)) for number in roots)
