"""A plan that cannot reach its end is refused by its field before it starts, everywhere."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.artifacts.agents import register_spelled_agent
from matches.campaigns import scheduling
from matches.errors import BadInputError
from matches.ledger import pairing_warnings
from matches.ledger.tournaments import enter_agents, open_leaderboard
from matches.models import Agent, Leaderboard, Schedule, Tournament
from matches.plans import TournamentPlan
from matches.store.auditing import Actor
from matches.tests import callers, factories
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db
REFUSAL = "Knockout of 4 agents needs 12 matches at least to reach the final, got 4"


@pytest.fixture
def field(broker: Redis) -> tuple[Leaderboard, list[Agent]]:
    """Return a leaderboard and four agents for whom a knockout of 4 matches is too short."""
    agents = [register_spelled_agent(f"level:{level}", game="skill_game") for level in (1, 2, 3, 4)]
    return open_leaderboard("short-cup", game="skill_game"), agents


def _post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{path}/", body, content_type="application/json")


@pytest.mark.parametrize("n_matches", [4, 11])
def test_the_api_names_the_field(field: tuple[Leaderboard, list[Agent]], n_matches: int) -> None:
    board, agents = field
    client = callers.with_token(callers.token("cup-submitter", callers.SUBMITTER))
    body = {
        "leaderboard": board.name,
        "agents": [agent.pk for agent in agents],
        "name": "cup",
        "pairing": "knockout",
        "n_matches": n_matches,
    }
    response = _post(client, "tournaments", body)
    assert response.status_code == 400
    (problem,) = response.json()["errors"]
    assert problem["field"] == "n_matches"
    assert f"got {n_matches}" in str(problem)
    spelled = {"game": "skill_game", "agents": ["level:1", "level:2", "level:3", "level:4"]}
    plan = {"pairing": "knockout", "n_matches": n_matches}
    response = _post(client, "evaluations", spelled | plan)
    assert response.status_code == 400, response.content
    assert f"got {n_matches}" in response.content.decode()
    assert not Tournament.objects.exists()


@pytest.mark.parametrize("button", [{}, {"estimate": "1"}])
def test_the_form_of_the_admin_says_it_at_the_field(
    admin_client: Client, field: tuple[Leaderboard, list[Agent]], button: dict[str, str]
) -> None:
    board, agents = field
    form = {
        "leaderboard": board.pk,
        "name": "cup",
        "agents": [agent.pk for agent in agents],
        "pairing": "knockout",
        "n_matches": 4,
        "seed": 1,
        "move_s": 10,
        "match_s": 600,
        "faults": "",
        "is_rated": "on",
    }
    response = admin_client.post("/admin/matches/tournament/add/", form | button)
    assert response.status_code == 200, "a form that is refused is shown again"
    assert REFUSAL in " ".join(response.context["adminform"].form.errors["n_matches"])
    assert not Tournament.objects.exists()


def test_a_schedule_of_named_agents_is_refused(field: tuple[Leaderboard, list[Agent]]) -> None:
    board, agents = field
    schedule = Schedule(
        name="cup", leaderboard=board, crontab="0 * * * *", pairing="knockout", n_matches=4
    )
    with pytest.raises(BadInputError, match=REFUSAL) as refused:
        scheduling.save_schedule(schedule, agents=agents, actor=Actor("ann"), now=NOW)
    assert refused.value.field == "n_matches"


def test_a_schedule_of_a_whole_board_is_passed_over_with_the_reason(
    field: tuple[Leaderboard, list[Agent]],
) -> None:
    board, agents = field
    pairs: Any = {"pairing": "knockout", "n_matches": 4}
    schedule = Schedule(name="cup", leaderboard=board, crontab="0 * * * *", **pairs)
    scheduling.save_schedule(schedule, agents=[], actor=Actor("ann"), now=NOW)
    enter_agents(board, agents)
    assert scheduling.start_due(schedule.pk, now=factories.later(3600)) is None
    schedule.refresh_from_db()
    assert REFUSAL in schedule.problem


def test_one_that_only_luck_brings_to_its_end_is_warned_of(broker: Redis) -> None:
    field = tuple(f"level:{level}" for level in range(1, 12))
    tournament = factories.scheduled(44, agents=field, pairing="knockout")
    assert pairing_warnings.warn_of_budget(tournament) == (
        "44 matches may end it before the final: Knockout of 11 agents needs 40 at least and 60 "
        "where every meeting goes its full length, so extend it"
    )
    board = tournament.leaderboard
    plan = TournamentPlan(name="cup", n_matches=44, pairing="knockout")
    warning = pairing_warnings.warn_of_plan(plan, leaderboard=board, n_agents=11)
    assert warning is not None
    assert "needs 40 at least and 60" in warning
    enough = factories.scheduled(60, agents=field, board="enough", pairing="knockout")
    assert pairing_warnings.warn_of_budget(enough) is None
