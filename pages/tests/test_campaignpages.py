"""Campaigns on the pages: of tournaments, boards and agents."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis
from redis.exceptions import ConnectionError as AwayError

from matches.campaigns.starting import start_campaign
from matches.ledger.tournaments import cancel_tournament, open_leaderboard
from matches.models import Alarm, Campaign, CampaignPoint, Tournament
from matches.plans import CampaignPlan
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from matches.tests.test_campaigns import campaign_of, ended, go_on
from pages import campaign_verdicts, campaignpages
from pages.plots import campaign_curve
from pages.plots.charts import LEFT, RIGHT
from pages.tests.campaigns import read_campaign_page, start_undecided
from pages.tests.reading import get_words

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _stores(broker: Redis) -> None:
    """Have a broker, and a fast store that knows nothing."""
    cache.clear()


def test_a_verdict_stands_on_the_page_of_its_tournament(client: Client) -> None:
    campaign = ended(campaign_of())
    page = read_campaign_page(client, campaign)
    assert "Which agent is the best?" in page
    assert "level:95 is the best" in page
    assert "First by rating" not in page
    assert "Decided: it is as sure as was asked for." in page
    assert f"matches played {campaign.n_played}" in page
    assert "a round robin would have needed about" in page
    assert "Stop this campaign" not in page


def test_who_may_be_the_best_is_not_what_was_asked_about_two(client: Client) -> None:
    remark = "Not what was asked: its matches tell about the two agents of the question"
    about_two = campaign_of("beats", parameters={"a": "level:95", "b": "level:5"})
    assert remark in read_campaign_page(client, ended(about_two))
    about_all = campaign_of("best", name="all")
    assert remark not in read_campaign_page(client, ended(about_all))


def test_one_that_runs_shows_its_forecast_and_budget(client: Client) -> None:
    page = read_campaign_page(client, start_undecided())
    assert re.search(r"Most likely so far: level:\d+", page)
    assert "asked for is 99.9 %" in page
    assert "Matches to the verdict about" in page
    assert "100 more matches bring the verdict in" in page
    assert "16 of 400 spent" in page
    assert "Stop this campaign" in page


def test_before_the_first_result_it_says_what_is_missing(client: Client) -> None:
    page = read_campaign_page(client, campaign_of(margin=0.50001, max_money=2.0))
    assert "Not decided yet" in page
    assert "a gap in rating of 0.5 or less makes no difference" in page
    assert "No result was judged yet." in page
    assert "0.00 of 2.00 spent" in page


def test_page_and_lists_say_alike_what_was_played_and_what_its_end_cancelled(
    client: Client,
) -> None:
    campaign = ended(campaign_of())
    Tournament.objects.filter(pk=campaign.tournament_id).update(
        n_done=24, n_cancelled=16, n_void=0, n_known=0
    )
    cache.clear()
    parts = "24 played, 16 cancelled when it ended"
    page = read_campaign_page(client, Campaign.objects.get(pk=campaign.pk))
    assert f"{parts} pending" in page
    assert f"ago: {parts}" in page
    for path in ("/tournaments/", "/campaigns/"):
        listed = client.get(path).content.decode()
        assert f">{parts}<" in listed
        assert " of 4" not in listed


def test_a_second_campaign_says_what_was_saved(client: Client) -> None:
    first = ended(campaign_of())
    agents = list(first.tournament.agents.order_by("entrant__position"))
    plan = CampaignPlan(name="again", question="best", max_matches=400)
    second = start_campaign(plan, leaderboard=first.tournament.leaderboard, agents=agents)
    page = read_campaign_page(client, second)
    assert f"Saved: {first.n_played} matches were known before and not played." in page
    # What was known decides it at once.
    again = read_campaign_page(client, ended(second))
    assert "Started never" in again
    assert "No match was planned." in again
    elsewhere = start_campaign(
        plan, leaderboard=open_leaderboard("new", game="skill_game"), agents=agents
    )
    sentence = (
        f"{first.n_played} matches, all of them from other leaderboards, "
        "were known before and not played"
    )
    assert sentence in read_campaign_page(client, elsewhere)


def test_matches_that_are_known_games_are_said_to_be_saved(client: Client) -> None:
    campaign = campaign_of()
    Tournament.objects.filter(pk=campaign.tournament_id).update(n_known=1)
    sentence = "Saved: 1 match of this tournament: known games, not played again."
    assert sentence in read_campaign_page(client, campaign)


def test_one_that_was_stopped_says_so_at_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaignpages, "EVERY_S", 60)
    campaign = start_undecided()
    assert "Stop this campaign" in read_campaign_page(client, campaign)
    cancel_tournament(campaign.tournament, now=later(2))
    go_on(campaign, 3, boards.by_strength())
    page = read_campaign_page(client, campaign)
    assert re.search(r"Most likely: level:\d+", page)
    assert "Stopped before it was decided." in page


def test_out_of_budget_is_said_with_what_was_spent(client: Client) -> None:
    campaign = ended(campaign_of(error=1e-9, max_matches=32))
    assert "Out of budget: the likeliest answer so far" in read_campaign_page(client, campaign)
    assert "(all matches are played)" in read_campaign_page(client, campaign)


def test_a_sequential_test_shows_its_ratio_between_the_bounds(client: Client) -> None:
    campaign = campaign_of("sprt", agents=("level:5", "level:95"), parameters={"elo1": 100})
    open_page = read_campaign_page(client, campaign)
    assert "Is level:5 better than level:95 by 100 Elo rather than by 0?" in open_page
    assert "No block of two games is over yet." in open_page
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    cache.clear()
    page = read_campaign_page(client, campaign)
    assert "Points of level:5 in the two games of a seed" in page
    assert "Likelihood of superiority" in page
    ended(campaign)
    cache.clear()
    page = read_campaign_page(client, campaign)
    assert "accepted at 2.94" in page
    assert "rejected at -2.94" in page
    assert "Which may be the best" not in page
    curve = campaign_curve.draw_campaign(campaign)
    assert curve is not None
    assert curve.points[-1].said == f"{CampaignPoint.objects.latest('n_results').llr:+.2f}"


@pytest.mark.parametrize(
    ("question", "parameters", "question_text"),
    [
        ("beats", {"a": "level:95", "b": "level:5", "lead": 1.0}, "beat level:5 by more than 1?"),
        ("beats", {"a": "level:95", "b": "level:5"}, "Does level:95 beat level:5?"),
        ("top_k", {"k": 2}, "Which agents are the best 2?"),
    ],
)
def test_questions_are_asked_in_words(
    client: Client, question: str, parameters: dict[str, object], question_text: str
) -> None:
    assert question_text in read_campaign_page(client, campaign_of(question, parameters=parameters))


def test_the_curve_rises_to_what_is_asked_for() -> None:
    campaign = ended(campaign_of())
    curve = campaign_curve.draw_campaign(campaign)
    assert curve is not None
    bound = next(level for level in curve.levels if level.is_bound)
    assert curve.points[-1].y <= bound.at
    assert [point.x for point in curve.points] == sorted(point.x for point in curve.points)


def _judge(n_known: int, counts: Sequence[int]) -> Campaign:
    """Return a campaign that knew so many results and was judged after so many."""
    campaign = campaign_of()
    campaign.n_known = n_known
    CampaignPoint.objects.bulk_create(
        CampaignPoint(
            campaign=campaign, n_results=n, at=NOW, probability=0.62 + 0.3 * n / counts[-1]
        )
        for n in counts
    )
    return campaign


def test_a_curve_begins_with_the_results_known_at_the_start() -> None:
    curve = campaign_curve.draw_campaign(_judge(400, [440, 600, 1_300]))
    assert curve is not None
    assert [tick.label for tick in curve.ticks] == ["400", "600", "800", "1,000", "1,200"]
    assert (curve.ticks[0].at, curve.points[-1].x) == (LEFT, RIGHT)
    drawn = render_to_string("pages/_campaign_curve.html", {"curve": curve})
    assert "across: results known, 400 at the start" in drawn
    shares = ["70 %", "80 %", "90 %", "100 %"]
    goal = "asked for: 95\N{NO-BREAK SPACE}%"
    assert [level.label for level in curve.levels] == [*shares, goal]


@pytest.mark.parametrize("n", [1, 2])
def test_below_three_points_it_is_too_early_to_draw(client: Client, n: int) -> None:
    page = read_campaign_page(client, _judge(0, [40, 50][:n]))
    assert "Too early to draw." in page
    assert "40 results: " in page


def test_many_points_are_a_line_without_dots() -> None:
    curve = campaign_curve.draw_campaign(_judge(0, range(10, 3_010, 10)))
    assert curve is not None
    assert not curve.has_dots
    assert len(curve.points) == 300


def test_the_part_that_moves_is_made_once_for_all_who_look(
    client: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(campaignpages, "EVERY_S", 60)
    campaign = start_undecided()
    address = f"/tournaments/{campaign.tournament_id}/campaign/"
    first = client.get(address)
    with django_assert_num_queries(1):  # the campaign
        second = client.get(address)
    assert second.content == first.content
    same = client.get(address, headers={"if-none-match": first.headers["ETag"]})
    assert same.status_code == 304


def test_the_page_shows_the_same_part(client: Client) -> None:
    campaign = start_undecided()
    part = client.get(f"/tournaments/{campaign.tournament_id}/campaign/").content.decode()
    assert part in client.get(f"/tournaments/{campaign.tournament_id}/").content.decode()


def test_a_tournament_without_a_campaign_has_no_such_part(client: Client) -> None:
    tournament = factories.planned()
    assert client.get(f"/tournaments/{tournament.pk}/campaign/").status_code == 404


def test_without_the_fast_store_the_page_is_complete(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise AwayError

    campaign = start_undecided()
    monkeypatch.setattr(cache, "get", away)
    assert "Most likely so far" in read_campaign_page(client, campaign)


def test_lists_show_what_runs_before_what_has_ended(client: Client) -> None:
    decided = ended(campaign_of(name="first"))
    others = tuple(f"level:{level}" for level in (6, 41, 61, 96))
    running = campaign_of(name="second", agents=others)
    test = campaign_of("sprt", agents=("level:6", "level:96"), name="third")
    page = get_words(client, "/")
    assert page.index("third") < page.index("second") < page.index("level:95 is the best")
    assert "0 of at most 400 matches played" in page
    board = get_words(client, f"/leaderboards/{decided.tournament.leaderboard.name}/")
    assert "level:95 is the best" in board
    assert "Is level:6 better" not in board
    go_on(running, 0, boards.by_strength())
    go_on(test, 10, boards.by_strength())
    page = get_words(client, "/")
    assert re.search(r"Most likely so far: level:\d+ \([\d.]+ %\); \d+ of at most 400", page)
    assert "results judged" in page


def test_names_of_a_list_are_found_without_reading_all_agents() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("reads the plan of SQLite")
    campaigns = [
        start_undecided(),
        Campaign(tournament_id=0, question="beats", parameters={"a": 1}),
    ]
    with CaptureQueriesContext(connection) as queries:
        campaign_verdicts.read_names(campaigns)
    (query,) = queries
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
        steps = [step for *_, step in cursor.fetchall()]
    assert not [step for step in steps if step.startswith("SCAN")], steps


def test_open_alarms_stand_on_the_board_and_on_the_page_of_the_agent(client: Client) -> None:
    campaign = ended(campaign_of())
    worse, better = campaign.tournament.agents.order_by("pk")[:2]
    alarm = Alarm.objects.create(
        **{"agent": worse, "ancestor": better, "campaign": campaign, "probability": 0.987},
        **{"margin": 1.0, "level": 0.95, "at": NOW},
    )
    pages = [f"/leaderboards/{campaign.tournament.leaderboard.name}/", f"/agents/{worse.pk}/"]
    for page in pages:
        text = get_words(client, page)
        assert f"{worse} is worse than {better} by more than 1 in rating with a probability" in text
        assert "98.7 %" in text
    assert "Regression" not in get_words(client, f"/agents/{better.pk}/")
    Alarm.objects.filter(pk=alarm.pk).update(acknowledged_at=NOW + timedelta(seconds=1))
    assert all("Regression" not in get_words(client, page) for page in pages)
