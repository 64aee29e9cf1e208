"""Whatever a user names has printable characters only: names are read, linked to and exported."""

from collections.abc import Callable

import pytest
from django.test import Client

from matches.artifacts.agents import register_agent
from matches.campaigns import starting
from matches.errors import BadInputError
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
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
    assert add("Ünïcode 名 ♞")


@pytest.mark.parametrize("name", NAMES)
def test_forms_of_the_admin_refuse_it_too(admin_client: Client, name: str) -> None:
    for address, field in (("agent", "name"), ("leaderboard", "title"), ("schedule", "name")):
        page = admin_client.post(f"/admin/matches/{address}/add/", {field: f"a{name}b"})
        assert "printable characters only" in page.content.decode()
