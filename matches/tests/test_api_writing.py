"""The API with a login: what is refused is named with its value and leaves nothing behind."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.test import Client
from redis import Redis

from matches.access.tokens import issue_token
from matches.api.errors import exception_handler
from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError, BrokerError, MatchError, NoNodeError
from matches.ledger import tournaments
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Leaderboard, Rating, Scope, Tournament
from matches.tests.plugin_folder import plugin_folder

pytestmark = pytest.mark.django_db

AGENT = {"name": "a", "game": "connect_four", "policy": "mcts", "parameters": {"simulations": 50}}
BOARD = {"name": "b", "game": "connect_four"}


@pytest.fixture
def field(broker: Redis) -> dict[str, Any]:
    """Return a tournament that would be accepted."""
    open_leaderboard("board", game="skill_game")
    agents = [register_spelled_agent(f"level:{level}", game="skill_game") for level in (10, 90)]
    return {
        "leaderboard": "board",
        "agents": [agent.pk for agent in agents],
        "name": "cup",
        "n_matches": 10,
    }


def _post(client: Client, address: str, body: object) -> Any:
    return client.post(f"/api/v1/{address}/", json.dumps(body), content_type="application/json")


def _refused(response: Any, field: str, *words: str) -> None:
    assert response.status_code == 400, response.content
    problems = response.json()["errors"]
    text = " ".join(problem["message"] for problem in problems if problem["field"] == field)
    assert text, problems
    for word in words:
        assert word in text


def test_an_agent_is_registered_once(admin_client: Client) -> None:
    first, second = (_post(admin_client, "agents", AGENT) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["id"] == second.json()["id"]
    assert Agent.objects.get().parameters == {"simulations": 50}


def test_a_leaderboard_is_opened(admin_client: Client) -> None:
    response = _post(admin_client, "leaderboards", {**BOARD, "opening_plies": 2})
    assert response.status_code == 201
    assert Leaderboard.objects.get().plies == 2


@pytest.mark.parametrize(
    ("game", "plies", "words"),
    [
        ("connect_four", 64, "64 plies ended the game in each"),
        ("connect_four", 32_768, "must be 0..1000"),
        ("kuhn_poker", 1, "0, as the game has chance"),
    ],
)
def test_openings_that_no_match_can_begin_with_open_no_leaderboard(
    admin_client: Client, game: str, plies: int, words: str
) -> None:
    body = {"name": "b", "game": game, "opening_plies": plies}
    _refused(_post(admin_client, "leaderboards", body), "opening_plies", words)
    form = {**body, "draw_probability": 0.1}
    page = admin_client.post("/admin/matches/leaderboard/add/", form)
    assert words in page.context["adminform"].form.errors["opening_plies"][0]
    assert not Leaderboard.objects.exists()


def test_a_game_that_fails_to_begin_opens_no_leaderboard(
    admin_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with plugin_folder(tmp_path / "plugins", monkeypatch) as folder:
        folder.edit(folder.game, "rng = Random(", "assert opening_plies < 2\n        rng = Random(")
        body = {"name": "b", "game": "nim", "opening_plies": 2}
        answer = _post(admin_client, "leaderboards", body)
        _refused(answer, "opening_plies", "nim cannot begin after 2 plies: AssertionError")
        _post(admin_client, "leaderboards", {**body, "opening_plies": 0})
    assert Leaderboard.objects.get().plies == 0


def test_of_two_that_open_a_leaderboard_at_once_the_second_is_refused(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _post(admin_client, "leaderboards", BOARD).status_code == 201
    # As where the first one is stored after the second was checked.
    monkeypatch.setattr(tournaments, "_clean_row", lambda _: None)
    _refused(_post(admin_client, "leaderboards", BOARD), "name", "'b' already")


def test_a_tournament_is_scheduled_with_entrants_and_ratings(
    admin_client: Client, field: dict[str, Any]
) -> None:
    response = _post(admin_client, "tournaments", field)
    assert response.status_code == 201, response.content
    tournament = Tournament.objects.get()
    assert (tournament.state, tournament.agents.count()) == ("scheduled", 2)
    assert Rating.objects.filter(leaderboard=tournament.leaderboard).count() == 2
    assert [agent["id"] for agent in response.json()["agents"]] == field["agents"]


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"game": "poker"}, "game", ["'poker'", "connect_four"]),
        ({"policy": "alphazero"}, "policy", ["'alphazero'", "mcts", "random"]),
        (
            {"policy": "level", "parameters": {}},
            "policy",
            ["level cannot play connect_four", "these can: alphabeta, "],
        ),
        ({"parameters": {"depth": 2}}, "parameters", ["depth", "simulations"]),
        ({"parameters": {"simulations": -1}}, "parameters", ["simulations", "-1"]),
        ({"parameters": {"simulations": "many"}}, "parameters", ["simulations", "many"]),
        ({"parameters": [1]}, "parameters", ["[1]"]),
        ({"name": ""}, "name", []),
        ({"name": "x" * 121}, "name", ["120"]),
        ({"name": "a\x00b"}, "name", []),
        ({"name": None}, "name", []),
    ],
)
def test_an_agent_that_cannot_be_is_refused(
    admin_client: Client, change: dict[str, Any], name: str, words: list[str]
) -> None:
    _refused(_post(admin_client, "agents", AGENT | change), name, *words)
    assert not Agent.objects.exists()


def test_another_agent_of_the_same_name_is_refused(admin_client: Client) -> None:
    _post(admin_client, "agents", AGENT)
    response = _post(admin_client, "agents", AGENT | {"parameters": {"simulations": 51}})
    _refused(response, "name", "'a'", "choose another name")


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"game": "poker"}, "game", ["poker", "connect_four"]),
        ({"name": "not a slug"}, "name", ["slug"]),
        ({"game_parameters": {"size": 3}}, "game_parameters", ["size"]),
        ({"opening_plies": -1}, "opening_plies", []),
        ({"opening_plies": "two"}, "opening_plies", ["two"]),
    ],
)
def test_a_leaderboard_that_cannot_be_is_refused(
    admin_client: Client, change: dict[str, Any], name: str, words: list[str]
) -> None:
    _refused(_post(admin_client, "leaderboards", BOARD | change), name, *words)
    assert not Leaderboard.objects.exists()


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"n_matches": 0}, "n_matches", []),
        ({"n_matches": -5}, "n_matches", []),
        ({"n_matches": "many"}, "n_matches", ["many"]),
        ({"n_matches": 10**30}, "n_matches", []),
        ({"pairing": "swiss_cheese"}, "pairing", ["swiss_cheese", "double_round_robin"]),
        ({"seed": -1}, "seed", []),
        ({"seed": 2**80}, "seed", []),
        ({"move_s": 0}, "move_s", []),
        ({"match_s": "long"}, "match_s", ["long"]),
        ({"faults": {"error_rate": 2}}, "faults", ["error_rate"]),
        ({"faults": "often"}, "faults", []),
        ({"leaderboard": "nowhere"}, "leaderboard", ["evalsite open nowhere --game"]),
        ({"agents": []}, "agents", ["2 agents"]),
        ({"agents": [10**30, 77]}, "agents", ["77"]),
        ({"agents": "all"}, "agents", ["all"]),
        ({"name": ""}, "name", []),
    ],
)
def test_a_tournament_that_cannot_be_is_refused(
    admin_client: Client,
    field: dict[str, Any],
    change: dict[str, Any],
    name: str,
    words: list[str],
) -> None:
    _refused(_post(admin_client, "tournaments", field | change), name, *words)
    assert not Tournament.objects.exists()
    assert not Rating.objects.exists()


def test_agents_that_cannot_meet_are_refused(admin_client: Client, field: dict[str, Any]) -> None:
    first, second = field["agents"]
    chess = register_spelled_agent("random", game="chess")
    Agent.objects.filter(pk=second).update(is_retired=True)
    for agents, words in (
        ([first], "2 agents"),
        ([first, first], "self-play"),
        ([first, chess.pk], "plays chess"),
        ([first, second], "retired"),
    ):
        _refused(_post(admin_client, "tournaments", field | {"agents": agents}), "agents", words)


@pytest.mark.parametrize("body", ["[]", '"a"', "1", "null", "{", '{"n_matches": NaN}'])
def test_a_body_that_is_no_object_is_refused(admin_client: Client, body: str) -> None:
    response = admin_client.post("/api/v1/agents/", body, content_type="application/json")
    assert response.status_code == 400


@pytest.mark.parametrize("address", ["agents", "leaderboards", "tournaments"])
def test_writing_needs_a_login_and_the_right(client: Client, address: str) -> None:
    assert _post(client, address, {}).status_code == 401
    user = get_user_model().objects.create_user("reader")
    client.force_login(user)
    assert _post(client, address, {}).status_code == 403


def test_a_token_serves_as_login(client: Client) -> None:
    user = get_user_model().objects.create_user("submitter")
    user.user_permissions.add(Permission.objects.get(codename="add_agent"))
    _, token = issue_token(user, name="laptop", scopes=[Scope.SUBMIT], days=1)
    for sent, status in ((token, 201), (f"{token}x", 401)):
        response = client.post(
            "/api/v1/agents/",
            json.dumps(AGENT),
            content_type="application/json",
            headers={"authorization": f"Token {sent}"},
        )
        assert response.status_code == status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadInputError("agents", "it is so"), 400),
        (MatchError("it is so"), 400),
        (ValidationError("it is so"), 400),
        (ValidationError({"seed": "it is so"}), 400),
        (BrokerError("it is so"), 503),
        (NoNodeError("it is so"), 503),
    ],
)
def test_errors_of_the_services_are_answered(error: Exception, status: int) -> None:
    response = exception_handler(error, {})
    assert response is not None
    assert response.status_code == status
    assert "it is so" in json.dumps(response.data)


def test_a_fault_of_ours_stays_one() -> None:
    assert exception_handler(ZeroDivisionError(), {}) is None


@pytest.mark.parametrize("address", ["tournaments", "campaigns", "schedules"])
def test_a_leaderboard_whose_name_nobody_can_look_for_is_refused(
    admin_client: Client, field: dict[str, Any], address: str
) -> None:
    _refused(_post(admin_client, address, field | {"leaderboard": "a\0b"}), "leaderboard", "NUL")
