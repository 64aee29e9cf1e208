"""Parameters in the forms of the admin: typed inputs of what the catalogs declare."""

import re
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from arena.pairing import registry as pairings
from arena.verdicts import registry as questions
from matches.admin.parameter_fields import ParametersField, list_pairing_parameters
from matches.models import Agent, Leaderboard, Tournament
from matches.tests import factories
from matches.tests.test_admin_pages import form as form

pytestmark = pytest.mark.django_db


def _inputs(client: Client, address: str) -> set[str]:
    page = client.get(f"/admin/matches/{address}/add/").content.decode()
    return set(re.findall(r'name="([\w-]+)"', page))


@pytest.mark.parametrize("address", ["tournament", "campaign", "schedule"])
def test_every_parameter_of_every_pairing_has_an_input(
    admin_client: Client, broker: Redis, address: str
) -> None:
    declared = {
        f"pairing_parameters-{name}-{one.name}"
        for name in pairings.adaptive_names()
        for one in pairings.get_adaptive(name).parameters
    }
    assert declared
    assert declared <= _inputs(admin_client, address)


@pytest.mark.parametrize("address", ["campaign", "schedule"])
def test_every_parameter_of_every_question_has_an_input(
    admin_client: Client, broker: Redis, address: str
) -> None:
    declared = {
        f"parameters-{name}-{one.name}"
        for name in questions.names()
        for one in questions.get(name).parameters
    }
    assert {*declared, "parameters-sprt-elo1"} <= _inputs(admin_client, address)


def test_what_is_entered_for_the_chosen_pairing_counts_and_nothing_else(
    admin_client: Client, form: dict[str, Any]
) -> None:
    fields = {
        "pairing": "knockout",
        "pairing_parameters-knockout-best_of": "5",
        "pairing_parameters-knockout-tie_breaks": "",
        "pairing_parameters-swiss-rounds": "7",
    }
    answer = admin_client.post("/admin/matches/tournament/add/", {**form, **fields})
    assert answer.status_code == 302
    assert Tournament.objects.get().pairing_parameters["best_of"] == 5
    assert "rounds" not in Tournament.objects.get().pairing_parameters


def test_a_refused_form_keeps_what_was_entered(admin_client: Client, form: dict[str, Any]) -> None:
    fields = {"pairing": "knockout", "pairing_parameters-knockout-best_of": "999"}
    page = admin_client.post("/admin/matches/tournament/add/", {**form, **fields}).content.decode()
    assert "must be 1..99, got 999" in page
    assert 'name="pairing_parameters-knockout-best_of" value="999"' in page
    assert not Tournament.objects.exists()


def test_an_agent_and_a_board_take_theirs_the_same_way(admin_client: Client) -> None:
    agent = {"name": "m", "game": "connect_four", "policy": "mcts"}
    agent["parameters-mcts-simulations"] = "77"
    assert admin_client.post("/admin/matches/agent/add/", agent).status_code == 302
    assert Agent.objects.get().parameters["simulations"] == 77
    assert any(name.startswith("game_parameters-") for name in _inputs(admin_client, "leaderboard"))
    board = {"title": "B", "name": "b", "game": "connect_four"}
    board |= {"opening_plies": "2", "draw_probability": "0.1"}
    assert admin_client.post("/admin/matches/leaderboard/add/", board).status_code == 302
    assert Leaderboard.objects.get().game_parameters is not None


def test_a_text_of_json_is_taken_and_nothing_else() -> None:
    field = ParametersField(owner="pairing", declare=list_pairing_parameters, required=False)
    assert field.clean('{"best_of": 5}') == {"best_of": 5}
    assert field.clean({"best_of": 5}) == {"best_of": 5}
    assert not field.has_changed({}, {})


def test_a_scheduled_row_shows_its_parameters(admin_client: Client, broker: Redis) -> None:
    tournament = factories.scheduled(pairing="knockout", pairing_parameters={"best_of": 5})
    page = admin_client.get(f"/admin/matches/tournament/{tournament.pk}/change/")
    assert "best_of" in page.content.decode()
