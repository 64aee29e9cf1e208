"""A sequential test in the browser: ratio, blocks and forecast move without a reload."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from matches.campaigns import judging
from matches.campaigns.starting import start_campaign
from matches.ledger import planning
from matches.models import Agent, Campaign, Match, Tournament
from matches.plans import CampaignPlan
from matches.ratings import rater
from matches.store.clock import db_now
from matches.tests import boards, factories
from tests import test_browser_gallery as every_page
from tests.browser import (
    chromium,
    free_port,
    look,
    run,
    texts,
    wait_for,
    wait_until,
    web_server,
    words,
)
from tests.test_browser_gallery import Site

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAIR = ("alphabeta:1", "alphabeta:2")


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
    run(site.chrome, "window.isTheSamePage = true")
    wait_for(site.chrome, "No block of two games is over yet.")
    _turn(test)
    for sentence in ("Likelihood of superiority", "It ends accepted", "Too early to draw."):
        wait_for(site.chrome, sentence)
    n_points = _n_judged(site)
    _turn(test)
    _turn(test)
    wait_until(site.chrome, lambda: _n_judged(site) > n_points)
    wait_for(site.chrome, "accepted at 2.94")
    assert "running" in words(site.chrome)
    assert len(texts(site.chrome, ".blocks td")) == 5
    assert run(site.chrome, "return window.isTheSamePage")
    problems = every_page._problems(site, {"campaign-test": page})
    assert not problems, "\n".join(problems)


def _test() -> Campaign:
    scheduled = factories.scheduled(12, agents=PAIR, game="connect_four", board="field")
    Tournament.objects.filter(pk=scheduled.pk).update(state=Tournament.State.CANCELLED)
    agents = list(Agent.objects.order_by("pk"))
    plan = CampaignPlan(
        name="is it better", question="sprt", max_matches=2_000, parameters={"elo0": 0, "elo1": 5}
    )
    return start_campaign(plan, leaderboard=scheduled.leaderboard, agents=agents)


def _turn(campaign: Campaign) -> None:
    """Plan, play what is open, rate and judge, as the parts do that run all the time."""
    now = db_now()
    planning.plan_scheduled(now=now)
    campaign.tournament.refresh_from_db()
    if Match.objects.filter(Match.is_open(), tournament=campaign.tournament).exists():
        boards.play_some(campaign.tournament, 10_000, boards.by_strength(forfeits=0), now=now)
    rater.rate(campaign.tournament.leaderboard_id, now=db_now())
    judging.judge_campaign(Campaign.objects.get(pk=campaign.pk), now=db_now())


def _n_judged(site: Site) -> int:
    return len(texts(site.chrome, "circle.judged"))
