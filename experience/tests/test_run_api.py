"""Runs and models over HTTP: begun, followed by ETag, loaded by signed links, withdrawn."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from experience.models import Release, TrainingRun
from experience.runs import files
from experience.tests import made
from experience.tests.made import begun, put, sealed
from matches.store import signing
from matches.store.clock import db_now
from matches.tests import callers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def operator() -> Client:
    """Return a client with the token of an operator."""
    return callers.with_token(callers.token("operator", callers.OPERATOR))


@pytest.fixture
def run(stream_server: Redis) -> TrainingRun:
    """Return a run that has begun."""
    return begun()


def _post(client: Client, address: str, **body: Any) -> Any:
    return client.post(f"/api/v1/{address}/", body, "application/json")


def test_a_run_is_begun_looked_at_and_stopped(stream_server: Redis, operator: Client) -> None:
    made_run = _post(operator, "runs", name="poles", game="cart_pole", max_steps=500)
    assert made_run.status_code == 201, made_run.content
    assert made_run.json()["max_steps"] == 500
    assert "token" not in made_run.json()
    assert Client().get("/api/v1/runs/?state=running").json()["results"][0]["name"] == "poles"
    stopped = _post(operator, "runs/poles/stop", reason="enough")
    assert (stopped.status_code, stopped.json()["state"]) == (200, "stopped")


def test_a_dataset_that_is_not_there_is_told_where_to_look(operator: Client, db: None) -> None:
    terms = {"name": "poles", "game": "cart_pole", "algorithm": "bc", "dataset": "gone"}
    answer = _post(operator, "runs", **terms)
    assert answer.status_code == 400
    (fault,) = answer.json()["errors"]
    assert (fault["field"], "`evalsite datasets` lists them" in fault["message"]) == (
        "dataset",
        True,
    )


def test_runs_of_a_game_that_is_gone_are_still_listed_by_it(run: TrainingRun) -> None:
    TrainingRun.objects.update(game="gone_game")
    listed = Client().get("/api/v1/runs/?game=gone_game").json()["results"]
    assert [row["name"] for row in listed] == [run.name]
    assert Client().get("/api/v1/runs/?game=nosuch").json()["results"] == []


def test_versions_are_counted_for_the_runs_of_a_page_and_nowhere_else(run: TrainingRun) -> None:
    stilts, sticks = (made.ended(version=1, name=name) for name in ("stilts", "sticks"))
    for other, version, state in (
        (stilts, 0, Release.State.EXPIRED),
        (stilts, 1, Release.State.RELEASED),
        (sticks, 0, Release.State.EXPIRED),
    ):
        made.published(other, version, state, n_downloads=version + 2)
    with CaptureQueriesContext(connection) as listing:
        rows = Client().get("/api/v1/models/").json()["results"]
    fields = ("run", "n_versions", "latest_version", "released_version", "n_downloads")
    assert [tuple(row[name] for name in fields) for row in rows] == [
        ("sticks", 1, 0, None, 2),
        ("stilts", 2, 1, 1, 5),
    ]
    # Of a join the database would read all versions of all runs, whatever the page holds.
    assert not any(" JOIN " in query["sql"] for query in listing)
    with CaptureQueriesContext(connection) as one_run:
        answer = Client().get("/api/v1/models/stilts/versions/")
    assert [row["version"] for row in answer.json()["results"]] == [1, 0]
    assert not any("COUNT(" in query["sql"] for query in one_run)


def test_a_second_run_of_a_stream_is_a_conflict(run: TrainingRun, operator: Client) -> None:
    answer = _post(operator, "runs", name="other", game="cart_pole")
    assert answer.status_code == 409
    assert "'poles' learns from the uploads of cart_pole" in answer.json()["detail"]


def test_that_a_run_has_no_version_yet_is_said(run: TrainingRun) -> None:
    answer = Client().get("/api/v1/models/poles/latest/")
    assert answer.status_code == 404
    assert answer.json()["detail"] == (
        "run poles has no version that can be loaded yet: it has published 0"
    )
    assert Client().get("/api/v1/models/").json()["results"] == []


def test_the_latest_version_is_sent_once(run: TrainingRun, tmp_path: Path) -> None:
    weights = put(run, sealed(tmp_path))
    made.published(run, 0, Release.State.RELEASED)
    made.published(run, 1, Release.State.SNAPSHOT, sha256=weights)
    answer = Client().get("/api/v1/models/poles/latest/")
    assert (answer.json()["version"], answer.json()["sha256"]) == (1, weights)
    assert answer.headers["ETag"] == f'"{weights}"'
    again = Client().get("/api/v1/models/poles/latest/", headers={"If-None-Match": f'"{weights}"'})
    assert (again.status_code, again.content) == (304, b"")
    released = Client().get("/api/v1/models/poles/latest/?released=true")
    assert released.json()["version"] == 0


def test_weights_are_loaded_without_a_login_and_counted(run: TrainingRun, tmp_path: Path) -> None:
    content = sealed(tmp_path)
    made.published(run, 0, Release.State.SNAPSHOT, sha256=put(run, content))
    url = Client().get("/api/v1/models/poles/latest/").json()["url"]
    assert b"".join(Client().get(url).streaming_content) == content  # type: ignore[attr-defined]
    assert Client().get(url.replace("signature=", "signature=0")).status_code == 403
    assert Client().get("/api/v1/models/poles/").json()["n_downloads"] == 1


def test_what_is_withdrawn_is_loaded_no_more(
    run: TrainingRun, tmp_path: Path, operator: Client
) -> None:
    made.published(run, 0, Release.State.RELEASED, sha256=put(run, sealed(tmp_path)))
    url = Client().get("/api/v1/models/poles/latest/").json()["url"]
    retired = _post(operator, "models/poles/retire", version=0, reason="it cheats")
    assert (retired.json()["state"], retired.json()["url"]) == ("retired", "")
    gone = Client().get(url)
    assert (gone.status_code, b"was withdrawn" in gone.content) == (404, True)
    assert Client().get("/api/v1/models/poles/latest/").status_code == 404
    assert _post(operator, "models/poles/retire", version=9, reason="?").status_code == 404


def _put(client: Client, name: str, content: bytes, run: str = "poles") -> Any:
    link = signing.sign_link("PUT", files.uploads_path(run), now=db_now())
    path, _, query = link.partition("?")
    return client.put(f"{path}/{name}?{query}", content, "application/octet-stream")


def test_a_trainer_puts_a_file_by_its_hash(run: TrainingRun, tmp_path: Path) -> None:
    content = sealed(tmp_path)
    digest = sha256(content).hexdigest()
    assert [_put(Client(), digest, content).status_code for _ in range(2)] == [201, 200]
    assert _put(Client(), "0" * 64, content).status_code == 400
    assert _put(Client(), "no-hash", content).status_code == 400
    assert _put(Client(), digest, content, run="nobody").status_code == 404
    TrainingRun.objects.update(state="stopped")
    assert _put(Client(), digest, content).status_code == 410


def test_a_file_that_is_too_long_is_refused_before_it_is_read(
    run: TrainingRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    answer = _put(Client(), "0" * 64, b"x" * 11)
    assert (answer.status_code, b"at most 10" in answer.content) == (413, True)
