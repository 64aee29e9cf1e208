"""The files of checkpoints under signed links: whole, a piece at a time, to who has a link."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from matches.models import Checkpoint
from matches.store import blobs, signing
from matches.store.clock import db_now
from matches.tests.factories import NOW
from matches.tests.weights import added

pytestmark = pytest.mark.django_db


def _link(sha256: str) -> str:
    return signing.sign_link("GET", signing.checkpoint_path(sha256), now=db_now())


def _text(response: Any) -> str:
    return str(response.content.decode())


def test_the_address_is_the_one_that_links_sign() -> None:
    assert reverse("checkpoint-file", args=["ab"]) == signing.checkpoint_path("ab")


def test_the_file_comes_in_pieces_and_may_be_kept_for_ever(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "PIECE_BYTES", 64)
    sha256 = str(added(tmp_path).checkpoint_id)
    response: Any = client.get(_link(sha256))
    pieces = list(response.streaming_content)
    assert hashlib.sha256(b"".join(pieces)).hexdigest() == sha256
    assert response["Content-Length"] == str(sum(map(len, pieces)))
    assert max(map(len, pieces)) == 64
    assert "immutable" in response["Cache-Control"]


def test_without_a_good_link_nothing_is_answered(client: Client, tmp_path: Path) -> None:
    sha256 = str(added(tmp_path).checkpoint_id)
    path = signing.checkpoint_path(sha256)
    expired = signing.sign_link("GET", path, now=NOW)
    for address, words in (
        (path, "needs a signed link"),
        (f"{_link(sha256)}0", "does not fit GET"),
        (_link("0" * 64).replace("0" * 64, sha256), "does not fit GET"),
        (expired, "ask for a new one"),
    ):
        response = client.get(address)
        assert response.status_code == 403
        assert words in _text(response)


def test_what_is_not_there_is_not_found(client: Client, tmp_path: Path) -> None:
    assert client.get(_link("0" * 64)).status_code == 404
    assert client.get(_link("../../settings")).status_code == 404
    row = Checkpoint.objects.get(agents=added(tmp_path))
    (tmp_path / row.path).unlink()
    response = client.get(_link(row.sha256))
    assert (response.status_code, "may be refused" in _text(response)) == (404, True)


def test_a_link_to_read_writes_nothing(client: Client, tmp_path: Path) -> None:
    link = _link(str(added(tmp_path).checkpoint_id))
    for method in (client.put, client.post, client.delete):
        assert method(link).status_code == 405
