"""Who added what by the API: audit rows as the admin leaves them, with the token's name."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils.formats import localize
from redis import Redis

from matches.models import AuditRow, Campaign
from matches.tests import callers, weights

pytestmark = pytest.mark.django_db

PLAN = {"game": "skill_game", "agents": ["level:10", "level:90"], "n_matches": 10}


@pytest.fixture
def anna(broker: Redis) -> Client:
    """Return a client with the token of a user of the same name."""
    return callers.with_token(callers.token("anna", callers.OPERATOR))


def _post(client: Client, address: str, **body: object) -> Any:
    response = client.post(f"/api/v1/{address}/", body, content_type="application/json")
    assert response.status_code in {200, 201}, response.content
    return response.json()


def _list_acts() -> list[tuple[str, str]]:
    """Return what was done to what; all of it by one user with one token."""
    rows = AuditRow.objects.order_by("pk")
    assert {(row.actor, row.token) for row in rows} == {("anna", "anna")}
    return [(row.action, row.target_label) for row in rows]


def test_an_agent_is_noted_once_and_so_is_its_retirement(anna: Client) -> None:
    new = {"name": "a", "game": "connect_four", "policy": "random"}
    added = [_post(anna, "agents", **new)["id"] for _ in range(2)]
    for act in ("retire", "retire", "unretire"):
        _post(anna, f"agents/{added[0]}/{act}")
    acts = [action for action, _ in _list_acts()]
    assert acts == ["agent.add", "agent.retire", "agent.unretire"]


def test_a_tournament_is_noted_with_the_board_that_was_opened_for_it(anna: Client) -> None:
    _post(anna, "leaderboards", name="board", game="skill_game")
    agents = [
        _post(anna, "agents", name=f"{level}", game="skill_game", policy="level")["id"]
        for level in (1, 2)
    ]
    _post(anna, "tournaments", leaderboard="board", name="cup", agents=agents, n_matches=10)
    assert [action for action, _ in _list_acts()] == [
        *("leaderboard.add", "agent.add", "agent.add"),
        "tournament.add",
    ]


def test_an_evaluation_is_noted_with_the_agents_that_it_registers(anna: Client) -> None:
    for _ in range(2):
        started = _post(anna, "evaluations", **PLAN)
    acts = [action for action, _ in _list_acts()]
    assert acts[:4] == ["agent.add", "agent.add", "leaderboard.add", "tournament.add"]
    assert acts[4:] == ["leaderboard.add", "tournament.add"]
    admin = callers.user("root", is_admin=True)
    browser = Client()
    browser.force_login(admin)
    tournament_page = browser.get(f"/admin/matches/tournament/{started['tournament']}/change/")
    assert "anna (token: anna)" in tournament_page.content.decode()


def test_a_campaign_is_noted_and_a_gate_that_goes_on_is_not_noted_again(anna: Client) -> None:
    pair = {"candidate": "mcts:50", "baseline": "random", "game": "connect_four"}
    for _ in range(2):
        _post(anna, "gates", **pair)
    acts = [action for action, _ in _list_acts()]
    assert acts == ["agent.add", "agent.add", "leaderboard.add", "campaign.add"]
    question = {"question": "best", "agents": ["mcts:50", "random"], "max_matches": 100}
    _post(anna, "campaigns", leaderboard="gate-connect-four", **question)
    assert len(acts) + 1 == AuditRow.objects.filter(token="anna").count()
    campaign = Campaign.objects.latest("pk")
    browser = Client()
    browser.force_login(callers.user("root", is_admin=True))
    campaign_page = browser.get(f"/admin/matches/campaign/{campaign.pk}/change/").content.decode()
    assert "anna (token: anna)" in campaign_page
    # In the form of all other times.
    assert f"{localize(campaign.tournament.created_at)}</" in campaign_page


def test_an_uploaded_checkpoint_is_noted(anna: Client, tmp_path: Path) -> None:
    form = {"name": "run", "game": weights.GAME, "architecture": "mlp"}
    with weights.weights(tmp_path / "a.safetensors").open("rb") as file:
        sent = anna.post("/api/v1/checkpoints/", {**form, "file": file})
    assert sent.status_code == 201, sent.content
    ((action, label),) = _list_acts()
    assert action == "checkpoint.add"
    assert label.startswith("run")


def test_what_a_user_does_in_a_browser_has_no_token(admin_client: Client, broker: Redis) -> None:
    _post(admin_client, "leaderboards", name="board", game="skill_game")
    assert [(row.actor, row.token) for row in AuditRow.objects.all()] == [("admin", "")]
