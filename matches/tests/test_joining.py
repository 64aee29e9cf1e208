"""Machines that join by a token: told what they need once, and let go by their key."""

from base64 import b64decode
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from arena.credentials import join_key, pass_key
from arena.passes import make_pass
from launcher.programs import INFERENCE_VARIABLES
from matches.errors import ConflictError
from matches.models import AuditRow, NodeKey, Worker
from matches.nodes import joining, node_keys
from matches.store.auditing import COMMAND_LINE
from matches.store.clock import db_now
from matches.tests import callers
from matches.tests import factories as make

pytestmark = pytest.mark.django_db

JOIN, LOOK, LEAVE = "/api/v1/nodes/", "/api/v1/nodes/look/", "/api/v1/nodes/leave/"


@pytest.fixture(autouse=True)
def _rights(settings: Any) -> None:
    settings.EVALSITE_UNENFORCED = []


def post(path: str, **body: str) -> Any:
    return Client().post(path, body, content_type="application/json")


def token_of(name: str = "far-1", minutes: int = 60) -> str:
    now = db_now()
    return joining.grant_join_token(name, minutes=minutes, actor=COMMAND_LINE, now=now).token


def join(name: str = "far-1") -> dict[str, str]:
    answer = post(JOIN, token=token_of(name))
    assert answer.status_code == 201, answer.content
    environment: dict[str, str] = answer.json()["environment"]
    return environment


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_machine_is_told_its_own_secrets_and_what_all_nodes_have_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVALSITE_SHARDS", "3")
    environment = join()
    assert environment["EVALSITE_NODE"] == "far-1"
    assert environment["EVALSITE_NODE_KEY"] == make.key_of("far-1")
    assert environment["EVALSITE_SHARDS"] == "3"
    assert environment.keys() >= {"REDIS_URL", "EVALSITE_SITE_URL"}
    assert not {name for name in environment if "SECRET" in name or "DATABASE" in name}


def test_what_nodes_have_alike_is_what_the_launcher_gives_its_own() -> None:
    assert joining.AGREED == INFERENCE_VARIABLES


def test_plugins_come_folder_by_folder_without_caches_and_what_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / ".home/a", tmp_path / "b"
    write(first, games__mine="GAME = 1", games__big__table="é", games__tests__t="", games__x="")
    (first / "games/x").rename(first / "games/.secret")
    write(second, games__mine="GAME = 2")
    monkeypatch.setenv("EVALSITE_PLUGINS", f"{first}:{second}:{tmp_path / 'none'}")
    plugins = post(JOIN, token=token_of()).json()["plugins"]
    assert {name: b64decode(content).decode() for name, content in plugins.items()} == {
        "1/games/mine": "GAME = 1",
        "1/games/big/table": "é",
        "2/games/mine": "GAME = 2",
    }


def test_too_many_plugins_admit_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MAX_PLUGIN_BYTES", 3)
    monkeypatch.setenv("EVALSITE_PLUGINS", str(tmp_path))
    write(tmp_path, games__mine="GAME = 1")
    token = token_of()
    answer = post(JOIN, token=token)
    assert answer.status_code == 409
    assert "./run nodes start" in answer.json()["detail"]
    assert not NodeKey.objects.exists()
    monkeypatch.setattr(joining, "MAX_PLUGIN_BYTES", 30)
    assert post(JOIN, token=token).status_code == 201, "it was not used up"


def test_a_token_lets_in_once_also_after_its_node_has_left() -> None:
    token = token_of()
    key = post(JOIN, token=token).json()["environment"]["EVALSITE_NODE_KEY"]
    again = post(JOIN, token=token)
    assert again.status_code == 409
    assert "the token of 'far-1' has been used" in again.json()["detail"]
    keys = {key}
    for _ in range(2):
        assert post(LEAVE, name="far-1", node_key=key).status_code == 200
        assert post(JOIN, token=token).status_code == 409
        token = token_of()
        key = post(JOIN, token=token).json()["environment"]["EVALSITE_NODE_KEY"]
        keys.add(key)
    assert len(keys) == 3


def test_of_two_tokens_of_one_name_the_first_one_counts() -> None:
    first, second = token_of(), token_of()
    assert post(JOIN, token=second).status_code == 201
    assert post(JOIN, token=first).status_code == 409


