"""Files go up and down as they are read, and only with the right hash."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import requests
from requests import Response

from evalsite_client import ChecksumError, InputError, Retries, UnreachableError, WaitTimeoutError
from evalsite_client.api.models import Version
from evalsite_client.decoding import decode
from evalsite_client.tests import fakes
from evalsite_client.tests.fakes import FakeTime, answer, broken, in_turn, problem
from evalsite_client.tests.schema_samples import Schema
from evalsite_client.uploads import CHUNK, make_form

SCHEMA = Schema()
CONTENT = b"rows" * 1000
DIGEST = sha256(CONTENT).hexdigest()
TWICE = Retries(n_attempts=2)


def _sample(name: str, **other: Any) -> dict[str, Any]:
    sample: dict[str, Any] = SCHEMA.sample({"$ref": f"#/components/schemas/{name}"})
    return sample | other


PIECE = _sample("Piece", sha256=DIGEST, href="/files/a?signature=b")


def _piece(*answers: Any, **options: Any) -> tuple[Any, Any, fakes.FakeServer]:
    listed = answer({"next": None, "results": [PIECE]})
    client, server = fakes.client(in_turn(lambda: listed, *answers), token="t", **options)
    (piece,) = client.trajectories.list(tournament=1)
    return client, piece, server


def test_a_piece_is_kept_under_its_hash_and_fetched_once(tmp_path: Path) -> None:
    client, piece, server = _piece(lambda: fakes.raw(CONTENT))
    sizes: list[int] = []
    for _ in range(2):
        path = client.trajectories.download(piece, tmp_path / "new", progress=sizes.append)
    assert path == tmp_path / "new" / f"{DIGEST}.parquet"
    assert path.read_bytes() == CONTENT
    assert sizes == [len(CONTENT)]
    assert server.requests[1].url == f"{fakes.BASE}/files/a?signature=b"
    assert "Authorization" not in server.requests[1].headers


def test_a_file_with_another_hash_is_fetched_again_and_then_refused(tmp_path: Path) -> None:
    wrong = [lambda: fakes.raw(b"other"), lambda: fakes.raw(CONTENT[:-1])]
    client, piece, _ = _piece(*wrong, lambda: fakes.raw(CONTENT))
    assert client.trajectories.download(piece, tmp_path).read_bytes() == CONTENT
    client, piece, _ = _piece(*wrong, retries=TWICE)
    with pytest.raises(ChecksumError, match=f"instead of {DIGEST}"):
        client.trajectories.download(piece, tmp_path / "empty")
    assert not list((tmp_path / "empty").iterdir())


def test_a_link_stays_a_link_and_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    def send_results(_: object) -> Response:
        results = fakes.raw(CONTENT)
        results.headers["ETag"] = DIGEST
        return results

    (tmp_path / "link").symlink_to(tmp_path / "results.csv")
    client, _ = fakes.client(send_results)
    client.leaderboards.download_results("board", tmp_path / "link")
    assert (tmp_path / "results.csv").read_bytes() == CONTENT
    assert (tmp_path / "link").is_symlink()
    os.mkfifo(tmp_path / "pipe")
    read_end, write_end = os.pipe()
    for name in ("pipe", ".", f"/dev/fd/{write_end}"):
        with pytest.raises(InputError, match="name a file"):
            client.leaderboards.download_results("board", tmp_path / name)
    os.close(read_end)
    os.close(write_end)
    assert (tmp_path / "pipe").is_fifo()


class _Torn(requests.Response):
    """A response whose connection breaks while it is read."""

    def iter_content(self, *_: Any, **__: Any) -> Any:
        yield CONTENT[:10]
        raise requests.exceptions.ChunkedEncodingError("torn")


def _torn() -> Response:
    response = _Torn()
    response.status_code = 200
    response.raw = fakes.raw(b"").raw
    return response


def test_a_download_that_breaks_off_begins_again(tmp_path: Path) -> None:
    client, piece, _ = _piece(_torn, lambda: fakes.raw(CONTENT))
    assert client.trajectories.download(piece, tmp_path).read_bytes() == CONTENT
    client, piece, _ = _piece(_torn, _torn, retries=TWICE)
    with pytest.raises(UnreachableError, match="broke off after 10 bytes: torn"):
        client.trajectories.download(piece, tmp_path / "empty")


def test_weights_that_break_off_are_loaded_again() -> None:
    sample = _sample("Version", url="/files/w", size=len(CONTENT), sha256=DIGEST)
    named = decode(Version, sample)
    client, _ = fakes.client(in_turn(_torn, lambda: fakes.raw(CONTENT)))
    assert client.models.fetch_weights(named) == CONTENT
    client, _ = fakes.client(in_turn(_torn, _torn), retries=TWICE)
    with pytest.raises(UnreachableError, match="broke off after 10 bytes: torn"):
        client.models.fetch_weights(named)


def test_all_pieces_of_a_tournament_are_fetched(tmp_path: Path) -> None:
    listed = answer({"next": None, "results": [PIECE]})
    client, _ = fakes.client(in_turn(lambda: listed, lambda: fakes.raw(CONTENT)))
    hashes: list[str] = []
    paths = client.trajectories.download_all(
        1, tmp_path, progress=lambda piece: hashes.append(piece.sha256)
    )
    assert [path.read_bytes() for path in paths] == [CONTENT]
    assert hashes == [DIGEST]


def test_a_checkpoint_is_fetched_by_its_link(tmp_path: Path) -> None:
    link = answer({"href": "/files/checkpoint"})
    client, _ = fakes.client(in_turn(lambda: link, lambda: fakes.raw(CONTENT)))
    assert client.checkpoints.download(DIGEST, tmp_path / "a").read_bytes() == CONTENT


def test_an_upload_is_sent_in_pieces_and_again_from_its_start(tmp_path: Path) -> None:
    (path := tmp_path / 'a "b".safetensors').write_bytes(b"x" * (CHUNK + 1))
    made = _sample("Checkpoint", forced_placement="", state="ready")
    client, server = fakes.client(in_turn(broken, lambda: problem(503), lambda: answer(made, 201)))
    sizes: list[tuple[int, int]] = []
    checkpoint = client.checkpoints.upload(
        path, name="run", step=3, parameters={"width": 8}, progress=lambda *n: sizes.append(n)
    )
    assert checkpoint.state == "ready"
    assert sizes == [(CHUNK, CHUNK + 1), (CHUNK + 1, CHUNK + 1)] * 3
    bodies = {request.body for request in server.requests}
    (body,) = bodies
    head = server.requests[0].headers
    assert int(head["Content-Length"]) == len(body)
    digest = sha256(path.read_bytes()).hexdigest().encode()
    for part in (b'name="step"\r\n\r\n3\r\n', b'{"width": 8}', b'filename="a %22b%22.safe', digest):
        assert part in body


def test_a_file_that_changes_meanwhile_is_not_sent_to_its_end(tmp_path: Path) -> None:
    (path := tmp_path / "a").write_bytes(b"abc")
    body = make_form(path, {})
    for content in (b"ab", b"abcd"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="changed while it was sent"):
            list(body)


@pytest.mark.parametrize("name", ["nothing", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    client, server = fakes.client(lambda _: broken())
    with pytest.raises(InputError, match="cannot be read"):
        client.checkpoints.upload(tmp_path / name, name="run")
    assert not server.requests


def test_the_check_of_a_checkpoint_is_waited_for() -> None:
    checking, ready = (_sample("Checkpoint", state=state) for state in ("checking", "ready"))
    client, _ = fakes.client(in_turn(lambda: answer(checking), lambda: answer(ready)))
    assert client.checkpoints.wait(DIGEST).state == "ready"
    time = FakeTime()
    waiting = {**checking, "waits_for": "a gpu node"}
    client, _ = fakes.client(lambda _: answer(waiting), time=time)
    with pytest.raises(WaitTimeoutError, match="waits for a gpu node"):
        client.checkpoints.wait(DIGEST, timeout_s=2)
    assert time.now_s == 2
