"""A sequential test in the browser: ratio, blocks and forecast move without a reload."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from selenium.webdriver.support.ui import WebDriverWait

from matches.clock import db_now
from matches.models import Agent, Campaign, Match, Tournament
from matches.services import planning, rater
from matches.services.campaigns import judging
from matches.services.campaigns.starting import CampaignPlan, start
from matches.tests import boards, factories
from tests import test_browser_gallery as every_page
from tests.browser import chromium, free_port, look, web_server
from tests.test_browser_gallery import Site

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAIR = ("alphabeta:1", "alphabeta:2")
WITHIN_S = 15


@pytest.fixture
def site(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[Site]:
    """Run a browser and a site without content; leave it before the site ends."""
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        look(chrome, width=1440)
        yield Site(chrome, address)
        chrome.get("about:blank")


def test_a_test_is_watched_without_a_reload_and_sound_in_every_size_and_light(site: Site) -> None:
    test = _test()
    page = f"/tournaments/{test.tournament_id}/"
    site.chrome.get(f"{site.address}{page}")
    site.chrome.execute_script("window.isTheSamePage = true")  # type: ignore[no-untyped-call]
    assert "No block of two games is over yet." in _words(site)
    _turn(test)
    for said in ("Likelihood of superiority", "It ends accepted", "accepted at 2.94"):
        _wait_for(site, said)
    n_points = _count(site, "circle.judged")
    _turn(test)
    _turn(test)
    WebDriverWait(site.chrome, WITHIN_S).until(lambda _: _count(site, "circle.judged") > n_points)
    assert "running" in _words(site)
    assert _count(site, ".blocks td") == 5
    assert site.chrome.execute_script("return window.isTheSamePage")  # type: ignore[no-untyped-call]
    problems = every_page._problems(site, {"campaign-test": page})
    assert not problems, "\n".join(problems)


def _test() -> Campaign:
    scheduled = factories.scheduled(12, agents=PAIR, game="connect_four", board="field")
    Tournament.objects.filter(pk=scheduled.pk).update(state=Tournament.State.CANCELLED)
    agents = list(Agent.objects.order_by("pk"))
    plan = CampaignPlan("is it better", "sprt", 2_000, parameters={"elo0": 0, "elo1": 5})
    return start(plan, leaderboard=scheduled.leaderboard, agents=agents)


def _turn(campaign: Campaign) -> None:
    """Plan, play what is open, rate and judge, as the parts do that run all the time."""
    now = db_now()
    planning.plan_scheduled(now=now)
    campaign.tournament.refresh_from_db()
    if Match.objects.filter(Match.is_open(), tournament=campaign.tournament).exists():
        boards.play_some(campaign.tournament, 10_000, boards.by_strength(forfeits=0), now=now)
    rater.rate(campaign.tournament.leaderboard_id, now=db_now())
    judging.judge(Campaign.objects.get(pk=campaign.pk), now=db_now())


def _words(site: Site) -> str:
    script = "return document.body?.innerText ?? ''"
    return str(site.chrome.execute_script(script))  # type: ignore[no-untyped-call]


def _wait_for(site: Site, wanted: str) -> None:
    WebDriverWait(site.chrome, WITHIN_S).until(lambda _: wanted in _words(site), wanted)


def _count(site: Site, selector: str) -> int:
    script = "return document.querySelectorAll(arguments[0]).length"
    return int(site.chrome.execute_script(script, selector))  # type: ignore[no-untyped-call]
