"""Idempotency-Key: a POST that is sent again is done once and answered alike."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from redis import Redis

from matches.access import idempotency
from matches.access.idempotency import Answer, Call
from matches.errors import ConflictError, RepeatedKeyError
from matches.ledger import tournaments
from matches.models import Agent, Checkpoint, IdempotencyKey, Leaderboard, Scope, Tournament
from matches.tests import callers, factories
from matches.tests.factories import NOW
from matches.tests.weights import weights

pytestmark = pytest.mark.django_db

BOARD = {"name": "b", "game": "connect_four"}


def _post(client: Client, address: str, body: object, key: str = "one") -> Any:
    return client.post(
        f"/api/v1/{address}/",
        json.dumps(body),
        content_type="application/json",
        headers={"idempotency-key": key},
    )


def test_the_same_call_is_done_once_and_answered_alike(admin_client: Client) -> None:
    first, second = (_post(admin_client, "leaderboards", BOARD) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert Leaderboard.objects.count() == 1


def test_a_call_without_a_key_is_done_again(admin_client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    for n, key in ((14, "a"), (16, "b")):
        body = {"n_matches": n}
        assert (
            _post(admin_client, f"tournaments/{tournament.pk}/extend", body, key).json()[
                "n_matches"
            ]
            == n
        )


def test_the_key_with_another_body_or_address_is_refused(admin_client: Client) -> None:
    _post(admin_client, "leaderboards", BOARD)
    for address, body in (("leaderboards", BOARD | {"title": "x"}), ("agents", BOARD)):
        response = _post(admin_client, address, body)
        assert response.status_code == 422
        assert "'one' stands for another call" in response.json()["detail"]


def test_the_same_content_written_otherwise_is_the_same_call(admin_client: Client) -> None:
    _post(admin_client, "leaderboards", BOARD)
    turned = dict(reversed(BOARD.items()))
    assert _post(admin_client, "leaderboards", turned).status_code == 201


def test_what_was_refused_may_be_sent_again_in_better_form(admin_client: Client) -> None:
    assert _post(admin_client, "leaderboards", BOARD | {"game": "poker"}).status_code == 400
    assert not IdempotencyKey.objects.exists()
    assert _post(admin_client, "leaderboards", BOARD).status_code == 201


def test_keys_of_two_users_have_nothing_to_do_with_each_other(db: None) -> None:
    for name in ("a", "b"):
        client = callers.with_token(callers.token(name, callers.SUBMITTER))
        response = _post(client, "agents", {"name": name, "game": "chess", "policy": "random"})
        assert response.json()["name"] == name


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ä"])
def test_what_is_no_key_is_refused(admin_client: Client, key: str) -> None:
    response = _post(admin_client, "leaderboards", BOARD, key)
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "Idempotency-Key"


def test_a_fault_of_ours_leaves_neither_row_nor_key(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save_and_fail(*_: object, **__: object) -> None:
        Leaderboard.objects.create(**BOARD)
        raise ZeroDivisionError

    monkeypatch.setattr(tournaments, "open_leaderboard", save_and_fail)
    admin_client.raise_request_exception = False
    assert _post(admin_client, "leaderboards", BOARD).status_code == 500
    assert not Leaderboard.objects.exists()
    assert not IdempotencyKey.objects.exists()


def test_an_upload_is_told_apart_by_its_file(admin_client: Client, tmp_path: Path) -> None:
    def upload(seed: int) -> Any:
        content = weights(tmp_path / "given" / f"{seed}.safetensors", seed=seed).read_bytes()
        form = {"name": f"run-{seed}", "game": "connect_four", "architecture": "mlp"}
        file = SimpleUploadedFile("a.safetensors", content)
        headers = {"idempotency-key": "one"}
        return admin_client.post("/api/v1/checkpoints/", {**form, "file": file}, headers=headers)

    first = upload(1)
    assert first.status_code == 201, first.content
    assert upload(1).content == first.content
    assert upload(2).status_code == 422
    assert Checkpoint.objects.count() == 1


def test_the_secret_of_a_token_is_not_kept(admin_client: Client) -> None:
    body = {"name": "laptop", "scopes": ["read"]}
    first, second = (_post(admin_client, "tokens", body).json() for _ in range(2))
    assert first.pop("token")
    assert second.pop("token") is None
    assert first == second
    assert "laptop" in IdempotencyKey.objects.get().body


# The service


@pytest.fixture
def call(db: None) -> Callable[..., Call]:
    user = callers.user("somebody")
    return lambda fingerprint="f": Call(user.pk, "key", fingerprint)


def test_the_second_of_two_calls_at_once_is_told_to_wait(call: Callable[..., Call]) -> None:
    assert idempotency.claim_key(call(), now=NOW) is None
    with pytest.raises(ConflictError, match="under way"):
        idempotency.claim_key(call(), now=NOW)
    with pytest.raises(RepeatedKeyError):
        idempotency.claim_key(call("other"), now=NOW)


def test_an_answer_is_kept_for_a_day(call: Callable[..., Call]) -> None:
    idempotency.claim_key(call(), now=NOW)
    idempotency.store_answer(call(), Answer(201, "{}"))
    last = NOW + idempotency.KEPT - timedelta(seconds=1)
    assert idempotency.claim_key(call(), now=last) == Answer(201, "{}")
    assert idempotency.claim_key(call("other"), now=NOW + idempotency.KEPT) is None


def test_a_call_that_died_may_be_sent_again(call: Callable[..., Call]) -> None:
    idempotency.claim_key(call(), now=NOW)
    assert idempotency.claim_key(call(), now=NOW + idempotency.UNANSWERED) is None


def test_old_keys_of_others_are_forgotten(call: Callable[..., Call]) -> None:
    idempotency.claim_key(Call(callers.user("other").pk, "key", "f"), now=NOW)
    idempotency.claim_key(call(), now=NOW + idempotency.KEPT)
    assert IdempotencyKey.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_calls_at_the_same_moment_one_is_done(broker: Redis) -> None:
    tournament = factories.scheduled()
    secret = callers.token("admin", list(Scope), is_admin=True)
    ready = Barrier(4)
    body = {
        "name": "cup",
        "leaderboard": tournament.leaderboard.name,
        "agents": list(Agent.objects.values_list("pk", flat=True)),
        "n_matches": 4,
    }

    def send(_: int) -> int:
        client = callers.with_token(secret)
        ready.wait()
        try:
            return int(_post(client, "tournaments", body).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(send, range(4)))
    assert set(answers) <= {201, 409}
    assert answers[0] == 201
    assert Tournament.objects.filter(name="cup").count() == 1
