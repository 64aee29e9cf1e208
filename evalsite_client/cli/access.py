"""Which server and which token: those given, else those of the stack that runs on this machine."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from evalsite_client.client import TOKEN_VARIABLE, URL_VARIABLE

FOLDER_VARIABLE: Final = "EVALSITE_VAR"
FILE: Final = "client.env"
"""Written by `./run` into the data folder; only its owner may read it."""
CLONE: Final = Path(__file__).resolve().parents[2]


class Access(NamedTuple):
    """Where to call and with what; None: as the client has it by itself."""

    url: str | None
    token: str | None


def find_access(url: str | None, token: str | None, environment: Mapping[str, str]) -> Access:
    """Return what was given, filled in from the data folder of this machine's stack.

    The token of this machine is never sent to another address than this machine's.
    """
    url = url or environment.get(URL_VARIABLE) or None
    local = _read_local(environment)
    local_url = local.get(URL_VARIABLE)
    if token is None and TOKEN_VARIABLE in environment:
        token = environment[TOKEN_VARIABLE]
    is_local = local_url is not None and (url is None or url.rstrip("/") == local_url.rstrip("/"))
    if token is None and is_local:
        token = local.get(TOKEN_VARIABLE)
    return Access(url or local_url, token)


def _read_local(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return address and token of the stack of this data folder; nothing where there is none."""
    folder = environment.get(FOLDER_VARIABLE)
    if not folder and not (CLONE / "run").is_file():
        return {}
    path = (Path(folder).expanduser() if folder else CLONE / "var") / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def is_on_this_machine(environment: Mapping[str, str] = os.environ) -> bool:
    """Say whether the stack of this machine is called, so that `./run` is a fitting advice."""
    local = _read_local(environment).get(URL_VARIABLE)
    if local is None:
        return False
    return environment.get(URL_VARIABLE, local).rstrip("/") == local.rstrip("/")
