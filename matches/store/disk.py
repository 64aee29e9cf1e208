"""The data folder: whether its disk has room, and what files of servers were damaged there.

Orders are held before the disk is full, so that reports fit.
"""

import shutil
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings

MB = 10**6
SET_ASIDE_SHOWN = timedelta(days=1)
KEPT = ("broker", "stream")
"""Servers that have a file."""


def describe_shortage() -> str:
    """Return why nothing may be sent now, or an empty string while there is room."""
    floor: int = settings.EVALSITE_DISK_FLOOR_MB * MB
    free = shutil.disk_usage(settings.VAR).free
    if free >= floor:
        return ""
    return f"the disk of the data folder has {free // MB:,} MB left, less than {floor // MB:,} MB"


def list_files_set_aside(*, now: datetime) -> list[str]:
    """Return the damaged files of the last day (launcher.salvage), such as broker/set-aside-..."""
    since = (now - SET_ASIDE_SHOWN).strftime("set-aside-%Y%m%d-%H%M%S")
    set_aside = (path for name in KEPT for path in (Path(settings.VAR) / name).glob("set-aside-*"))
    return sorted(f"{path.parent.name}/{path.name}" for path in set_aside if path.name >= since)
