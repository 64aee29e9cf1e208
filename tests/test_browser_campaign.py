"""A campaign on a real field in the browser: from its start in the admin to its verdict."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from redis import Redis
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from arena.messages import MatchOrderRow, ResultRow
from matches.campaigns import judging
from matches.campaigns.starting import start_campaign
from matches.ledger import planning
from matches.models import Agent, Alarm, Campaign, Leaderboard, Match, Tournament
from matches.plans import CampaignPlan
from matches.ratings import rater
from matches.store.clock import db_now
from matches.tests import boards, factories
from tests import test_browser_gallery as every_page
from tests.browser import (
    TWO_LOOKS,
    chromium,
    free_port,
    keep_picture,
    look,
    run,
    scripts,
    wait_for,
    wait_until,
    web_server,
    words,
)
from tests.test_browser_gallery import Site

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NAME, PASSWORD = "operator", "a long pass phrase"
TURNS = 60
FIELD = ("random", "greedy", "alphabeta:1", "alphabeta:2", "mcts:100")
FULLY_LOOKED_AT = ("campaign-decided",)
OVER = "return !!document.querySelector('[data-follows][data-state=ended] ~ [data-rest=over]')"
CYCLE = ("alphabeta:1", "alphabeta:2", "alphabeta:4")


@pytest.fixture
def site(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[Site]:
    """Run a browser and a site without content; leave it before the site ends."""
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        look(chrome, width=1440)
        yield Site(chrome, address)
        chrome.get("about:blank")


def test_a_campaign_is_started_watched_and_decided_without_a_reload(site: Site) -> None:
    board = _rated_board()
    User.objects.create_superuser(NAME, password=PASSWORD)
    log_in(site)
    start_in_the_admin(site, board.pk, Agent.objects.values_list("pk", flat=True), 2_000)
    campaign = Campaign.objects.get()
    site.chrome.get(f"{site.address}/tournaments/{campaign.tournament_id}/")
    run(site.chrome, "window.isTheSamePage = true")
    assert "No result was judged yet." in words(site.chrome)
    _turn(campaign)
    wait_for(site.chrome, "Matches to the verdict")
    assert "100 more matches" in words(site.chrome)
    assert "Most likely so far" in words(site.chrome)
    keep_picture(site.chrome, "campaign-runs-1440-light", is_whole=True)
    _to_the_verdict(campaign)
    wait_for(site.chrome, "mcts:100 is the best")
    page_text = words(site.chrome)
    assert "Decided: it is as sure as was asked for." in page_text
    assert "a round robin would have needed" in page_text
    assert f"{campaign.n_played} of 2,000 spent" in page_text
    assert "Stop this campaign" not in page_text
    _expect_all_is_of_now(site)
    with scripts(site.chrome, is_on=False):
        site.chrome.refresh()
        assert "mcts:100 is the best" in words(site.chrome)
        assert site.chrome.find_element(By.CSS_SELECTOR, "polyline.way").get_attribute("points")


def _expect_all_is_of_now(site: Site) -> None:
    wait_until(site.chrome, lambda: run(site.chrome, OVER))
    page_text = words(site.chrome)
    assert "not yet" not in page_text
    assert "No match is planned yet." not in page_text
    assert run(site.chrome, "return window.isTheSamePage") is True


def test_an_operator_stops_a_campaign_from_its_page(site: Site) -> None:
    campaign = _campaign(_rated_board(), error=1e-6)
    _turn(campaign)
    User.objects.create_superuser(NAME, password=PASSWORD)
    log_in(site)
    site.chrome.get(f"{site.address}/tournaments/{campaign.tournament_id}/")
    site.chrome.find_element(By.LINK_TEXT, "Stop this campaign").click()
    wait_for(site.chrome, "Stop campaigns?")
    site.chrome.find_element(By.NAME, "reason").send_keys("It is known well enough.")
    site.chrome.find_element(By.NAME, "confirmed").click()
    wait_for(site.chrome, "is stopped")
    site.chrome.get(f"{site.address}/tournaments/{campaign.tournament_id}/")
    wait_for(site.chrome, "Stopped before it was decided.")
    campaign.refresh_from_db()
    assert campaign.why == "cancelled"
    assert campaign.tournament.state == Tournament.State.CANCELLED


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_every_page_about_campaigns_is_sound_in_every_size_and_light(
    site: Site, is_whole: bool
) -> None:
    pages = _pages()
    fully = tuple(pages) if is_whole else FULLY_LOOKED_AT
    problems = every_page._problems(site, {name: pages.pop(name) for name in fully})
    problems += every_page._problems(site, pages, looks=TWO_LOOKS)
    assert not problems, "\n".join(problems)


def _pages() -> dict[str, str]:
    board = _rated_board()
    decided = _to_the_verdict(_campaign(board))
    again = _campaign(board, "rank_all", name="again", error=1e-9)
    _turn(again)
    test = _campaign(board, "sprt", n_agents=2, name="test", parameters={"elo0": 0, "elo1": 20})
    for _ in range(3):
        _turn(test)
    assert again.n_known == decided.n_played
    knockout = _played("knockout", "cup", FIELD)
    swiss = _played("swiss", "league", FIELD)
    circle = _played("double_round_robin", "circle", CYCLE, n_matches=240, play=_in_a_circle)
    agents = list(Agent.objects.filter(name__in=CYCLE))
    plan = CampaignPlan(name="in a circle", question="rank_all", max_matches=400)
    no_order = start_campaign(plan, leaderboard=circle.leaderboard, agents=agents)
    assert _to_the_verdict(no_order, play=_in_a_circle).why == "no_order"
    _raise_alarm(decided)
    return {
        "campaign-decided": f"/tournaments/{decided.tournament_id}/",
        "campaign-open": f"/tournaments/{again.tournament_id}/",
        "campaign-without-order": f"/tournaments/{no_order.tournament_id}/",
        "campaign-sprt": f"/tournaments/{test.tournament_id}/",
        "bracket": f"/tournaments/{knockout.pk}/",
        "swiss": f"/tournaments/{swiss.pk}/",
        "board-of-a-circle": f"/leaderboards/{circle.leaderboard.name}/",
        "board-of-campaigns": f"/leaderboards/{board.name}/",
        "boards-with-campaigns": "/leaderboards/",
    }


def _rated_board() -> Leaderboard:
    """Return a board with the field on it and no result."""
    scheduled = factories.scheduled(12, agents=FIELD, game="connect_four", board="field")
    Tournament.objects.filter(pk=scheduled.pk).update(state=Tournament.State.CANCELLED)
    return scheduled.leaderboard


def _campaign(
    board: Leaderboard, question: str = "best", *, n_agents: int = len(FIELD), **plan: Any
) -> Campaign:
    agents = list(Agent.objects.order_by("-pk")[:n_agents])
    campaign_plan = CampaignPlan(
        name=plan.pop("name", "which is best"), question=question, max_matches=2_000, **plan
    )
    return start_campaign(campaign_plan, leaderboard=board, agents=agents)


def _turn(campaign: Campaign, *, play: boards.Play | None = None) -> None:
    """Plan, play what is open, rate and judge, as the parts do that run all the time."""
    play = play or boards.by_strength(forfeits=0)
    now = db_now()
    planning.plan_scheduled(now=now)
    campaign.tournament.refresh_from_db()
    if Match.objects.filter(Match.is_open(), tournament=campaign.tournament).exists():
        boards.play_some(campaign.tournament, 10_000, play, now=now)
    rater.rate(campaign.tournament.leaderboard_id, now=db_now())
    judging.judge_campaign(Campaign.objects.get(pk=campaign.pk), now=db_now())
    campaign.refresh_from_db()


def _to_the_verdict(campaign: Campaign, *, play: boards.Play | None = None) -> Campaign:
    for _ in range(TURNS):
        _turn(campaign, play=play)
        if campaign.decided_at is not None:
            return campaign
    raise AssertionError(f"never decided: {campaign.n_judged} judged")


def _played(
    pairing: str,
    board: str,
    agents: tuple[str, ...],
    *,
    n_matches: int = 400,
    play: boards.Play | None = None,
) -> Tournament:
    """Return a tournament that was played to its end."""
    options = {"agents": agents, "game": "connect_four", "board": board, "pairing": pairing}
    tournament = factories.scheduled(n_matches, **options)  # type: ignore[arg-type]
    for _ in range(TURNS):
        planning.plan_scheduled(now=db_now())
        tournament.refresh_from_db()
        if not Match.objects.filter(Match.is_open(), tournament=tournament).exists():
            break
        boards.play_some(tournament, 10_000, play or boards.by_strength(forfeits=0), now=db_now())
        rater.rate(tournament.leaderboard_id, now=db_now())
    return tournament


def _in_a_circle(row: MatchOrderRow) -> ResultRow:
    """Return the result in which each agent beats the next one, the last the first."""
    names = {agent.pk: agent.name for agent in Agent.objects.filter(name__in=CYCLE)}
    first, second = (CYCLE.index(names[pk]) for pk in Match.objects.get(pk=row.match).agent_ids)
    return factories.result(row, ranks=[0, 1] if (second - first) % 3 == 1 else [1, 0])


def _raise_alarm(campaign: Campaign) -> None:
    agents = list(campaign.tournament.agents.order_by("pk"))
    Alarm.objects.create(
        agent=agents[0],
        ancestor=agents[-1],
        campaign=campaign,
        probability=0.987,
        margin=1.0,
        level=0.95,
        at=db_now(),
    )


def start_in_the_admin(
    site: Site, board: int, agents: Iterable[int], n_matches: int, *, error: str = "0.05"
) -> None:
    """Fill in the form, look at the forecast, start it."""
    site.chrome.get(f"{site.address}/admin/matches/campaign/add/")
    _choose(site, "leaderboard", str(board))
    _choose(site, "question", "best")
    for agent in agents:
        box = site.chrome.find_element(By.CSS_SELECTOR, f"[name=agents][value='{agent}']")
        run(site.chrome, "arguments[0].checked = true", box)
    for name, value in (
        ("name", "which is best"),
        ("max_matches", str(n_matches)),
        ("error", error),
    ):
        field = site.chrome.find_element(By.NAME, name)
        field.clear()
        field.send_keys(value)
    site.chrome.find_element(By.NAME, "_save").click()
    wait_for(site.chrome, "Nothing is started yet: this is what it will take")
    assert "Matches to the verdict" in words(site.chrome)
    keep_picture(site.chrome, "admin-campaign-forecast-1440-light", is_whole=True)
    site.chrome.find_element(By.NAME, "_save").click()
    wait_for(site.chrome, "successfully")


def _choose(site: Site, name: str, value: str) -> None:
    field = site.chrome.find_element(By.NAME, name)
    option: WebElement = field.find_element(By.CSS_SELECTOR, f"option[value='{value}']")
    run(site.chrome, "arguments[0].selected = true", option)


def log_in(site: Site) -> None:
    site.chrome.get(f"{site.address}/admin/")
    site.chrome.find_element(By.NAME, "username").send_keys(NAME)
    site.chrome.find_element(By.NAME, "password").send_keys(PASSWORD, Keys.ENTER)
    wait_for(site.chrome, "State of the system")
