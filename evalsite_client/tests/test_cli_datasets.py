"""`evalsite datasets` against the running app: built, waited for, downloaded, deleted."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.test import Client

from arena.experience.tests.made import chunk_of
from evalsite_client.tests.commands import Evalsite
from experience.datasets.building import build_datasets
from experience.models import Dataset
from experience.tests.test_datasets import NOW, stored
from matches.tests import callers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def control() -> Iterator[None]:
    """Let control build what is begun."""
    stop = Event()

    def build() -> None:
        while not stop.wait(0.02):
            build_datasets(now=NOW, clock_s=monotonic)
        connection.close()

    thread = Thread(target=build)
    thread.start()
    yield
    stop.set()
    thread.join()


def test_a_dataset_is_built_downloaded_again_and_deleted(
    evalsite: Evalsite, control: None, tmp_path: Path
) -> None:
    stored(*(chunk_of((5, 20), seed=seed) for seed in range(1, 5)))
    build = ("datasets", "build", "poles", "--game", "cart_pole", "--shard-steps", 30)
    status, output, complaint = evalsite(*build, "--since", "2026-05-04", "--wait")
    assert status == 0, complaint
    assert "ready" in output
    assert "poles" in evalsite("datasets")[1]
    folder = tmp_path / "poles"
    assert evalsite("datasets", "download", "poles", folder)[1].startswith("4 shards, ")
    manifest = json.loads((folder / "manifest.json").read_text())
    for shard in manifest["shards"]:
        path = folder / shard["file"]
        assert sha256(path.read_bytes()).hexdigest() == shard["sha256"]
        assert pq.read_table(path).num_rows == shard["n_steps"]
    # One is torn: the same command mends it, and nothing else is fetched.
    kept, torn = folder / "shard-00000.parquet", folder / "shard-00001.parquet"
    before, whole = kept.stat().st_mtime_ns, torn.read_bytes()
    torn.write_bytes(whole[:100])
    evalsite("datasets", "download", "poles", folder)
    assert (torn.read_bytes(), kept.stat().st_mtime_ns) == (whole, before)
    manifest["name"] = "another"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    status, _, complaint = evalsite("datasets", "download", "poles", folder)
    assert (status, "holds another dataset" in complaint) == (2, True)
    assert evalsite("datasets", "delete", "poles")[0] == 0
    assert evalsite("datasets", "show", "poles")[::2] == (
        2, "evalsite: there is no dataset poles: `evalsite datasets` lists them\n"
    )  # fmt: skip


def test_a_download_goes_on_where_the_disk_was_full(
    evalsite: Evalsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(chunk_of((5, 20), seed=1))
    assert evalsite("datasets", "build", "poles", "--game", "cart_pole")[0] == 0
    build_datasets(now=NOW, clock_s=monotonic)
    download = ("datasets", "download", "poles", tmp_path)

    def write_half(path: Path, text: str, **_: object) -> None:
        path.write_bytes(text.encode()[:9])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", write_half)
        assert evalsite(*download)[::2] == (1, "evalsite: [Errno 28] No space left on device\n")
    assert [path.name for path in tmp_path.iterdir()] == ["shard-00000.parquet"]
    assert evalsite(*download)[0] == 0


def test_what_cannot_be_is_said(evalsite: Evalsite) -> None:
    assert evalsite("datasets", "build", "poles")[2].startswith("evalsite: --game: is missing")
    status, _, complaint = evalsite("datasets", "build", "poles", "--game", "cart_pole")
    assert (status, "no uploads of cart_pole" in complaint) == (2, True)
    stored(chunk_of((5, 20), seed=1))
    callers.user("bob")
    failing = ("datasets", "build", "poles", "--game", "cart_pole", "--min-return", 999)
    status, output, _ = evalsite(*failing, "--user", "ada", "--user", "bob")
    assert status == 0
    assert re.search(r"^users +ada, bob$", output, re.MULTILINE)
    build_datasets(now=NOW, clock_s=monotonic)
    status, output, _ = evalsite("datasets", "show", "poles")
    assert (status, "nothing fits it" in output) == (1, True)
    assert evalsite("datasets", "download", "poles", "nowhere")[0] == 2


def test_a_link_is_of_one_shard_and_ends_with_it() -> None:
    reader = callers.with_token(callers.token("reader", callers.READER))
    stored(chunk_of((5, 20), seed=1))
    operator = callers.with_token(callers.token("operator", callers.OPERATOR))
    body = {"name": "poles", "game": "cart_pole"}
    assert operator.post("/api/v1/datasets/", body, "application/json").status_code == 201
    (waiting,) = reader.get("/api/v1/datasets/poles/shards/").json()["results"] or [{"url": ""}]
    assert waiting["url"] == ""
    build_datasets(now=NOW, clock_s=monotonic)
    (shard,) = reader.get("/api/v1/datasets/poles/shards/").json()["results"]
    content = b"".join(Client().get(shard["url"]).streaming_content)  # type: ignore[attr-defined]
    assert sha256(content).hexdigest() == shard["sha256"]
    assert Client().get(shard["url"].replace("signature=", "signature=0")).status_code == 403
    Dataset.objects.all().delete()
    assert Client().get(shard["url"]).status_code == 404
