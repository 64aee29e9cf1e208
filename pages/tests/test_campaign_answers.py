"""What the page of a campaign answers: while it runs, once it has ended and when it was stopped."""

import re

import pytest
from django.core.cache import cache
from django.test import Client
from redis import Redis

from matches.board import progress
from matches.campaigns import judging, results
from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Campaign, Tournament
from matches.store.formats import format_percent
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from matches.tests.test_campaigns import campaign_of, ended, go_on
from pages import campaign_verdicts, campaignpages
from pages.tests.campaigns import read_campaign_page, start_undecided
from pages.tests.reading import get_words

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _stores(broker: Redis) -> None:
    """Have a broker, and a fast store that knows nothing."""
    cache.clear()


def test_the_likeliest_stand_first_and_the_rest_is_cut(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaignpages, "N_CHANCES", 2)
    campaign = ended(campaign_of())
    chances = campaignpages.describe_campaign(campaign, now=later(500))["chances"]
    assert chances[0].agent == Agent.objects.get(name="level:95")
    assert len(chances) == 2
    assert chances[0].percent > chances[1].percent


def test_a_pairing_that_suits_the_field_badly_is_said_where_the_campaign_is(client: Client) -> None:
    campaign = campaign_of(agents=("level:49", "level:50", "level:51"), pairing="quality")
    go_on(campaign, 0, factories.first_wins)
    cache.clear()
    assert read_campaign_page(client, campaign).count("This field is close") == 1
    part = client.get(f"/tournaments/{campaign.tournament_id}/campaign/")
    assert "This field is close" in part.content.decode()


def test_one_that_plays_is_running_in_the_words_of_people(client: Client) -> None:
    campaign = start_undecided()
    tournament = campaign.tournament
    assert tournament.state == "planning"
    assert progress.describe_tournament(tournament, now=later(2))["state"] == "running"
    page = read_campaign_page(client, campaign)
    assert 'data-state="running"' in client.get(f"/tournaments/{tournament.pk}/").content.decode()
    assert re.search(r"Running for .* matches are planned", page, flags=re.IGNORECASE)
    assert "planning" not in get_words(client, "/leaderboards/")


def test_a_stopped_campaign_says_no_answer_is_true(client: Client) -> None:
    campaign = campaign_of()
    go_on(campaign, 0, boards.by_strength())
    Campaign.objects.filter(pk=campaign.pk).update(
        decided_at=NOW, why="cancelled", probability=0.6, statement="cancelled"
    )
    page = read_campaign_page(client, campaign)
    assert "true with a probability" not in page
    assert "95 %; it was 60 % when it was stopped. What was played counts: ask again" in page
    campaign.refresh_from_db()
    [line] = campaignpages.list_campaigns([campaign])
    assert line.says.startswith("Not decided: it was stopped. Most likely: ")
    assert line.state == "stopped"
    assert "%" not in line.says


def test_one_out_of_budget_says_what_was_not_reached_and_what_to_do(client: Client) -> None:
    campaign = ended(campaign_of(error=1e-9, max_matches=32))
    page = read_campaign_page(client, campaign)
    assert "true with a probability" not in page
    assert re.search(r"Not decided\. Most likely: level:\d+ is the best", page)
    assert "ask again with a larger budget or a larger margin, and it goes on from there." in page
    [line] = campaignpages.list_campaigns([campaign])
    assert line.says.startswith("Not decided: its budget of 32 matches was used up. Most likely: ")
    assert line.state == "ended by its budget"
    assert "%" not in line.says
    assert "No campaign is like that" not in get_words(client, "/campaigns/?state=budget")
    assert "No campaign is like that" in get_words(client, "/campaigns/?state=stopped")


def test_a_campaign_without_an_answer_says_once_why_it_ended(client: Client) -> None:
    pair, terms = ("level:45", "level:50"), {"elo1": 3.0}
    campaign = ended(campaign_of("sprt", agents=pair, parameters=terms, max_matches=32))
    [line] = campaignpages.list_campaigns([campaign])
    assert re.fullmatch(
        r"UNDECIDED: .* Elo [^:;]*; its budget of 32 matches was used up", line.says
    )
    campaign = campaign_of(name="other")
    campaign.why, campaign.decided_at = "no_results", NOW
    campaign.statement = judging.ENDED[campaign.why]
    [line] = campaignpages.list_campaigns([campaign])
    assert line.says == "no match has a result: nothing can be said"


@pytest.mark.parametrize(
    ("n_judged", "n_known", "n_done", "words"),
    [
        (0, 24, 0, ""),
        (24, 24, 0, "Judged by 24 results, all known before it."),
        (
            *(40, 24, 32),
            "Judged by 40 results: 24 known before and 16 of its own. "
            "Of its 32 matches played, 16 count at the next judgement.",
        ),
        (56, 24, 32, "Judged by 56 results: 24 known before and 32 of its own."),
        (
            *(1, 0, 2),
            "Judged by 1 result: 1 of its own. Of its 2 matches played, 1 counts at the next "
            "judgement.",
        ),
        (20, 24, 32, "Judged by 20 results, of this campaign and of other tournaments."),
        (90, 24, 32, "Judged by 90 results, of this campaign and of other tournaments."),
    ],
)
def test_the_results_of_a_judgement_add_up(
    n_judged: int, n_known: int, n_done: int, words: str
) -> None:
    campaign = Campaign(
        tournament=Tournament(n_done=n_done), max_matches=100, n_judged=n_judged, n_known=n_known
    )
    assert campaign_verdicts.describe_judged(campaign) == words


