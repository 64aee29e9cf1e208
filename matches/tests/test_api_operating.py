"""Operating through the API: start, pause, resume, extend, cancel, retire."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.artifacts.agents import register_spelled_agent
from matches.ledger import planning
from matches.ledger.tournaments import cancel_tournament
from matches.models import Tournament
from matches.tests import factories

pytestmark = pytest.mark.django_db


def _post(client: Client, address: str, body: object = None) -> Any:
    return client.post(f"/api/v1/{address}/", body or {}, content_type="application/json")


def _done(client: Client, tournament: Tournament, verb: str, **body: object) -> Any:
    response = _post(client, f"tournaments/{tournament.pk}/{verb}", body)
    assert response.status_code == 200, response.content
    return response.json()


def test_a_tournament_is_paused_and_resumed(admin_client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    assert _done(admin_client, tournament, "pause")["state"] == "paused"
    assert _done(admin_client, tournament, "resume")["state"] == "running"


def test_a_tournament_may_wait_to_be_started(admin_client: Client, broker: Redis) -> None:
    agents = [register_spelled_agent(f"level:{n}", game="skill_game").pk for n in (10, 90)]
    _post(admin_client, "leaderboards", {"name": "board", "game": "skill_game"})
    body = {"leaderboard": "board", "agents": agents, "name": "cup", "n_matches": 4}
    made = _post(admin_client, "tournaments", body | {"is_paused": True}).json()
    assert made["state"] == "paused"
    assert planning.plan_scheduled(now=factories.NOW) == 0
    assert _post(admin_client, f"tournaments/{made['id']}/start").json()["state"] == "scheduled"
    assert planning.plan_scheduled(now=factories.NOW) == 4


def test_a_tournament_is_extended_to_so_many_matches(admin_client: Client, broker: Redis) -> None:
    detail = _done(admin_client, factories.planned(), "extend", n_matches=20)
    assert (detail["n_matches"], detail["state"]) == (20, "planning")
    refused = _post(admin_client, f"tournaments/{detail['id']}/extend", {"n_matches": 3})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "n_matches"


def test_a_tournament_is_cancelled_once(admin_client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    for _ in range(2):
        detail = _done(admin_client, tournament, "cancel")
        assert (detail["state"], detail["n_cancelled"]) == ("cancelled", 12)


@pytest.mark.parametrize("verb", ["pause", "start", "resume", "extend"])
def test_what_does_not_fit_the_state_is_a_conflict(
    admin_client: Client, broker: Redis, verb: str
) -> None:
    tournament = factories.planned()
    cancel_tournament(tournament, now=factories.NOW)
    response = _post(admin_client, f"tournaments/{tournament.pk}/{verb}", {"n_matches": 99})
    assert response.status_code == 409
    problem = response.json()
    assert (problem["type"], problem["title"]) == ("about:blank", "Conflict")
    assert "is cancelled" in problem["detail"]


def test_a_retired_agent_enters_no_tournament(admin_client: Client, db: None) -> None:
    agent = register_spelled_agent("random", game="chess")
    assert _post(admin_client, f"agents/{agent.pk}/retire").json()["is_retired"]
    agent.refresh_from_db()
    assert agent.is_retired
    assert not _post(admin_client, f"agents/{agent.pk}/unretire").json()["is_retired"]
    agent.refresh_from_db()
    assert not agent.is_retired
