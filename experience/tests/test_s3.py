"""Segments and datasets in S3: written, joined, swept, built and deleted as on a disk.

Needs `.venv/bin/pip install -e '.[s3]'` and `./run tools install moto`; EVALSITE_MOTO_SERVER names
another program to start. moto stands in for AWS.
"""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from arena.experience.tests.made import chunk_of
from experience.datasets.starting import delete_dataset
from experience.models import Segment
from experience.tests.made import ACTOR
from experience.tests.test_datasets import begun, built, rows_of, stored
from experience.tests.test_upkeep import ALL, NEXT_DAY, NOW, compact, list_names
from experience.upkeep import sweeping
from experience.upkeep.retention import delete_old_segments
from experience.upkeep.sweeping import sweep_files
from launcher.errors import SetupError
from launcher.folders import ROOT
from launcher.tools import find_tool

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db,
    pytest.mark.skipif(
        find_spec("storages") is None or find_spec("boto3") is None,
        reason="needs .venv/bin/pip install -e '.[s3]'",
    ),
]
LIMIT_S = 60.0
REGION = "us-east-1"
OPTIONS: dict[str, Any] = {
    **{"region_name": REGION, "addressing_style": "path"},
    **{"access_key": "stand-in", "secret_key": "stand-in", "signature_version": "s3v4"},
    **{"default_acl": None, "file_overwrite": False},
}


def find_server() -> str:
    """Return the program that stands in for S3, or skip the test."""
    if (path := os.environ.get("EVALSITE_MOTO_SERVER")) is not None:
        return path
    try:
        return str(find_tool("moto", ROOT / "var") / "bin" / "moto_server")
    except SetupError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    """Yield the address of an S3."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([find_server(), "-H", "127.0.0.1", "-p", str(port)])
    try:
        deadline_s = time.monotonic() + LIMIT_S
        while True:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait(LIMIT_S)


@pytest.fixture(autouse=True)
def bucket(moto: str, settings: Any, _own_files: None) -> None:
    """Keep experience in a bucket of the test's own."""
    boto3: Any = import_module("boto3")
    keys = {"aws_access_key_id": "stand-in", "aws_secret_access_key": "stand-in"}
    name = f"experience-{uuid4().hex}"
    boto3.client("s3", endpoint_url=moto, region_name=REGION, **keys).create_bucket(Bucket=name)
    own = {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {**OPTIONS, "bucket_name": name, "endpoint_url": moto},
    }
    settings.STORAGES = {**settings.STORAGES, "experience": own}


def test_segments_and_datasets_live_in_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(1, 5):
        stored(chunk_of(seed=seed), at=NOW)
    joined = compact()
    assert joined is not None
    assert (joined.n_rows, list_names()) == (100, {joined.path})
    dataset = built(begun(shard_steps=60))
    assert (dataset.state, dataset.n_steps) == ("ready", 100)
    assert sum(len(rows.actions) for rows in rows_of(dataset)) == 100
    orphan = storages["experience"].save("cart_pole/2026-05-04/left", ContentFile(b"PAR1"))
    now = datetime.now(UTC)
    assert sweep_files(now=now) == 0
    monkeypatch.setattr(sweeping, "ORPHANED_AFTER", timedelta(minutes=-1))
    assert sweep_files(now=now) == 1
    assert not storages["experience"].exists(orphan)
    with ALL(execute=True):
        assert delete_old_segments(days=1, now=NEXT_DAY + timedelta(days=1)) == 1
        delete_dataset(dataset, actor=ACTOR, now=NOW)
    assert not Segment.objects.exists()
    assert storages["experience"].listdir("datasets/poles") == ([], [])
    assert list_names() == set()


def test_a_file_that_was_cut_off_is_written_anew() -> None:
    first = stored(chunk_of(seed=1), at=NOW)
    storages["experience"].delete(first.path)
    storages["experience"].save(first.path, ContentFile(b"PAR1"))
    first.delete()
    again = stored(chunk_of(seed=1), at=NOW)
    assert storages["experience"].size(again.path) == again.n_bytes
