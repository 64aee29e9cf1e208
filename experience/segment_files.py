"""Files in the storage "experience": segments, and shards of datasets in a folder of their own."""

import os
from pathlib import Path
from typing import Final

from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import connection

STORAGE: Final = "experience"
DATASETS: Final = "datasets"
"""The folder of their shards; the others are of games."""
_NAMES: Final = (13, 1)
"""Key of an advisory lock; `matches.store.locks` has another first half."""


def store_file(name: str, content: bytes) -> str:
    """Put a file into the storage; return its name there. Raises OSError."""
    shelf = storages[STORAGE]
    if shelf.exists(name):
        if shelf.size(name) == len(content):
            return name
        # Cut off while it was written: its name has the hash of its content.
        shelf.delete(name)
    stored_as = shelf.save(name, ContentFile(content))
    try:
        path = Path(shelf.path(stored_as))
    except NotImplementedError:
        return stored_as  # elsewhere, such as in S3, what is saved is kept
    # The entries are deleted next: until then they are the only copy that a power cut leaves.
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return stored_as


def claim_file(name: str) -> None:
    """Make sure that a file is there until this transaction, which names it in a row, ends.

    Raises FileNotFoundError where it was swept away, taken for one that a killed program had left.
    """
    hold_names()
    if not storages[STORAGE].exists(name):
        raise FileNotFoundError(f"{name} was deleted before its row was written: again")


def hold_names() -> None:
    """Let only this transaction decide which files have a row; SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s::int, %s::int)", _NAMES)
