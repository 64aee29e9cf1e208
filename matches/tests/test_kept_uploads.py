"""A file that was sent with a form that was refused need not be sent again."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from matches.admin import kept_uploads
from matches.admin.kept_uploads import find_kept, keep_upload
from matches.models import Checkpoint
from matches.tests.test_checkpoint_uploads import ADMIN, ADMIN_FORM
from matches.tests.weights import weights

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.VAR = tmp_path


@pytest.fixture
def weights_file(tmp_path: Path) -> Path:
    """Return a safetensors file."""
    return weights(tmp_path / "given" / "a.safetensors")


def _send(client: Client, form: dict[str, Any], content: bytes | None = None) -> Any:
    file = {"file": SimpleUploadedFile("a.safetensors", content)} if content else {}
    return client.post(ADMIN, {**ADMIN_FORM, **form, **file})


def _token(page: str) -> str:
    match = re.search(r'name="kept" value="([^"]+)"', page)
    assert match is not None
    return match[1]


def test_a_refused_form_keeps_its_file_until_it_is_taken(
    admin_client: Client, weights_file: Path, tmp_path: Path
) -> None:
    page = _send(admin_client, {"architecture": ""}, weights_file.read_bytes()).content.decode()
    assert "a.safetensors is kept for an hour" in page
    again = _send(admin_client, {"step": "-1", "kept": _token(page)}).content.decode()
    assert _token(again) == _token(page)
    assert _send(admin_client, {"kept": _token(again)}).status_code == 302
    assert Checkpoint.objects.get().source_name == "a.safetensors"
    assert list((tmp_path / "kept-uploads").iterdir()) == []


def test_a_file_that_is_refused_itself_is_not_kept(admin_client: Client) -> None:
    page = _send(admin_client, {}, b"\x80\x04 a pickle").content.decode()
    assert "pickle" in page
    assert "is kept" not in page


def test_without_any_file_the_form_asks_for_one(admin_client: Client) -> None:
    for token in ("", "made up"):
        answer = _send(admin_client, {"kept": token})
        assert "file" in answer.context["adminform"].form.errors


def test_only_the_same_user_finds_it_and_only_for_an_hour(
    weights_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = keep_upload(weights_file, "a.safetensors", user_id=1)
    kept = find_kept(token, user_id=1)
    assert kept is not None
    assert kept.path.read_bytes() == weights_file.read_bytes()
    assert find_kept(token, user_id=2) is find_kept(token[:-1], user_id=1) is None
    newer = keep_upload(weights_file, "b.safetensors", user_id=1)
    assert find_kept(token, user_id=1) is None
    monkeypatch.setattr(kept_uploads, "HOUR_S", -1)
    assert find_kept(newer, user_id=1) is None


def test_the_name_of_a_file_is_no_markup(admin_client: Client, weights_file: Path) -> None:
    name = "<img src=x onerror=alert(1)>.safetensors"
    file = SimpleUploadedFile(name, weights_file.read_bytes())
    answer = admin_client.post(ADMIN, {**ADMIN_FORM, "architecture": "", "file": file})
    page = answer.content.decode()
    assert "&lt;img src=x onerror=alert(1)&gt;.safetensors is kept for an hour" in page
    assert "<img src=x" not in page


def test_files_of_others_are_deleted_after_an_hour(weights_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept-uploads"
    keep_upload(weights_file, "a.safetensors", user_id=1)
    (left,) = folder.iterdir()
    keep_upload(weights_file, "b.safetensors", user_id=2)
    assert left.exists()
    os.utime(left, (0, 0))
    newer = keep_upload(weights_file, "c.safetensors", user_id=2)
    kept = find_kept(newer, user_id=2)
    assert kept is not None
    assert [*folder.iterdir()] == [kept.path]
