"""Files by their hash: whole or not there, one of each."""

from pathlib import Path

import pytest
from django.core.files.storage import FileSystemStorage

from matches.store import blobs

NAME = "ab/abcd.safetensors"


def _staged(folder: Path, content: bytes) -> Path:
    path = folder / "staged"
    path.write_bytes(content)
    return path


def _kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("ab/*")}


def test_a_file_is_moved_into_the_storage(tmp_path: Path) -> None:
    staged = _staged(tmp_path, b"weights")
    blobs.store_file(staged, NAME)
    assert _kept(tmp_path) == {"abcd.safetensors": b"weights"}
    assert not staged.exists()


def test_a_file_that_a_crash_left_short_is_replaced(tmp_path: Path) -> None:
    blobs.store_file(_staged(tmp_path, b"weig"), NAME)
    blobs.store_file(_staged(tmp_path, b"weights"), NAME)
    assert _kept(tmp_path) == {"abcd.safetensors": b"weights"}


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    for _ in range(2):
        blobs.store_file(_staged(tmp_path, b"weights"), NAME)
    assert _kept(tmp_path) == {"abcd.safetensors": b"weights"}


def test_of_two_processes_that_keep_the_same_file_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs.store_file(_staged(tmp_path, b"weights"), NAME)
    exists, names = FileSystemStorage.exists, []

    def not_yet(storage: FileSystemStorage, name: str) -> bool:
        """Know nothing of the file when it is asked for the first time."""
        names.append(name)
        return len(names) > 1 and exists(storage, name)

    monkeypatch.setattr(FileSystemStorage, "exists", not_yet)
    blobs.store_file(_staged(tmp_path, b"weights"), NAME)
    assert _kept(tmp_path) == {"abcd.safetensors": b"weights"}


def test_what_is_not_there_is_none_and_may_be_removed(tmp_path: Path) -> None:
    assert blobs.open_file(NAME) is None
    blobs.delete_file(NAME)
