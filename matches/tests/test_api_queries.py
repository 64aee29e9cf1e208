"""What a list of the API is asked for and does not know is refused, and never ignored."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.tests import callers, factories

pytestmark = pytest.mark.django_db


def _log_in() -> Client:
    return callers.with_token(callers.token("reader", callers.OPERATOR))


def _refuse(client: Client, address: str) -> dict[str, str]:
    """Return the one value that is refused."""
    answer = client.get(f"/api/v1/{address}")
    assert answer.status_code == 400, answer.content
    (refusal,) = answer.json()["errors"]
    return dict(refusal)


@pytest.mark.parametrize(
    ("address", "name", "words"),
    [
        ("tournaments/?leaderbord=a", "leaderbord", "did you mean leaderboard?"),
        ("tournaments/?leaderboards=a&state=zz", "leaderboards", "did you mean leaderboard?"),
        ("agents/?ordering=name", "ordering", "This takes name, game, policy, checkpoint"),
        ("matches/?tournamnt=1", "tournamnt", "did you mean tournament?"),
        ("games/?page_size=3", "page_size", "takes no parameter"),
        ("system/?x=1", "x", "takes no parameter"),
        ("tokens/?name=a", "name", "takes cursor, page_size"),
        ("trajectories/?tournamnt=1", "tournamnt", "did you mean tournament?"),
        ("recommendations/?gam=go", "gam", "did you mean game?"),
        ("leaderboards/board/ratings/?limit=3", "limit", "This takes cursor, page_size"),
        ("leaderboards/board/history/?page=3", "page", "did you mean page_size?"),
    ],
)
def test_an_unknown_parameter_is_refused_and_the_others_are_named(
    broker: Redis, address: str, name: str, words: str
) -> None:
    factories.planned()
    refusal = _refuse(_log_in(), address)
    assert refusal["field"] == name
    assert words in refusal["message"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("campaigns/?decided=maybe", "must be true or false. Got 'maybe'"),
        ("alarms/?open=yes", "must be true or false. Got 'yes'"),
        ("agents/?is_retired=2", "must be true or false. Got '2'"),
        ("leaderboards/?is_listed=on", "must be true or false. Got 'on'"),
        ("agents/?page_size=-1", "got '-1'"),
        ("agents/?page_size=0", "got '0'"),
        ("agents/?page_size=many", "got 'many'"),
        ("leaderboards/board/ratings/?page_size=-1", "got '-1'"),
        ("runs/?state=zz", "Got 'zz'"),
        ("datasets/?state=zz", "Got 'zz'"),
        ("tournaments/?state=zz", "running, paused, done, cancelled. Got 'zz'"),
        (
            "recommendations/?purpose=zz&game=connect_four",
            "choose one of opponent, teacher. Got 'zz'.",
        ),
        ("matches/?tournament=abc", "Got 'abc'"),
        ("campaigns/?question=why", "sprt. Got 'why'"),
        (
            "campaigns/?leaderboard=bord",
            "there is none named 'bord'; did you mean board? Got 'bord'.",
        ),
        ("alarms/?leaderboard=nosuch", "'nosuch'"),
        ("alarms/?leaderboard=%25s%25", "Got '%s%'"),
        ("matches/?leaderboard=nosuch", "'nosuch'"),
        ("tournaments/?leaderboard=nosuch", "Got 'nosuch'"),
        ("tournaments/?leaderboard__name=nosuch", "Got 'nosuch'"),
        ("schedules/?leaderboard=nosuch", "'nosuch'"),
        ("imports/?leaderboard=nosuch", "'nosuch'"),
        ("agents/?game=a&game=b", "takes one value, got 'a' and 'b'"),
        ("agents/?page_size=1&page_size=2", "takes one value"),
        ("recommendations/?game=a&game=b", "takes one value"),
        ("leaderboards/board/comparison/?first=1&first=2", "takes one value"),
    ],
)
def test_a_bad_value_is_refused_by_its_field(broker: Redis, address: str, words: str) -> None:
    factories.planned()
    refusal = _refuse(_log_in(), address)
    field, _, _ = address.partition("?")[2].partition("=")
    assert refusal["field"] == field
    assert words in refusal["message"]


@pytest.mark.parametrize("name", ["leaderboard", "leaderboard__name"])
@pytest.mark.parametrize("noun", ["tournaments", "schedules", "imports"])
def test_what_is_of_a_leaderboard_is_listed_by_its_name_however_that_is_called(
    broker: Redis, noun: str, name: str
) -> None:
    planned = factories.planned()
    factories.planned(board="other", game="tic_tac_toe", agents=("random", "greedy"))
    answer = _log_in().get(f"/api/v1/{noun}/", {name: "board"})
    ids = [row["id"] for row in answer.json()["results"]]
    assert ids == ([planned.pk] if noun == "tournaments" else [])


def test_one_filter_is_not_given_by_two_names(client: Client, broker: Redis) -> None:
    refusal = _refuse(client, "tournaments/?leaderboard__name=&leaderboard=board")
    assert refusal["field"] == "leaderboard"
    assert "not both" in refusal["message"]


@pytest.mark.parametrize(("is_retired", "n"), [("1", 0), ("true", 0), ("0", 2), ("False", 2)])
def test_yes_and_no_are_also_1_and_0(
    client: Client, broker: Redis, is_retired: str, n: int
) -> None:
    factories.planned(agents=["level:10", "level:90"])
    query = {"is_retired": is_retired, "format": "json"}
    assert len(client.get("/api/v1/agents/", query).json()["results"]) == n


def test_what_is_left_empty_is_not_asked_for(client: Client, broker: Redis) -> None:
    factories.planned()
    query: dict[str, Any] = {"leaderboard": "", "state": "", "page_size": "", "cursor": ""}
    assert len(client.get("/api/v1/tournaments/", query).json()["results"]) == 1


def test_what_is_refused_within_a_list_is_told_by_its_place_and_value(broker: Redis) -> None:
    body = {"name": "ci", "scopes": ["read", "root"]}
    answer = _log_in().post("/api/v1/tokens/", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {
            "field": "scopes.1",
            "message": "choose one of read, submit, operate, worker. Got 'root'.",
        }
    ]


@pytest.mark.parametrize(
    ("address", "row"),
    [
        ("tournaments/999/", "tournament 999"),
        ("leaderboards/nosuch/ratings/", "leaderboard nosuch"),
    ],
)
def test_a_row_that_is_not_there_is_named(client: Client, address: str, row: str) -> None:
    answer = client.get(f"/api/v1/{address}")
    assert (answer.status_code, answer.json()["detail"]) == (404, f"there is no {row}")
