"""The page of a suite in a real browser: by keyboard, on a phone, in both lights."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from matches.models import Agent
from tests import axe, gallery
from tests.browser import (
    chromium,
    free_port,
    keep_picture,
    look,
    measure_width,
    run,
    scripts,
    texts,
    wait_until,
    web_server,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE, TABLE = "/suites/llmserve/", "#llmserve_bursty_workload-table"
LOOKS = ((360, "dark"), (900, "light"), (1440, "dark"))
OUTSIDE = """
const axis = document.querySelector(arguments[0]);
return [...axis.querySelectorAll(".interval-of-agent")].filter((drawn) => {
    const box = drawn.getBoundingClientRect();
    return [...drawn.children].some((part) => { const e = part.getBoundingClientRect();
        return e.left < box.left - 8 || e.right > box.right + 8; }); }).length"""


class Site(NamedTuple):
    """A browser and the address of the page."""

    chrome: webdriver.Chrome
    address: str


@pytest.fixture
def site(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[Site]:
    """Run a browser and a site with two tasks played; leave it before the site ends."""
    gallery.pages_of_a_suite()
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        yield Site(chrome, address + PAGE)
        chrome.get("about:blank")


def test_whose_lead_is_shown_is_chosen_by_keyboard(site: Site) -> None:
    chrome = site.chrome
    look(chrome, width=1440)
    chrome.get(site.address)
    run(chrome, "document.querySelector('.skip').focus()")
    for _ in range(40):
        ActionChains(chrome).send_keys(Keys.TAB).perform()
        if chrome.switch_to.active_element.tag_name == "select":
            break
    field = chrome.switch_to.active_element
    assert field.accessible_name == "Lead of, in LLMServe, bursty workload"
    before = texts(chrome, f"{TABLE} .chosen th a")
    field.send_keys("random", Keys.TAB, Keys.TAB, Keys.ENTER)
    wait_until(chrome, lambda: "agent=" in chrome.current_url, message="it is asked for")
    assert texts(chrome, f"{TABLE} .chosen th a") == ["random"] != before


def test_the_tables_are_reached_and_read_on_every_screen_and_in_every_light(site: Site) -> None:
    chrome = site.chrome
    queries = ("", f"?agent={Agent.objects.filter(name='random').latest('pk').pk}", "?agent=nobody")
    for (width, scheme), query in product(LOOKS, queries):
        look(chrome, width=width, scheme=scheme)
        chrome.get(site.address + query)
        keep_picture(chrome, f"suite-{width}-{scheme}", is_whole=True)
        assert measure_width(chrome, limit=width) <= width, (width, query)
        if query == "" or width == LOOKS[0][0]:  # one agent's table is built as another's
            assert [str(one) for one in axe.violations(chrome)] == [], (width, query)
        if query == "?agent=nobody":
            assert texts(chrome, "[role=alert]") == [
                "This cannot be shown: no agent of LLMServe is called 'nobody'."
            ]
            continue
        assert len(texts(chrome, f"{TABLE} tbody th a")) == 4
        assert run(chrome, "return document.querySelectorAll('.interval-of-agent').length") == 6
        assert run(chrome, OUTSIDE, TABLE) == 0
        # The answer stands in the last column.
        cut = f"const e = document.querySelector('{TABLE}').parentElement; "
        assert run(chrome, f"{cut} return e.scrollWidth - e.clientWidth") == 0, width


def test_the_choice_needs_no_scripts(site: Site) -> None:
    chrome = site.chrome
    look(chrome, width=1440)
    with scripts(chrome, is_on=False):
        chrome.get(site.address)
        agent = Agent.objects.filter(name="random").latest("pk")
        chrome.get(f"{site.address}?agent={agent.pk}")
        assert agent.name in texts(chrome, ".chosen th a")
        assert len(texts(chrome, f"{TABLE} tbody th a")) == 4
