"""The disk cache of checkpoints, against a real web server."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from inference.checkpoint_store import FETCH_S, RETRY_S, STALE_S, CheckpointStore
from inference.errors import RequestError, UnavailableError
from inference.protocol import CheckpointRef
from inference.tests.file_server import LINK, FileServer, serving


class Clock:
    """Stands still until told; step_s is how much later every look at it is."""

    def __init__(self) -> None:
        self.now, self.step_s = 100.0, 0.0

    def __call__(self) -> float:
        self.now += self.step_s
        return self.now


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, server: FileServer, clock: Clock) -> CheckpointStore:
    return CheckpointStore(tmp_path / "cache", server.url, max_bytes=1000, clock=clock)


def put(server: FileServer, content: bytes) -> CheckpointRef:
    digest = hashlib.sha256(content).hexdigest()
    server.bodies[digest] = content
    return CheckpointRef(digest, f"{LINK}{digest}?until=99&signature=ab")


def test_a_file_is_fetched_once(store: CheckpointStore, server: FileServer) -> None:
    ref = put(server, b"weights")
    assert store.path(ref).read_bytes() == b"weights"
    assert store.path(ref).read_bytes() == b"weights"
    assert server.paths == [ref.source]
    assert store.n_fetched == 1


def test_another_process_finds_the_file(store: CheckpointStore, server: FileServer) -> None:
    ref = put(server, b"weights")
    store.path(ref)
    other = CheckpointStore(store.folder, server.url)
    assert other.path(ref).read_bytes() == b"weights"
    assert len(server.paths) == 1


def test_a_damaged_file_is_fetched_again(store: CheckpointStore, server: FileServer) -> None:
    ref = put(server, b"weights")
    store.path(ref).write_bytes(b"wejghts")
    other = CheckpointStore(store.folder, server.url)
    assert other.path(ref).read_bytes() == b"weights"
    assert len(server.paths) == 2


def test_a_file_that_another_process_removed_is_fetched_again(
    store: CheckpointStore, server: FileServer
) -> None:
    ref = put(server, b"weights")
    store.path(ref).unlink()
    assert store.path(ref).read_bytes() == b"weights"


def test_what_does_not_have_the_hash_is_not_kept(
    store: CheckpointStore, server: FileServer
) -> None:
    ref = put(server, b"weights")
    server.bodies[ref.checkpoint] = b"others"
    with pytest.raises(UnavailableError, match="has hash"):
        store.path(ref)
    assert list(store.folder.iterdir()) == []


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_a_refusal_of_the_server_is_named(
    store: CheckpointStore, server: FileServer, status: int
) -> None:
    ref = put(server, b"weights")
    server.status = status
    with pytest.raises(UnavailableError, match=f"answered {status}"):
        store.path(ref)


def test_a_failure_is_remembered_some_seconds(
    store: CheckpointStore, server: FileServer, clock: Clock
) -> None:
    ref = put(server, b"weights")
    server.status = 404
    for _ in range(3):
        with pytest.raises(UnavailableError, match="answered 404"):
            store.path(ref)
    assert len(server.paths) == 1
    server.status = 200
    clock.now += RETRY_S + 0.1
    assert store.path(ref).is_file()


def test_a_fresh_link_is_asked_at_once(store: CheckpointStore, server: FileServer) -> None:
    ref = put(server, b"weights")
    server.status = 403
    with pytest.raises(UnavailableError):
        store.path(ref)
    server.status = 200
    assert store.path(CheckpointRef(ref.checkpoint, ref.source + "cd")).is_file()


def test_no_redirect_is_followed(store: CheckpointStore, server: FileServer) -> None:
    ref = put(server, b"weights")
    with serving() as elsewhere:
        elsewhere.bodies = server.bodies
        server.status, server.location = 302, elsewhere.url + ref.source
        with pytest.raises(UnavailableError, match="answered 302"):
            store.path(ref)
        assert elsewhere.paths == []


def test_no_server_at_the_address_is_named(tmp_path: Path) -> None:
    with serving() as ended:
        ref = put(ended, b"weights")
    with pytest.raises(UnavailableError, match="refused"):
        CheckpointStore(tmp_path, ended.url).path(ref)


def test_without_a_server_only_the_cache_serves(store: CheckpointStore, server: FileServer) -> None:
    ref = put(server, b"weights")
    lonely = CheckpointStore(store.folder, "")
    with pytest.raises(UnavailableError, match="no web server is set"):
        lonely.path(ref)
    store.path(ref)
    assert CheckpointStore(store.folder, "").path(ref).is_file()


@pytest.mark.parametrize(
    "source",
    [
        "http://elsewhere/files/checkpoints/" + "0" * 64,
        "//elsewhere/files/checkpoints/" + "0" * 64,
        "/files/trajectories/" + "0" * 64,
        "/files/checkpoints/../../admin",
        "/files/checkpoints/" + "0" * 64 + "?a=b\r\nHost: elsewhere",
        "@elsewhere/files/checkpoints/" + "0" * 64,
    ],
)
def test_only_links_of_checkpoints_are_asked_for(
    store: CheckpointStore, server: FileServer, source: str
) -> None:
    with pytest.raises(RequestError, match="no link"):
        store.path(CheckpointRef("0" * 64, source))
    assert server.paths == []


@pytest.mark.parametrize("checkpoint", ["../../etc/passwd", "A" * 64, "", "0" * 63])
def test_only_a_hash_names_a_file(store: CheckpointStore, checkpoint: str) -> None:
    with pytest.raises(RequestError, match="no SHA-256"):
        store.path(CheckpointRef(checkpoint, LINK + "0" * 64))


def test_a_file_over_the_limit_is_cut_off(store: CheckpointStore, server: FileServer) -> None:
    with pytest.raises(UnavailableError, match="more than 1000 bytes"):
        store.path(put(server, bytes(1001)))
    assert list(store.folder.iterdir()) == []


def test_a_server_that_drips_is_given_up(
    store: CheckpointStore, server: FileServer, clock: Clock
) -> None:
    clock.step_s = FETCH_S + 1
    with pytest.raises(UnavailableError, match="not here after"):
        store.path(put(server, b"weights"))


def test_an_answer_that_ends_early_is_refused(store: CheckpointStore, server: FileServer) -> None:
    ref = put(server, b"weights")
    server.bodies[ref.checkpoint] = b"wei"
    server.announced = 7
    with pytest.raises(UnavailableError):
        store.path(ref)


def test_the_least_recently_used_files_make_room(
    store: CheckpointStore, server: FileServer
) -> None:
    store.limit_bytes = 250
    refs = [put(server, bytes([letter]) * 100) for letter in b"abc"]
    for age, ref in zip((30, 20), refs, strict=False):
        path = store.path(ref)
        used_at = path.stat().st_mtime - age
        os.utime(path, (used_at, used_at))
    store.path(refs[0])  # now the second was used least recently
    newest = store.path(refs[2])
    held = {path.name for path in store.folder.iterdir()}
    assert held == {f"{refs[0].checkpoint}.safetensors", newest.name}


def test_what_an_old_fetch_left_is_removed(store: CheckpointStore, server: FileServer) -> None:
    store.folder.mkdir()
    old, young = store.folder / ".fetch-old", store.folder / ".fetch-young"
    for left_over in (old, young):
        left_over.write_bytes(b"half")
    used_at = young.stat().st_mtime - STALE_S - 1
    os.utime(old, (used_at, used_at))
    store.path(put(server, b"weights"))
    assert not old.exists()
    assert young.exists()


def test_keep_alive_is_called_while_a_file_arrives(
    store: CheckpointStore, server: FileServer
) -> None:
    calls: list[None] = []
    store.path(put(server, b"weights"), keep_alive=lambda: calls.append(None))
    assert calls
