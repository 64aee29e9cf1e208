"""Typed readers of environment variables; a wrong value is an error that names it.

`environ` reads "maybe" as False and does not name the variable of a wrong number.
"""

import json
import os
from math import isfinite
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from arena.parameters import parse_number
from arena.queues import MAX_RECORDERS
from launcher.addresses import IN_A_PASSWORD
from launcher.folders import read_variables
from launcher.options import FLAGS

SCHEMES = ("sqlite", "postgres", "postgresql")
# Of PostgreSQL, in seconds and in milliseconds.
_LIMITS = {"connect_timeout": 5, "tcp_user_timeout": 15_000}


def load_files(*files: Path) -> None:
    """Add the variables of these files to the environment; what is set already wins."""
    for file in files:
        for name, value in read_variables(file).items():
            os.environ.setdefault(name, value)


def read_text(name: str, default: str) -> str:
    """Return a variable as it is."""
    return os.environ.get(name, default)


def read_names(name: str, default: list[str]) -> list[str]:
    """Return the comma-separated values of a variable."""
    raw = os.environ.get(name)
    return default if raw is None else [part.strip() for part in raw.split(",") if part.strip()]


def read_flag(name: str, *, default: bool) -> bool:
    """Return whether a variable is on."""
    raw = os.environ.get(name)
    if raw is None:
        return default
    if raw.lower() not in FLAGS:
        raise ImproperlyConfigured(f"{name} is {raw!r}; choose 1 or 0")
    return FLAGS[raw.lower()]


def read_number(name: str, default: int, *, highest: int) -> int:
    """Return a variable that is a whole number from 0 to `highest`."""
    raw = os.environ.get(name, str(default))
    if (number := parse_number(raw, highest=highest)) is None:
        raise ImproperlyConfigured(f"{name} is {raw!r}; a whole number up to {highest} is needed")
    return number


def read_recorders(name: str, *, engine: str) -> int:
    """Return how many recorders share the tournaments; engine: of the database they write to."""
    n_recorders = read_number(name, 1, highest=MAX_RECORDERS)
    if n_recorders < 1:
        raise ImproperlyConfigured(f"{name} is 0; a whole number from 1 to {MAX_RECORDERS}")
    if n_recorders > 1 and engine.endswith("sqlite3"):
        raise ImproperlyConfigured(
            f"{name} is {n_recorders}, and SQLite lets one write at a time, so that the others "
            "would only wait: use 1 (./run up --recorders 1), or PostgreSQL by DATABASE_URL"
        )
    return n_recorders


def read_real(name: str, default: float, *, highest: float, lowest: float = 0) -> float:
    """Return a variable that is a number from `lowest` to `highest`."""
    raw = os.environ.get(name, str(default))
    try:
        value = float(raw)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and lowest <= value <= highest):
        needed = f"a number from {lowest:g} to {highest:g} is needed"
        raise ImproperlyConfigured(f"{name} is {raw!r}; {needed}")
    return value


def read_storage(name: str, folder: Path) -> dict[str, Any]:
    """Return the settings of a Django storage: this folder, or what two variables say.

    `<name>_STORAGE` is the dotted name of its class, `<name>_OPTIONS` its options as JSON.
    """
    backend = read_text(f"{name}_STORAGE", "")
    if not backend:
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(folder)},
        }
    try:
        options = json.loads(os.environ.get(f"{name}_OPTIONS", "{}"))
    except ValueError:
        options = None
    if not isinstance(options, dict):
        # Options may hold a password: their text is not shown.
        raise ImproperlyConfigured(f"{name}_OPTIONS is no JSON object, such as {{}}")
    return {"BACKEND": backend, "OPTIONS": options}


def read_database(name: str, default: str) -> dict[str, Any]:
    """Return the settings of the database at the address of a variable.

    A server that takes no connection is given up after five seconds, and one that is gone without a
    word after fifteen, unless the address says otherwise (?connect_timeout=10).
    """
    url = os.environ.get(name, default)
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in SCHEMES:
        # The address may hold a password: only its beginning is shown.
        raise ImproperlyConfigured(
            f"{name} begins with {scheme[:20]!r}; choose one of {', '.join(SCHEMES)} and ://"
        )
    # The error has parts of the address, such as of a password with a slash.
    try:
        config = dict(environ.Env.db_url_config(url))
    except ValueError:
        raise ImproperlyConfigured(f"{name} cannot be read; {IN_A_PASSWORD}") from None
    if scheme != "sqlite":
        # A service of libpq names its own.
        has_name = bool(config["NAME"] or "service" in config.get("OPTIONS", {}))
        if not has_name or "@" in config["NAME"]:
            rule = f"it must be {scheme}://user:password@host/name; {IN_A_PASSWORD}"
            raise ImproperlyConfigured(f"{name} names no database: {rule}")
        config["CONN_HEALTH_CHECKS"] = True
        config["OPTIONS"] = {**_LIMITS, **config.get("OPTIONS", {})}
    return config
