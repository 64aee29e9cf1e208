"""Agents are picked for the leaderboard that is chosen: all, the best, a run, by their names."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.admin import picker
from matches.artifacts.agents import register_spelled_agent
from matches.ledger import planning
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Campaign, Checkpoint, Leaderboard, Rating, Tournament
from matches.tests import factories
from matches.tests.factories import NOW
from matches.tests.test_admin_pages import form as form

pytestmark = pytest.mark.django_db
PICK, ADD = "/admin/matches/agent/pick/", "/admin/matches/tournament/add/"


@pytest.fixture
def board(broker: Redis) -> Leaderboard:
    """Return a leaderboard with four agents of its game; one plays another game."""
    for level in (20, 40, 60, 80):
        register_spelled_agent(f"level:{level}", game="skill_game")
    register_spelled_agent("random", game="connect_four")
    return open_leaderboard("picked", game="skill_game")


def _read(page: str) -> tuple[list[str], list[str]]:
    """Return the names of who is chosen and of who else is offered."""
    boxes = re.findall(r'name="agents" value="\d+"( checked)?>\s*([^\s<]+)', page)
    return [name for mark, name in boxes if mark], [name for mark, name in boxes if not mark]


def _pick(client: Client, **query: Any) -> tuple[list[str], list[str]]:
    answer = client.get(PICK, query)
    assert answer.status_code == 200
    return _read(answer.content.decode())


def _key(name: str) -> int:
    return Agent.objects.get(name=name).pk


def test_only_agents_of_the_game_are_offered(admin_client: Client, board: Leaderboard) -> None:
    assert len(_pick(admin_client)[1]) == 5
    chosen, others = _pick(admin_client, leaderboard=board.pk, agents=_key("level:40"))
    assert chosen == ["level:40"]
    assert others == ["level:20", "level:60", "level:80"]
    page = admin_client.get(PICK, {"leaderboard": board.pk, "agents": _key("random")})
    assert "Taken off, as they play another game: 1" in page.content.decode()


def test_without_a_leaderboard_agents_stand_below_the_name_of_their_game(
    admin_client: Client, board: Leaderboard
) -> None:
    page = admin_client.get(PICK).content.decode()
    assert re.findall('class="ev-game">([^<]+)<', page) == ["Connect Four", "Skill game (test)"]
    of_board = admin_client.get(PICK, {"leaderboard": board.pk}).content.decode()
    assert "ev-game" not in of_board
    assert "Others of Skill game (test)" in of_board


def test_a_name_is_searched_for(admin_client: Client, board: Leaderboard) -> None:
    query: dict[str, Any] = {"leaderboard": board.pk, "agents-find": "LEVEL:6"}
    assert _pick(admin_client, **query) == ([], ["level:60"])
    page = admin_client.get(PICK, {**query, "agents-find": "<zzz>"}).content.decode()
    assert "No other name has “&lt;zzz&gt;”" in page


def test_buttons_add_all_the_best_and_nobody(
    admin_client: Client, board: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picker, "N_TOP", 2)
    for mu, name in ((1.0, "level:20"), (9.0, "level:40"), (5.0, "level:60")):
        Rating.objects.create(leaderboard=board, agent_id=_key(name), mu=mu)
    query = {"leaderboard": board.pk}
    assert _pick(admin_client, **query, **{"agents-add": "top"})[0] == ["level:40", "level:60"]
    everybody = _pick(admin_client, **query, **{"agents-add": "all"})
    assert (len(everybody[0]), everybody[1]) == (4, [])
    assert _pick(admin_client, **query, agents=_key("level:20"), **{"agents-add": "none"})[0] == []


def test_a_run_is_added_at_once(admin_client: Client, board: Leaderboard) -> None:
    north = Checkpoint.objects.create(
        sha256="a" * 64, game="skill_game", run="north", step=1, n_bytes=1, created_at=NOW
    )
    agent = register_spelled_agent("level:5", game="skill_game")
    Agent.objects.filter(pk=agent.pk).update(checkpoint=north)
    page = admin_client.get(PICK, {"leaderboard": board.pk}).content.decode()
    assert "run:north" in page
    chosen, _ = _pick(admin_client, leaderboard=board.pk, **{"agents-add": "run:north"})
    assert chosen == ["level:5"]


def test_without_script_a_button_shows_the_form_again_and_starts_nothing(
    admin_client: Client, form: dict[str, Any], board: Leaderboard
) -> None:
    sent = {**form, "leaderboard": board.pk, "agents": [], "n_matches": "", "agents-add": "all"}
    answer = admin_client.post(ADD, sent)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert len(_read(page)[0]) == 6
    assert "errornote" not in page
    assert "This field is required" not in page
    assert not Tournament.objects.exists()


def test_a_refused_form_keeps_who_was_chosen(
    admin_client: Client, form: dict[str, Any], board: Leaderboard
) -> None:
    page = admin_client.post(ADD, {**form, "n_matches": "0"}).content.decode()
    assert sorted(_read(page)[0]) == ["level:10", "level:90"]


@pytest.mark.parametrize("n_good", [0, 2])
def test_a_key_that_no_row_can_have_is_refused(
    admin_client: Client, form: dict[str, Any], board: Leaderboard, n_good: int
) -> None:
    agents = [*form["agents"][:n_good], "9" * 30]
    page = admin_client.post(ADD, {**form, "agents": agents, "once": "\0"}).content.decode()
    assert f"there is no agent {'9' * 30}" in page
    assert not Tournament.objects.exists()


def test_an_address_brings_agents_and_their_board(admin_client: Client, board: Leaderboard) -> None:
    keys = ",".join(str(_key(name)) for name in ("level:20", "level:80"))
    for model in ("tournament", "campaign"):
        query = f"agents={keys}&leaderboard={board.pk}"
        page = admin_client.get(f"/admin/matches/{model}/add/?{query}").content.decode()
        assert _read(page) == (["level:20", "level:80"], ["level:40", "level:60"]), model


def test_a_new_agent_leads_to_a_tournament_with_it(
    admin_client: Client, board: Leaderboard
) -> None:
    new = {"name": "m", "game": "skill_game", "policy": "level", "parameters-level-level": "33"}
    page = admin_client.post("/admin/matches/agent/add/", new, follow=True).content.decode()
    query = f"agents={_key('m')}&amp;leaderboard={board.pk}"
    assert f'{ADD}?{query}">schedule it</a>' in page


def test_more_agents_take_no_more_queries(admin_client: Client, board: Leaderboard) -> None:
    counts = []
    for n in (5, 60):
        Agent.objects.bulk_create(
            Agent(name=f"a{n}-{i}", game="skill_game", policy="random") for i in range(n)
        )
        with CaptureQueriesContext(
            connection,
        ) as queries:
            _pick(admin_client, leaderboard=board.pk, **{"agents-add": "all"})
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_nobody_without_a_right_to_the_admin_picks(client: Client, board: Leaderboard) -> None:
    assert client.get(PICK).status_code == 302
    client.force_login(User.objects.create_user("reader", password="x"))
    assert client.get(PICK).status_code == 302


@pytest.mark.parametrize("address", ["tournament", "schedule"])
def test_an_estimate_is_shown_and_nothing_is_started(
    admin_client: Client, form: dict[str, Any], address: str
) -> None:
    sent = {**form, "crontab": "0 4 * * *", "timezone": "UTC", "estimate": "1", "margin": "0"}
    page = admin_client.post(f"/admin/matches/{address}/add/", sent).content.decode()
    assert "Nothing is started yet" in page
    assert "at most 20, among 2 agents" in page
    assert "not measured yet" in page
    assert "errornote" not in page
    assert not Tournament.objects.exists()
    assert not Campaign.objects.exists()


def test_an_estimate_leaves_out_what_is_known_already(
    admin_client: Client, broker: Redis, form: dict[str, Any]
) -> None:
    admin_client.post(ADD, {**form, "n_matches": "12"})
    planning.plan_scheduled(now=NOW)
    factories.play_all(broker)
    page = admin_client.post(ADD, {**form, "estimate": "1"}).content.decode()
    assert "12, not played again: 8 are left to play" in page


def test_an_estimate_of_what_cannot_be_says_why(admin_client: Client, form: dict[str, Any]) -> None:
    page = admin_client.post(ADD, {**form, "n_matches": "0", "estimate": "1"}).content.decode()
    assert "greater than or equal to 1" in page
    assert "Nothing is started yet" not in page


def test_what_few_need_stands_below(admin_client: Client, form: dict[str, Any]) -> None:
    page = admin_client.get(ADD).content.decode()
    advanced = page.partition("Advanced")[2]
    assert 'name="faults"' in advanced
    assert 'name="n_matches"' not in advanced