def test_a_repeated_key_of_a_caller_with_a_login_does_not_tell_secrets_again() -> None:
    caller = callers.with_token(callers.token("op", callers.OPERATOR))
    body, key = {"token": token_of()}, {"Idempotency-Key": "k"}
    answers = [
        caller.post(JOIN, body, content_type="application/json", headers=key) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 409]


def test_a_token_is_for_a_name_that_no_node_has() -> None:
    caller = callers.with_token(callers.token("op", callers.OPERATOR))
    make.key_of("far-1")
    path = "/api/v1/nodes/invite/"
    answer = caller.post(path, {"name": "far-1"}, content_type="application/json")
    assert answer.status_code == 409
    assert "admitted already: choose another name" in answer.json()["detail"]
    make.alive(node="far-4")
    Worker.objects.filter(node="far-4").update(quarantined_at=db_now())
    NodeKey.objects.filter(name="far-4").update(revoked_at=db_now())
    held = caller.post(path, {"name": "far-4"}, content_type="application/json")
    assert "'far-4' is in quarantine: release it first" in held.json()["detail"]
    odd = caller.post(path, {"name": "a b"}, content_type="application/json")
    assert odd.status_code == 400
    assert "is no name of a node" in odd.content.decode()
    assert caller.post(path, {"name": "far-2"}, content_type="application/json").json()["token"]
    assert [row.actor for row in AuditRow.objects.filter(action="nodekey.invite")] == ["op"]


def test_where_rights_are_not_enforced_nobody_is_invited(settings: Any) -> None:
    settings.EVALSITE_UNENFORCED = ["broker", "fast"]
    with pytest.raises(ConflictError, match="rights are not enforced at broker and fast"):
        token_of()


def test_a_token_of_before_lets_nobody_in_where_rights_are_enforced_no_more(settings: Any) -> None:
    token = token_of()
    settings.EVALSITE_UNENFORCED = ["broker"]
    answer = post(JOIN, token=token)
    assert answer.status_code == 409
    assert "rights are not enforced at broker" in answer.json()["detail"]
    assert not NodeKey.objects.exists()


@pytest.mark.parametrize(
    ("make_token", "why"),
    [
        (lambda _: "nonsense", "no pass"),
        (lambda _: "", "may not be blank"),
        (lambda key: make_pass("other", "far-1:1", until=2**40), "was not made here"),
        (lambda key: make_pass(pass_key(key), "far-1:1", until=2**40), "was not made here"),
        (lambda key: make_pass(join_key(key), "far-1:1", until=1), "ended"),
        (lambda key: token_of().replace("far-1", "far-2"), "was not made here"),
    ],
)
def test_a_token_that_lets_nobody_in_is_refused_with_the_reason(
    make_token: Any, why: str, settings: Any
) -> None:
    answer = post(JOIN, token=make_token(settings.SECRET_KEY))
    assert answer.status_code == 400
    ((field, message),) = [tuple(one.values()) for one in answer.json()["errors"]]
    assert field == "token"
    assert why in message
    assert not NodeKey.objects.exists()


def test_a_node_leaves_by_its_own_key_alone_and_as_often_as_it_says_so() -> None:
    own = join("far-1")["EVALSITE_NODE_KEY"]
    other = join("far-2")["EVALSITE_NODE_KEY"]
    for name, key in (("far-1", other), ("far-1", "é"), ("far-3", other)):
        assert post(LEAVE, name=name, node_key=key).status_code == 403
    assert NodeKey.objects.filter(revoked_at=None).count() == 2
    for _ in range(2):
        answer = post(LEAVE, name="far-1", node_key=own)
        assert answer.json() == {"is_admitted": False, "seen_at": None}
    left = AuditRow.objects.get(action="nodekey.revoke")
    assert (left.actor, left.target_label, left.reason) == ("node far-1", "far-1", "it left")
    assert node_keys.find_key("far-2") is not None


def test_a_node_sees_when_it_was_heard_of_also_on_a_closed_site(settings: Any) -> None:
    settings.EVALSITE_PUBLIC_READ = False
    own = join()["EVALSITE_NODE_KEY"]
    assert post(LOOK, name="far-1", node_key=own).json() == {"is_admitted": True, "seen_at": None}
    make.alive(node="far-1", now=db_now() - timedelta(seconds=5))
    seen_at = post(LOOK, name="far-1", node_key=own).json()["seen_at"]
    assert seen_at is not None
    assert Worker.objects.get(node="far-1").last_seen_at.isoformat()[:19] == seen_at[:19]
    assert post(LOOK, name="far-1", node_key="0" * 64).status_code == 403
