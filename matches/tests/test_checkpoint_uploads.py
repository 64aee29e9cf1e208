"""Uploads by API and admin: the same checks, each refusal at its field, nothing left behind."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.test import Client
from redis import Redis

from arena.checkpoints import hash_file
from matches.artifacts.agents import register_spelled_agent
from matches.models import Agent, Checkpoint
from matches.store import blobs
from matches.tests.weights import GAME, added, verdict, weights

pytestmark = pytest.mark.django_db
Stored = Callable[[], list[str]]
API, ADMIN = "/api/v1/checkpoints/", "/admin/matches/checkpoint/add/"
FORM: dict[str, Any] = {"name": "run", "game": GAME, "architecture": "mlp"}
ADMIN_FORM = FORM | {"parameters": "{}", "parent_name": "", "forced_placement": "", "step": ""}


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    """Return a safetensors file."""
    return weights(tmp_path / "given" / "a.safetensors").read_bytes()


def _upload(client: Client, content: bytes, form: dict[str, Any], address: str = API) -> Any:
    file = SimpleUploadedFile("a.safetensors", content)
    return client.post(address, form | {"file": file})


def _problems(response: Any) -> str:
    assert response.status_code == 400, response.content
    return " ".join(f"{p['field']}: {p['message']}" for p in response.json()["errors"])


def _form_errors(response: Any) -> str:
    assert response.status_code == 200, "a form that is refused is shown again"
    errors = response.context["adminform"].form.errors
    return " ".join(f"{field}: {' '.join(messages)}" for field, messages in errors.items())


def _nothing_is_stored(stored: Stored) -> bool:
    return not (stored() or Checkpoint.objects.exists() or Agent.objects.exists())


def test_an_upload_registers_checkpoint_and_agent(
    admin_client: Client, content: bytes, tmp_path: Path, stored: Stored
) -> None:
    sent = hash_file(tmp_path / "given" / "a.safetensors")
    form = FORM | {"step": 5, "parameters": '{"hidden": 8}', "sha256": sent, "placement": "gpu"}
    response = _upload(admin_client, content, form)
    assert response.status_code == 201, response.content
    detail = response.json()
    assert stored() == [detail["sha256"]]
    assert (detail["state"], detail["step"], detail["parameters"]) == ("checking", 5, {"hidden": 8})
    assert (detail["source_name"], detail["placement"]) == ("a.safetensors", "gpu")
    assert "none is alive" in detail["waits_for"]
    assert [agent["name"] for agent in detail["agents"]] == ["run@5"]
    agent = admin_client.get(f"/api/v1/agents/{detail['agents'][0]['id']}/").json()
    assert agent["checkpoint"] == detail["sha256"]


def test_one_checkpoint_shows_its_state(client: Client, broker: Redis, tmp_path: Path) -> None:
    agent = added(tmp_path)
    verdict(agent.checkpoint, refusal="NaN weights")
    detail = client.get(f"{API}{agent.checkpoint_id}/").json()
    assert (detail["state"], detail["reason"], detail["waits_for"]) == (
        "refused",
        "NaN weights",
        "",
    )
    listed = client.get(API, {"state": "refused", "game": GAME}).json()["results"]
    assert [row["sha256"] for row in listed] == [agent.checkpoint_id]
    assert client.get(f"{API}{'0' * 64}/").status_code == 404


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"game": "poker"}, "game: unknown game 'poker'"),
        ({"architecture": ""}, "architecture: a.safetensors is not sealed"),
        ({"parameters": "[1]"}, "parameters: [1]: must be an object"),
        ({"parameters": "{"}, "parameters: Value must be valid JSON"),
        ({"parameters": '{"a": [1]}'}, "parameters: parameter 'a' is [1]"),
        ({"parent": "nobody"}, "parent: 'nobody' is no SHA-256"),
        ({"sha256": "0" * 64}, "sha256: a.safetensors has"),
        ({"placement": "moon"}, "placement: "),
        ({"step": "soon"}, "step: "),
        ({"name": ""}, "name: "),
        ({"name": "a\0b"}, "name: "),
    ],
)
def test_an_upload_that_cannot_be_is_refused_at_its_field(
    admin_client: Client, content: bytes, stored: Stored, change: dict[str, Any], words: str
) -> None:
    assert words in _problems(_upload(admin_client, content, FORM | change))
    assert _nothing_is_stored(stored)


def test_a_pickle_is_refused_with_the_way_to_convert_it(
    admin_client: Client, stored: Stored
) -> None:
    content = pickle.dumps({"weight": [1.0]})
    problems = _problems(_upload(admin_client, content, FORM))
    assert "file: a.safetensors: this is a pickle" in problems
    assert "convert" in problems
    assert _nothing_is_stored(stored)


def test_an_upload_without_a_file_is_refused(admin_client: Client) -> None:
    assert "file: No file" in _problems(admin_client.post(API, FORM))
    assert "file: The submitted data was not a file" in _problems(
        admin_client.post(API, FORM | {"file": "text"})
    )


def test_an_upload_is_cut_off_and_refused_where_it_is_too_large(
    admin_client: Client, content: bytes, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "MAX_BYTES", 100)
    sizes = []
    write = TemporaryFileUploadHandler.receive_data_chunk

    def noted(self: Any, raw_data: bytes, start: int) -> None:
        sizes.append(len(raw_data))
        write(self, raw_data, start)

    monkeypatch.setattr(TemporaryFileUploadHandler, "receive_data_chunk", noted)
    problems = _problems(_upload(admin_client, content, FORM))
    assert sum(sizes) == 101
    assert "truncated" in problems
    assert _nothing_is_stored(stored)


def test_an_upload_needs_a_login_and_the_right(client: Client, content: bytes) -> None:
    assert _upload(client, content, FORM).status_code == 401
    user = get_user_model().objects.create_user("submitter")
    client.force_login(user)
    assert _upload(client, content, FORM).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="add_checkpoint"))
    client.force_login(get_user_model().objects.get(pk=user.pk))
    assert _upload(client, content, FORM).status_code == 201


def test_other_ways_to_send_are_refused(admin_client: Client) -> None:
    response = admin_client.post(API, "{}", content_type="application/json")
    assert response.status_code == 415


def test_the_admin_uploads_a_checkpoint(
    admin_client: Client, content: bytes, stored: Stored
) -> None:
    response = _upload(admin_client, content, ADMIN_FORM | {"step": "7"}, ADMIN)
    assert response.status_code == 302, _form_errors(response)
    row = Checkpoint.objects.get()
    assert (stored(), row.agents.get().name) == ([row.sha256], "run@7")
    page = admin_client.get(f"/admin/matches/checkpoint/{row.pk}/change/").content.decode()
    assert row.sha256 in page
    assert "run@7" in page
    assert "run@7" in admin_client.get("/admin/matches/checkpoint/").content.decode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"architecture": ""}, "architecture: a.safetensors is not sealed"),
        ({"parent_name": "nobody"}, "parent_name: parent: 'nobody'"),
        ({"parameters": "[1]"}, "parameters: Write names and values"),
        ({"parameters-mlp-bounded_value": "maybe"}, "'bounded_value' must be bool, got 'maybe'"),
        ({"parameters": '{"wide": 3}'}, "wide"),
        ({"parameters": "{"}, "parameters: Enter a valid JSON"),
        ({"step": "-1"}, "step: "),
        ({"name": ""}, "name: This field is required"),
    ],
)
def test_the_admin_shows_a_refusal_at_its_field(
    admin_client: Client, content: bytes, stored: Stored, change: dict[str, Any], words: str
) -> None:
    assert words in _form_errors(_upload(admin_client, content, ADMIN_FORM | change, ADMIN))
    assert _nothing_is_stored(stored)


def test_the_admin_refuses_a_pickle(admin_client: Client, stored: Stored) -> None:
    errors = _form_errors(_upload(admin_client, pickle.dumps({}), ADMIN_FORM, ADMIN))
    assert "file: a.safetensors: this is a pickle" in errors
    assert _nothing_is_stored(stored)


def test_the_admin_edits_nothing_of_a_checkpoint(
    admin_client: Client, broker: Redis, tmp_path: Path
) -> None:
    row = added(tmp_path).checkpoint
    assert row is not None
    address = f"/admin/matches/checkpoint/{row.pk}/change/"
    assert admin_client.post(address, {"run": "other"}).status_code == 403
    agent = row.agents.get()
    form = {"name": "renamed", "checkpoint": "", "placement": "gpu"}
    admin_client.post(f"/admin/matches/agent/{agent.pk}/change/", form)
    agent.refresh_from_db()
    assert (agent.name, agent.checkpoint_id, agent.placement) == ("renamed", row.sha256, "local")


def test_the_admin_registers_a_second_agent_of_a_checkpoint(
    admin_client: Client, broker: Redis, tmp_path: Path
) -> None:
    row = added(tmp_path).checkpoint
    verdict(row, row_ms=9)
    assert row is not None
    form = {
        "name": "hot",
        "game": GAME,
        "policy": "network",
        "parameters": '{"temperature": 1}',
        "checkpoint": row.sha256,
    }
    response = admin_client.post("/admin/matches/agent/add/", form)
    assert response.status_code == 302, _form_errors(response)
    hot = Agent.objects.get(name="hot")
    assert (hot.checkpoint_id, hot.placement) == (row.sha256, "gpu")


def test_a_tournament_of_a_refused_agent_is_refused_by_the_api(
    admin_client: Client, broker: Redis, tmp_path: Path
) -> None:
    agent = added(tmp_path, "net")
    verdict(agent.checkpoint, refusal="NaN weights")
    other = register_spelled_agent("random", game=GAME)
    board = {"name": "b", "game": GAME}
    admin_client.post("/api/v1/leaderboards/", board, content_type="application/json")
    body = {"leaderboard": "b", "agents": [agent.pk, other.pk], "name": "cup", "n_matches": 2}
    response = admin_client.post("/api/v1/tournaments/", body, content_type="application/json")
    assert "NaN weights" in _problems(response)
