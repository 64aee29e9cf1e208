"""Files in the storage "experience": segments, and shards of datasets in a folder of their own."""

import os
from pathlib import Path
from typing import Final

from django.core.files.base import ContentFile
from django.core.files.storage import storages

STORAGE: Final = "experience"


def store_file(name: str, content: bytes) -> str:
    """Put a file into the storage; return its name there. Raises OSError."""
    shelf = storages[STORAGE]
    if shelf.exists(name):
        if shelf.size(name) == len(content):
            return name
        # Cut off while it was written: its name has the hash of its content.
        shelf.delete(name)
    kept = shelf.save(name, ContentFile(content))
    try:
        path = Path(shelf.path(kept))
    except NotImplementedError:
        return kept  # elsewhere, such as in S3, what is saved is kept
    # The entries are deleted next: until then they are the only copy that a power cut leaves.
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return kept
