"""Campaigns about agents of one-seat games: answered on common seeds, with fewer of the others."""

from collections import Counter

import msgspec
import pytest
from django.test import Client
from redis import Redis

from arena.games import registry as games
from arena.messages import MatchOrderRow, ResultRow
from matches.campaigns.starting import start_campaign
from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Campaign, Match
from matches.plans import CampaignPlan
from matches.tests import factories
from matches.tests.test_campaigns import go_on

pytestmark = pytest.mark.django_db(transaction=True)
GAME = games.get("dice_walk")


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def _walk(row: MatchOrderRow) -> ResultRow:
    agent = Agent.objects.get(pk=Match.objects.get(pk=row.match).agent_ids[0])
    state = GAME.start(row.game_seed, opening_plies=0)
    while state.to_move() == 0:
        state.apply(int(agent.name.split(":")[1]))
    return msgspec.structs.replace(factories.result(row, ranks=[0]), returns=list(state.returns()))


def test_the_best_is_found_on_common_seeds(client: Client) -> None:
    levels = ("level:5", "level:20", "level:60", "level:90")
    known = factories.scheduled(4, agents=levels, game="dice_walk", board="walks")
    cancel_tournament(known, now=factories.NOW)
    campaign = start_campaign(
        CampaignPlan(name="walk", question="best", max_matches=400),
        leaderboard=known.leaderboard,
        agents=list(known.agents.order_by("entrant__position")),
    )
    assert campaign.tournament.pairing == "common_seeds"
    for step in range(40):
        go_on(campaign, 2.0 * step, _walk)
        if campaign.decided_at is not None:
            break
    done = Match.objects.filter(tournament=campaign.tournament, state=Match.State.DONE)
    assert campaign.n_judged == done.count()
    assert (campaign.why, campaign.statement) == ("decided", "level:90 is the best")
    planned = Match.objects.filter(tournament=campaign.tournament)
    n_played = Counter(planned.values_list("seat_rows__agent__name", flat=True))
    assert n_played["level:90"] + n_played["level:60"] > n_played["level:5"] + n_played["level:20"]
    assert client.get(f"/tournaments/{campaign.tournament_id}/campaign/").status_code in (200, 302)
    assert Campaign.objects.get().decided_at is not None
