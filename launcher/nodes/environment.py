"""The environment of a node on another machine: its secrets, and where it finds this machine."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from launcher.errors import SetupError
from launcher.folders import ROOT
from launcher.programs import INFERENCE_VARIABLES, NODE_VARIABLES, ONE_THREAD, PYTHON
from launcher.stack import child_environment, own_settings

# What has an address of this machine in it, as it is shown, and its usual port.
_SERVERS: Final = {
    "REDIS_URL": ("the broker", 6379),
    "EVALSITE_INFERENCE_URL": ("the fast store", 6379),
    "EVALSITE_SITE_URL": ("the web server", 80),
}
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
# What the caller says of this machine; another one has its own.
_OF_THE_MACHINE: Final = frozenset({"EVALSITE_CAPABILITIES", "EVALSITE_PLUGINS"})


def list_plugins(shared: Mapping[str, str]) -> list[Path]:
    """Return the plug-in folders of the stack that runs here: all nodes play the same."""
    folders = filter(None, shared.get("EVALSITE_PLUGINS", "").split(os.pathsep))
    return [Path(folder).expanduser().resolve() for folder in folders]


def admit_nodes(
    names: Sequence[str], var: Path, shared: Mapping[str, str], server: str | None
) -> dict[str, dict[str, str]]:
    """Return the variables of each node by its name, secrets among them. Raises SetupError.

    server: by which name they reach this machine, where it names its servers by loopback.
    """
    done = subprocess.run(
        [PYTHON, "manage.py", "node", "add", *names],
        cwd=ROOT,
        env=ONE_THREAD | child_environment(var, {**shared, **own_settings(os.environ)}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise SetupError(f"the nodes are not admitted: {lines[-1]}; nothing is started")
    blocks = done.stdout.strip().split("\n\n")
    nodes = [dict(line.split("=", 1) for line in block.splitlines()) for block in blocks]
    return {node["EVALSITE_NODE"]: _replace_server(node, server) for node in nodes}


def _replace_server(variables: Mapping[str, str], server: str | None) -> dict[str, str]:
    return {
        name: _readdress_url(url, server) if name in _SERVERS and server else url
        for name, url in variables.items()
    }


def _readdress_url(url: str, server: str) -> str:
    parts = urlsplit(url)
    if parts.hostname not in _LOOPBACK:
        return url
    host = f"[{server}]" if ":" in server else server
    login, mark, _ = parts.netloc.rpartition("@")
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{login}{mark}{host}{port}").geturl()


def list_places(variables: Mapping[str, str]) -> list[str]:
    """Return what a node must reach, as name|host|port."""
    places = []
    for name, (title, port) in _SERVERS.items():
        if url := variables.get(name):
            parts = urlsplit(url)
            usual = 443 if parts.scheme == "https" else port
            places.append(f"{title}|{parts.hostname}|{parts.port or usual}")
    return places


def write_environment(
    secrets: Mapping[str, str], shared: Mapping[str, str], *, n_plugins: int, slots: int | None
) -> str:
    """Return a node's environment as lines of sh, with $folder for where it lies there."""
    settings = {name: shared[name] for name in INFERENCE_VARIABLES if name in shared}
    settings |= {
        name: os.environ[name]
        for name in NODE_VARIABLES
        if name in os.environ and name not in _OF_THE_MACHINE
    }
    players = {"EVALSITE_SLOTS": str(slots)} if slots else {}
    variables = {**ONE_THREAD, **settings, **secrets, **players}
    lines = [f"{name}={shlex.quote(value)}" for name, value in sorted(variables.items())]
    if n_plugins:
        folders = os.pathsep.join(f"$folder/plugins/{n}" for n in range(1, n_plugins + 1))
        lines.append(f'EVALSITE_PLUGINS="{folders}"')
    return "".join(f"{line}\n" for line in lines)