def test_scores_are_judged_by_its_own_matches() -> None:
    campaign = Campaign(
        tournament=Tournament(n_done=8), max_matches=100, n_judged=8, n_known=4, is_by_scores=True
    )
    sentence = campaign_verdicts.describe_judged(campaign)
    assert sentence == "Judged by 8 results, all of its own matches."


def test_a_test_says_which_games_its_mean_score_is_of(client: Client) -> None:
    test = campaign_of("sprt", agents=("level:6", "level:96"))
    go_on(test, 0, boards.by_strength())
    page = read_campaign_page(client, test)
    n_blocks = sum(Campaign.objects.get(pk=test.pk).pairs or ())
    assert f"{n_blocks} blocks of two games: all {2 * n_blocks} results judged." in page
    assert "Mean score of level:6 in these blocks" in page
    Campaign.objects.filter(pk=test.pk).update(n_judged=2 * n_blocks + 1)
    cache.clear()
    assert (
        f"{2 * n_blocks} of the {2 * n_blocks + 1} results judged. Only whole"
        in read_campaign_page(client, test)
    )


def test_a_ranking_shows_its_likeliest_order_while_it_runs(client: Client) -> None:
    campaign = start_undecided(question="rank_all")
    ranked = results.list_ranking(campaign)
    assert [one.p_above_next is None for one in ranked] == [False, False, False, True]
    page = read_campaign_page(client, campaign)
    names = " &gt; ".join(one.agent.name for one in ranked)
    assert f"Most likely so far: {names}" in page
    assert "The likeliest order so far" in page
    first = format_percent(ranked[0].p_above_next or 0).replace("\N{NO-BREAK SPACE}", " ")
    assert f"{ranked[0].agent.name} {first} {ranked[1].agent.name}" in page
    part = client.get(f"/tournaments/{campaign.tournament_id}/campaign/").content.decode()
    assert part.count('data-part="order"') == 1
    answer = client.get(f"/api/v1/campaigns/{campaign.pk}/").json()
    assert [row["p_above_next"] for row in answer["ranking"]] == [
        one.p_above_next for one in ranked
    ]


def test_a_top_k_names_its_likeliest_agents_while_it_runs_and_once_stopped(client: Client) -> None:
    campaign = start_undecided(question="top_k", parameters={"k": 2})
    answer = client.get(f"/api/v1/campaigns/{campaign.pk}/").json()
    likely = answer["likely_statement"]
    names = " and ".join(agent["name"] for agent in answer["likely_subjects"])
    assert likely == f"{names} are the best 2"
    assert f"Most likely so far: {likely}" in read_campaign_page(client, campaign)
    assert f"Most likely so far: {likely}" in get_words(client, "/campaigns/")
    cancel_tournament(campaign.tournament, now=later(3))
    judging.judge_campaign(Campaign.objects.get(), now=later(3))
    cache.clear()
    page = read_campaign_page(client, campaign)
    assert f"Not decided. Most likely: {likely}" in page
    assert re.search(r"Asked for was a probability of 99.9 %; it was \d+", page)
    [listed] = client.get("/api/v1/campaigns/").json()["results"]
    assert (listed["statement"], listed["likely_statement"]) == ("cancelled", likely)


def test_a_question_about_the_best_shows_no_order(client: Client) -> None:
    assert "The likeliest order" not in read_campaign_page(client, start_undecided())


def test_a_budget_that_will_not_suffice_is_said_on_the_page_and_by_the_api(client: Client) -> None:
    campaign = start_undecided(question="rank_all", max_matches=20)
    assert campaign.decided_at is None
    answer = client.get(f"/api/v1/campaigns/{campaign.pk}/").json()
    assert answer["budget_warning"].startswith("The budget will probably not suffice")
    assert answer["budget_warning"] in read_campaign_page(client, campaign)
    enough = {**(campaign.forecast or {}), "matches": 2.0}
    Campaign.objects.filter(pk=campaign.pk).update(forecast=enough)
    assert client.get(f"/api/v1/campaigns/{campaign.pk}/").json()["budget_warning"] is None


def test_a_failed_test_says_first_how_much_worse_it_is(client: Client) -> None:
    pair = ("level:5", "level:95")
    campaign = ended(campaign_of("sprt", agents=pair, parameters={"elo1": 100}))
    page = read_campaign_page(client, campaign)
    assert re.search(
        r"FAIL: \d+ Elo worse \(\d+( worse)? to \d+( better)?\) level:5 is not better than", page
    )
    [line] = campaignpages.list_campaigns([campaign])
    assert line.says.startswith("FAIL: ")
