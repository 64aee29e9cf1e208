"""The files of checkpoints, in the storage that the settings name, by the hash of their content."""

import os
from pathlib import Path

from django.core.files import File
from django.core.files.storage import Storage, storages


class Staged(File):  # type: ignore[type-arg]  # generic for the type checker only
    """A whole file that a storage on the same file system may take over by renaming it."""

    def temporary_file_path(self) -> str:
        """Return where it is: Django's storages then move it instead of copying."""
        return os.fspath(self.name or "")


def keep(staged: Path, name: str) -> None:
    """Move a whole file into the storage; one that is there with this size stays."""
    storage = _storage()
    if storage.exists(name):
        if storage.size(name) == staged.stat().st_size:
            return
        storage.delete(name)
    with staged.open("rb") as file:
        kept = storage.save(name, Staged(file, os.fspath(staged)))
    if kept != name:
        # Another process has put the same content meanwhile.
        storage.delete(kept)


def opened(name: str) -> "File[bytes] | None":
    """Return the file to read, or None when it is not there."""
    try:
        file: File[bytes] = _storage().open(name)
    except FileNotFoundError:
        return None
    return file


def remove(name: str) -> None:
    """Delete a file; one that is not there is no error."""
    _storage().delete(name)


def _storage() -> Storage:
    return storages["checkpoints"]
