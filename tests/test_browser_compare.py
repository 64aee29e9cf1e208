"""The list of matches and the comparisons in a real browser, in every size and light."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from matches.models import Agent, Campaign, Match
from matches.tests import boards
from pages.tests.test_strength_plots import trained
from tests import axe
from tests.browser import (
    TWO_LOOKS,
    chromium,
    complaints,
    free_port,
    keep_picture,
    look,
    run,
    scripts,
    texts,
    wait_for,
    web_server,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

EVERY_LOOK = ((390, "light"), (360, "dark"), (1440, "light"), (1440, "dark"))
WIDER = """
const scrolling = ".table-sheet, .scrolls, .visually-hidden, pre, svg";
return [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(scrolling))
    .map((e) => e.outerHTML.slice(0, 80))"""


class Site(NamedTuple):
    """A browser, the address of the site, and the pages to look at."""

    chrome: webdriver.Chrome
    address: str
    pages: dict[str, str]


@pytest.fixture
def site(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[Site]:
    """Run a browser and a site with a played tournament; leave it before the site ends."""
    board = boards.played_board().leaderboard
    for run_name, steps in (("selfplay", (0, 500, 1_000, 2_000)), ("distilled", (0, 800, 1_600))):
        trained(board, steps, run=run_name)
    Match.objects.filter(pk=Match.objects.latest("pk").pk).update(
        state="void", void_reason="expired"
    )
    best, other = (Agent.objects.get(name=name) for name in ("mcts:100", "alphabeta:2"))
    names = ("mcts:100", "alphabeta:4", "random", "selfplay@1000", "distilled@800")
    Campaign.objects.create(
        tournament=board.tournaments.earliest("pk"),
        question="best",
        max_matches=420,
        chances=[0.1] * 6 + [0.4],
    )
    chosen = ",".join(str(Agent.objects.get(name=name).pk) for name in names)
    pages = {
        "matches": "/matches/",
        "matches-filtered": f"/matches/?agent={best.pk}&result=forfeit&node=node-1",
        "matches-none": "/matches/?game=chess",
        "matches-refused": "/matches/?agent=nobody",
        "agents": "/agents/",
        "agents-filtered": f"/agents/?q=a&state=playing&leaderboard={board.name}",
        "tournaments": "/tournaments/",
        "campaigns": "/campaigns/",
        "search": "/search/?q=a",
        "search-nothing": "/search/?q=zzz",
        "files": f"/leaderboards/{board.name}/?files=",
        "pair": f"/compare/{best.pk}/{other.pk}/",
        "compare": f"/compare/?agents={chosen}",
        "compare-empty": "/compare/",
    }
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        yield Site(chrome, address, pages)
        chrome.get("about:blank")


@pytest.mark.parametrize("looks", [TWO_LOOKS, pytest.param(EVERY_LOOK, marks=pytest.mark.long)])
def test_lists_and_comparisons_are_sound_in_every_size_and_light(
    site: Site, looks: tuple[tuple[int, str], ...]
) -> None:
    problems = []
    for (width, scheme), (name, path) in product(looks, site.pages.items()):
        look(site.chrome, width=width, scheme=scheme)
        site.chrome.get(site.address + path)
        keep_picture(site.chrome, f"{name}-{width}-{scheme}", is_whole=True)
        page_problems = [str(one) for one in axe.violations(site.chrome)]
        page_problems += [f"{part} is wider than the page" for part in run(site.chrome, WIDER)]
        page_problems += [
            line for line in complaints(site.chrome) if "400 (Bad Request)" not in line
        ]
        problems += [f"{name} {width} {scheme}: {one}" for one in page_problems]
    assert not problems, "\n".join(problems)


def test_the_games_of_a_pair_are_three_clicks_from_the_home_page(site: Site) -> None:
    look(site.chrome, width=1440)
    site.chrome.get(site.address)
    run(site.chrome, "document.querySelector('main a[href^=\"/leaderboards/\"]').click()")
    wait_for(site.chrome, "Who beats whom")
    cell = site.chrome.find_element(By.CSS_SELECTOR, ".matrix td a")
    run(site.chrome, "arguments[0].click()", cell)
    wait_for(site.chrome, "Which is better?")
    assert len(texts(site.chrome, "#games tbody th a")) == 20
    run(site.chrome, "document.querySelector('#games tbody th a').click()")
    wait_for(site.chrome, "Attempts that have ended")


def test_a_filter_is_used_without_scripts(site: Site) -> None:
    look(site.chrome, width=1440)
    with scripts(site.chrome, is_on=False):
        site.chrome.get(site.address + "/matches/")
        type_into(site.chrome, "agent", "mcts:100")
        type_into(site.chrome, "result", "lost")
        type_into(site.chrome, "agent", Keys.ENTER)
        wait_for(site.chrome, "Show all")
        seat_texts = texts(site.chrome, "#matches .seat")
    assert any("mcts:100 lost" in text for text in seat_texts)
    assert not any("mcts:100 won" in text for text in seat_texts)


def type_into(chrome: webdriver.Chrome, name: str, text: str) -> None:
    """Type as a reader does: the driver takes for hidden what a style unfolds."""
    run(chrome, "document.getElementsByName(arguments[0])[0].focus()", name)
    ActionChains(chrome).send_keys(text).perform()


def test_the_search_is_reached_by_a_key_and_works_without_scripts(site: Site) -> None:
    look(site.chrome, width=1440)
    site.chrome.get(site.address + "/agents/")
    page = site.chrome.find_element(By.TAG_NAME, "body")
    page.send_keys("/")
    box = site.chrome.switch_to.active_element
    assert box.get_attribute("type") == "search"
    # Within a text the key writes itself.
    box.send_keys("mcts/", Keys.BACKSPACE, Keys.ENTER)
    wait_for(site.chrome, "found for mcts")
    with scripts(site.chrome, is_on=False):
        look(site.chrome, width=360)
        site.chrome.get(site.address + "/system/")
        site.chrome.find_element(By.CSS_SELECTOR, ".menu summary").click()
        site.chrome.find_element(By.CSS_SELECTOR, ".menu a[href='/tournaments/']").click()
        wait_for(site.chrome, "Filter")
        site.chrome.find_element(By.CSS_SELECTOR, ".search input").send_keys("mcts", Keys.ENTER)
        wait_for(site.chrome, "found for mcts")
        assert texts(site.chrome, ".hits h2") == ["Agents"]
