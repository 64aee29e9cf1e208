"""Room on the disk of the data folder. Orders are held before it is full, so that reports fit."""

import shutil

from django.conf import settings

MB = 10**6


def shortage() -> str:
    """Return why nothing may be sent now, or an empty string while there is room."""
    floor: int = settings.EVALSITE_DISK_FLOOR_MB * MB
    free = shutil.disk_usage(settings.VAR).free
    if free >= floor:
        return ""
    return f"the disk of the data folder has {free // MB:,} MB left, less than {floor // MB:,} MB"
