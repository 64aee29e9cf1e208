"""Whatever a user names has printable characters only: names are read, linked to and exported."""

from collections.abc import Callable

import pytest
from django.test import Client

from matches.artifacts.agents import register_agent, renew_agent
from matches.campaigns import gates, starting
from matches.errors import BadInputError
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Leaderboard
from matches.plans import CampaignPlan, TournamentPlan
from matches.ratings import seasons
from matches.tests import factories, schedules
from matches.tests.schedules import ANNA

pytestmark = pytest.mark.django_db
NAMES = ("tab\tq", "\u200b", "x\u202ey")


def agent(name: str) -> object:
    return register_agent(name, game="connect_four", policy="random")


def title(name: str) -> object:
    return open_leaderboard("other", game="connect_four", title=name)


def tournament(name: str) -> object:
    board, agents = schedules.open_hourly_board(), schedules.register_levels()
    plan = TournamentPlan(name=name, n_matches=6)
    return schedule_tournament(plan, leaderboard=board, agents=agents)


def campaign(name: str) -> object:
    board, agents = schedules.open_hourly_board(), schedules.register_levels()
    plan = CampaignPlan(name=name, question="best", max_matches=60)
    return starting.start_campaign(plan, leaderboard=board, agents=agents)


def schedule(name: str) -> object:
    return schedules.save_hourly(name=name)


def season(name: str) -> object:
    board = schedules.open_hourly_board()
    return seasons.freeze(board, name, actor=ANNA, now=factories.NOW)


@pytest.mark.parametrize("add", [agent, title, tournament, campaign, schedule, season])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_cannot_be_printed_is_refused(add: Callable[[str], object], name: str) -> None:
    with pytest.raises(BadInputError, match="printable characters only") as refused:
        add(name)
    assert refused.value.field == ("title" if add is title else "name")
    assert repr(name) in str(refused.value)
    assert add("Ünïcode\xa0名\u3000♞ \U0001f469\u200d\U0001f52c")


def test_what_was_named_so_before_goes_on(admin_client: Client) -> None:
    old = register_agent("old", game="connect_four", policy="random")
    other = register_agent("other", game="connect_four", policy="greedy")
    board = open_leaderboard("board", game="connect_four")
    Agent.objects.filter(pk=old.pk).update(name="tab\tq")
    Leaderboard.objects.filter(pk=board.pk).update(title="x\u202ey")
    address = f"/admin/matches/leaderboard/{board.pk}/change/"
    page = admin_client.post(address, {"title": "x\u202ey"})
    assert "printable characters only" not in page.content.decode()
    old.refresh_from_db()
    bounds = gates.Bounds(0.0, 20.0, 0.05, 0.05, "logistic")
    gate = gates.enter_test(old, other, bounds, leaderboard="", max_matches=10)
    assert gate.tournament.name == "tab?q against other"
    Agent.objects.filter(pk=old.pk).update(version="of other code")
    old.refresh_from_db()
    assert renew_agent(old).name == "tab\tq"


def test_an_agent_that_spells_another_policy_already_is_renewed_under_its_name() -> None:
    old = register_agent("old", game="connect_four", policy="random")
    Agent.objects.filter(pk=old.pk).update(name="greedy", version="of other code")
    old.refresh_from_db()
    assert (renew_agent(old).name, Agent.objects.count()) == ("greedy", 2)


@pytest.mark.parametrize("name", NAMES)
def test_forms_of_the_admin_refuse_it_too(admin_client: Client, name: str) -> None:
    for address, field in (("agent", "name"), ("leaderboard", "title"), ("schedule", "name")):
        page = admin_client.post(f"/admin/matches/{address}/add/", {field: f"a{name}b"})
        assert "printable characters only" in page.content.decode()
