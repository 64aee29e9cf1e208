"""System checks: refuse to run with settings that would fail or be unsafe later."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import storages

from launcher.addresses import find_place


@register("evalsite")
def check_secret_key(**_: Any) -> list[CheckMessage]:
    """Refuse the development key outside development."""
    if settings.DEBUG or settings.SECRET_KEY != settings.INSECURE_SECRET_KEY:
        return []
    return [
        Error(
            "EVALSITE_SECRET_KEY is not set and EVALSITE_DEBUG is off.",
            hint="`./run` writes one to var/secrets.env; elsewhere set EVALSITE_SECRET_KEY.",
            id="evalsite.E001",
        )
    ]


@register("evalsite")
def check_https(**_: Any) -> list[CheckMessage]:
    """Warn of a site that sends every browser to https and would not notice that it came so."""
    if not settings.EVALSITE_HTTPS or settings.EVALSITE_PROXIES:
        return []
    return [
        Warning(
            "EVALSITE_HTTPS is 1 and EVALSITE_PROXIES is 0: the web server of `./run` speaks http, "
            "so it redirects for ever.",
            hint="Set EVALSITE_PROXIES to the number of proxies that speak https before it.",
            id="evalsite.W002",
        )
    ]


@register("evalsite")
def check_var_folder(**_: Any) -> list[CheckMessage]:
    """Refuse a data folder that cannot be written."""
    folder = Path(settings.VAR)
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return []
    return [
        Error(
            f"The data folder {folder} does not exist or cannot be written.",
            hint="Create it, or name another with EVALSITE_VAR.",
            id="evalsite.E002",
        )
    ]


@register("evalsite")
def check_storages(**_: Any) -> list[CheckMessage]:
    """Refuse storages that cannot be made: the first file would find it out."""
    return [error for name in settings.STORAGES for error in _try_storage(name)]


def _try_storage(name: str) -> list[CheckMessage]:
    try:
        storages[name]
    except (ImproperlyConfigured, ImportError, TypeError, ValueError) as error:
        variable = f"EVALSITE_{name.upper()}_STORAGE"
        return [
            Error(
                f"The storage of {name} cannot be used: {error}",
                hint=f"Look at {variable} and {variable.replace('STORAGE', 'OPTIONS')}.",
                id="evalsite.E004",
            )
        ]
    return []


@register("evalsite")
def check_stream(**_: Any) -> list[CheckMessage]:
    """Refuse a stream that shares a server with the queues: full, it would stop every match."""
    if not settings.STREAM_REDIS_URL:
        return []
    try:
        others = {find_place(url) for url in (settings.REDIS_URL, settings.FAST_REDIS_URL)}
        is_shared = find_place(settings.STREAM_REDIS_URL) in others
    except ValueError as error:
        unreadable = f"The address of a Redis server cannot be read: {error}"
        hint = "Look at REDIS_URL, FAST_REDIS_URL and STREAM_REDIS_URL."
        return [Error(unreadable, hint=hint, id="evalsite.E005")]
    if not is_shared:
        return []
    return [
        Error(
            "STREAM_REDIS_URL is the server of REDIS_URL or FAST_REDIS_URL.",
            hint="Give it a server of its own; another database of the same one is not enough.",
            id="evalsite.E003",
        )
    ]


@register("evalsite")
def check_rights(**_: Any) -> list[CheckMessage]:
    """Say which servers know no users of ours: every node may do everything there."""
    return [
        Warning(
            f"Rights are not enforced at the {server}: programs and play nodes share one login.",
            hint="Give `./run` an address that may make users (ACL SETUSER).",
            id="evalsite.W001",
        )
        for server in settings.EVALSITE_UNENFORCED
    ]
