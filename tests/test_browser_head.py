"""The dashboard of the evaluation head in a real browser: live, readable in every size."""

from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from gameservers.head.tests.running import Running, running_head
from gameservers.head.tests.showing import shown_head
from tests import axe
from tests.browser import (
    chromium,
    complaints,
    keep_picture,
    look,
    measure_width,
    requested,
    texts,
    wait_for,
    wait_until,
)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Run one browser for all tests of this file."""
    with chromium(tmp_path_factory.mktemp("profile")) as chrome:
        yield chrome


@pytest.fixture(scope="module")
def head() -> Iterator[Running]:
    """Run a head that knows servers in every state."""
    with shown_head() as running:
        yield running


@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_dashboard_is_readable(
    head: Running, browser: webdriver.Chrome, width: int, scheme: str
) -> None:
    look(browser, width=width, scheme=scheme)
    complaints(browser)
    requested(browser)
    browser.get(f"{head.http}/dashboard")
    wait_for(browser, "live")
    wait_for(browser, "18,204 ended")
    wait_for(browser, "outside EVALSITE_SERVER_NETWORKS")
    assert measure_width(browser, limit=width) <= width
    assert [one for one in axe.violations(browser) if one.is_grave] == []
    assert complaints(browser) == []
    assert {url.split("/")[2] for url in requested(browser)} == {f"127.0.0.1:{head.port}"}
    keep_picture(browser, f"head-{width}-{scheme}", is_whole=True)


def test_servers_come_and_go_without_a_reload(head: Running, browser: webdriver.Chrome) -> None:
    look(browser, width=1440)
    browser.get(f"{head.http}/dashboard")
    wait_for(browser, "live")
    with head.dial_in("guest"):
        wait_until(browser, lambda: "guest" in texts(browser, "tr.healthy th"))
    wait_until(browser, lambda: "guest" in texts(browser, "tr.gone th"))
    wait_for(browser, "its line to the head broke")


def test_the_keyboard_reaches_the_button_that_discovers(
    head: Running, browser: webdriver.Chrome
) -> None:
    look(browser, width=1440)
    browser.get(f"{head.http}/dashboard")
    wait_for(browser, "live")
    body = browser.find_element(By.TAG_NAME, "body")
    for _ in range(2):
        body.send_keys(Keys.TAB)
    focused = browser.switch_to.active_element
    assert focused.text == "Look for servers now"
    focused.send_keys(Keys.ENTER)
    wait_until(browser, lambda: "are healthy" in texts(browser, "#discovered")[0])


def test_a_head_that_is_gone_is_said_and_its_return_noticed(browser: webdriver.Chrome) -> None:
    look(browser, width=1440)
    with running_head() as first:
        browser.get(f"{first.http}/dashboard")
        wait_for(browser, "No server is known")
    wait_for(browser, "the head does not answer")
    with running_head(port=first.port):
        wait_until(browser, lambda: texts(browser, "#live") == ["live"])
