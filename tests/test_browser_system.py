"""The page of the system in a real browser: it moves by itself, and is readable in every size."""

from collections.abc import Iterator

import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.by import By

from matches.operations.system import pushing
from matches.store.clock import db_now
from matches.tests import factories
from tests import axe
from tests.browser import chromium, free_port, look, texts, wait_for, wait_until, web_server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Run one browser for all tests of this file."""
    with chromium(tmp_path_factory.mktemp("profile")) as chrome:
        yield chrome


@pytest.fixture
def site(transactional_db: None, broker: Redis, browser: webdriver.Chrome) -> Iterator[str]:
    """Run the web server; give its address. The browser leaves it before it ends."""
    with web_server(free_port()) as address:
        yield address
        browser.get("about:blank")


def _wait_for(browser: webdriver.Chrome, selector: str, text: str) -> None:
    wait_until(browser, lambda: any(text in part for part in texts(browser, selector)))


def test_what_changes_is_shown_without_a_reload(
    site: str, broker: Redis, browser: webdriver.Chrome
) -> None:
    look(browser, width=1440)
    factories.alive(now=db_now())
    pushing.push_sample(now=db_now())
    browser.get(f"{site}/system/")
    _wait_for(browser, ".connection .words", "page is live")
    assert texts(browser, "[data-table=nodes] tbody th") == ["node-1"]
    factories.alive(node="node-2", now=db_now())
    pushing.push_sample(now=db_now() + pushing.MIN_INTERVAL)
    _wait_for(browser, "[data-table=nodes] tbody th", "node-2")
    assert texts(browser, "[data-fact=nodes]") == ["2"]
    browser.find_element(By.LINK_TEXT, "node-2").click()
    wait_until(browser, lambda: texts(browser, "h1") == ["node-2"])
    wait_for(browser, "Alive and idle")


def test_the_banner_comes_and_goes_without_a_reload(
    site: str, broker: Redis, browser: webdriver.Chrome
) -> None:
    look(browser, width=360)
    now = db_now()
    pushing.push_sample(now=now - 2 * pushing.MIN_INTERVAL)
    browser.get(f"{site}/system/")
    _wait_for(browser, ".standstill", "Nothing can play: no play node is alive")
    for scheme in ("light", "dark"):
        look(browser, width=360, scheme=scheme)
        assert [one for one in axe.violations(browser) if one.is_grave] == []
    _wait_for(browser, ".connection .words", "page is live")
    factories.alive(now=now)
    pushing.push_sample(now=now)
    wait_until(
        browser, lambda: not browser.find_element(By.CLASS_NAME, "standstill").is_displayed()
    )
