"""Imports by API: a file goes up, its wrong rows come back by name, an import is struck."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from matches.artifacts.agents import register_agent
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, ImportBatch, Match, Scope
from matches.tests import callers

pytestmark = pytest.mark.django_db
API = "/api/v1/imports/"
ROWS = b"first,second,result\nada,bob,1-0\nbob,ada,0-1\n"


@pytest.fixture(autouse=True)
def _board(db: None) -> None:
    """Open the leaderboard that files go to."""
    open_leaderboard("board", game="connect_four")


def _send(client: Client, content: bytes = ROWS, **form: Any) -> Any:
    values = {"leaderboard": "board", "adds_agents": "true", **form}
    return client.post(API, values | {"file": SimpleUploadedFile("games.csv", content)})


def test_a_file_goes_to_a_leaderboard_and_is_listed(admin_client: Client) -> None:
    response = _send(admin_client)
    assert response.status_code == 201, response.content
    made = response.json()
    assert (made["leaderboard"], made["n_rows"], made["n_new"]) == ("board", 2, 2)
    assert made["columns"] == {"first": "first", "second": "second", "result": "result", "key": ""}
    assert (made["actor"], made["state"]) == ("admin", "imported")
    assert _send(admin_client).json()["n_new"] == 0
    (listed,) = admin_client.get(API, {"leaderboard": "board"}).json()["results"]
    assert listed == {name: of for name, of in made.items() if name != "n_new"}


def test_columns_are_named_by_part(admin_client: Client) -> None:
    content = ROWS.replace(b"first", b"who", 1)
    assert _send(admin_client, content, columns='{"first": "who"}').status_code == 201
    refused = _send(admin_client, content, columns='{"first": 1}').json()["errors"]
    assert "must be an object such as" in refused[0]["message"]


def test_every_wrong_row_is_a_refusal_of_its_own_and_nothing_is_imported(
    admin_client: Client,
) -> None:
    response = _send(admin_client, ROWS + b"ada,bob,2\nada,ada,1\n")
    assert response.status_code == 400
    first, second = (refusal["message"] for refusal in response.json()["errors"])
    assert first.startswith("line 4, column 'result', value '2': must be")
    assert second.startswith("line 5, column 'second', value 'ada': an agent that meets itself")
    assert [model.objects.count() for model in (ImportBatch, Match, Agent)] == [0, 0, 0]


def test_an_empty_file_is_refused_by_its_name(admin_client: Client) -> None:
    (refusal,) = _send(admin_client, b"").json()["errors"]
    assert refusal == {"field": "file", "message": "The submitted file is empty. Got 'games.csv'."}


def test_an_import_is_struck_for_a_reason(admin_client: Client) -> None:
    pk = _send(admin_client).json()["id"]
    address = f"{API}{pk}/strike/"
    assert admin_client.post(address, {}, "application/json").status_code == 400
    struck = admin_client.post(address, {"reason": "wrong"}, "application/json").json()
    assert (struck["n_struck"], struck["state"]) == (2, "struck")


@pytest.mark.parametrize("columns", ["[" * 100_000, '{"first": ' * 50_000, '{"first": "\\ud800"}'])
def test_columns_that_are_no_sound_json_are_refused(admin_client: Client, columns: str) -> None:
    response = _send(admin_client, columns=columns)
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "columns"


def test_who_may_add_no_agent_adds_none_by_an_import(db: None) -> None:
    operator = callers.with_token(callers.token("operator", [Scope.OPERATE]))
    response = _send(operator)
    assert response.status_code == 403
    assert "lacks the right 'matches.add_agent'" in response.json()["detail"]
    for name in ("ada", "bob"):
        register_agent(name, game="connect_four", policy="random")
    assert _send(operator, adds_agents="false").json()["n_new"] == 2
