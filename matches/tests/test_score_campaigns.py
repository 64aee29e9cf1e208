"""Campaigns about agents of one-seat games: answered on common seeds, with fewer of the others."""

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from django.test import Client
from redis import Redis

from arena.games import registry as games
from arena.messages import MatchOrderRow, ResultRow
from matches.campaigns.forecasting import forecast_start
from matches.campaigns.starting import start_campaign
from matches.errors import BadInputError
from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Campaign, Match, Tournament
from matches.plans import CampaignPlan
from matches.ratings.entrants import entrants_of
from matches.ratings.score_tables import load_scores
from matches.tests import boards, factories
from matches.tests.test_campaigns import go_on

pytestmark = pytest.mark.django_db(transaction=True)
GAME = games.get("dice_walk")


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def walk(row: MatchOrderRow) -> ResultRow:
    agent = Agent.objects.get(pk=Match.objects.get(pk=row.match).agent_ids[0])
    state = GAME.start(row.game_seed, opening_plies=0)
    while state.to_move() == 0:
        state.apply(int(agent.name.split(":")[1]))
    return msgspec.structs.replace(factories.result(row, ranks=[0]), returns=list(state.returns()))


LEVELS = ("level:5", "level:20", "level:60", "level:90")


def _field(*levels: str) -> Tournament:
    """Return a tournament that opens a board for these agents and plays nothing."""
    opened = factories.scheduled(4, agents=levels, game="dice_walk", board="walks")
    cancel_tournament(opened, now=factories.NOW)
    return opened


def _ask(opened: Tournament, **plan: Any) -> Campaign:
    return start_campaign(
        CampaignPlan(**{"name": "walk", "max_matches": 400, "margin_score": 0.0, **plan}),
        leaderboard=opened.leaderboard,
        agents=list(opened.agents.order_by("entrant__position")),
    )


def _end(campaign: Campaign, play: boards.Play = walk) -> Campaign:
    for step in range(40):
        go_on(campaign, 2.0 * step, play)
        if campaign.decided_at is not None:
            return campaign
    raise AssertionError(f"never ended: {campaign.n_judged} judged")


@pytest.mark.parametrize(
    ("question", "parameters", "statement"),
    [
        ("best", {}, "level:90 is the best"),
        ("top_k", {"k": 2}, "level:90, level:60 are the best 2"),
        ("beats", {"a": 3, "b": 0, "lead": 1.0}, "level:90 beats level:5 by more than 1"),
    ],
)
def test_a_question_by_scores_is_answered_by_its_own_episodes(
    question: str, parameters: dict[str, Any], statement: str, client: Client
) -> None:
    campaign = _end(_ask(_field(*LEVELS), question=question, parameters=parameters))
    assert (campaign.why, campaign.statement) == ("decided", statement)
    assert campaign.probability is not None
    assert campaign.probability >= 1 - campaign.error
    assert campaign.n_judged == campaign.tournament.n_done < campaign.max_matches
    page = client.get(f"/tournaments/{campaign.tournament_id}/").content.decode()
    assert "by mean scores on equal seeds" in page
    assert client.get(f"/api/v1/campaigns/{campaign.pk}/").json()["is_by_scores"] is True


def test_an_earlier_result_says_nothing_to_a_question_by_scores() -> None:
    first = _end(_ask(_field(*LEVELS), question="best"))
    again = _ask(first.tournament, question="best", name="again", is_paused=True)
    assert (again.n_known, again.n_known_elsewhere) == (0, 0)
    go_on(again, 100.0, walk)
    assert again.n_judged == 0


def test_a_void_episode_takes_its_seed_from_all() -> None:
    campaign = _ask(_field("level:20", "level:60"), question="best", max_matches=20)
    go_on(campaign, 0.0, walk)
    tournament = campaign.tournament
    agents = entrants_of(tournament)
    before = load_scores(tournament, agents).scores
    struck = tournament.matches.filter(state=Match.State.DONE, block=2)[:1]
    tournament.matches.filter(pk__in=struck.values("pk")).update(state=Match.State.VOID)
    after = load_scores(tournament, agents).scores
    assert after.tolist() == np.delete(before, 2, axis=1).tolist()


def test_a_score_outside_of_its_range_ends_it_with_the_reason() -> None:
    def lie(row: MatchOrderRow) -> ResultRow:
        return msgspec.structs.replace(factories.result(row, ranks=[0]), returns=[1e6])

    campaign = _end(_ask(_field("level:20", "level:60"), question="best"), lie)
    assert campaign.why == "bad_scores"
    assert "dice_walk gave a score of 1e+06, outside of the 0 to" in campaign.statement


@pytest.mark.parametrize(
    ("plan", "field", "problem"),
    [
        ({"question": "rank_pairs"}, "question", "one of best, top_k, rank_all, beats"),
        ({"margin": 1.0}, "margin", "got 2 of them"),
        ({"pairing": "random"}, "pairing", "it is common_seeds or empty"),
        ({"margin_score": -1.0}, "margin", "0 or more"),
    ],
)
def test_what_cannot_be_asked_by_scores_is_refused(
    plan: dict[str, Any], field: str, problem: str
) -> None:
    with pytest.raises(BadInputError, match=problem) as refused:
        _ask(_field(*LEVELS), **plan)
    assert refused.value.field == field


def test_a_sequential_test_is_not_asked_by_scores() -> None:
    pair = factories.scheduled(4, agents=LEVELS[:2])
    with pytest.raises(BadInputError, match="margin_score: sprt compares ratings"):
        _ask(pair, question="sprt")


def test_only_games_with_scores_are_asked_by_them() -> None:
    opened = factories.scheduled(4)
    with pytest.raises(BadInputError, match="games of one seat, and skill_game has 2"):
        _ask(opened)
    plan = CampaignPlan(max_matches=10, margin_score=0.0)
    walks = _field(*LEVELS)
    with pytest.raises(BadInputError, match="no forecast"):
        forecast_start(
            plan, leaderboard=walks.leaderboard, agents=list(walks.agents.all()), now=factories.NOW
        )


def test_the_best_is_found_on_common_seeds(client: Client) -> None:
    levels = ("level:5", "level:20", "level:60", "level:90")
    tournament = factories.scheduled(4, agents=levels, game="dice_walk", board="walks")
    cancel_tournament(tournament, now=factories.NOW)
    campaign = start_campaign(
        CampaignPlan(name="walk", question="best", max_matches=400),
        leaderboard=tournament.leaderboard,
        agents=list(tournament.agents.order_by("entrant__position")),
    )
    assert campaign.tournament.pairing == "common_seeds"
    for step in range(40):
        go_on(campaign, 2.0 * step, walk)
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
