"""Strength against training step in a real browser: it moves, and is readable in every size."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from live.tests.test_plots import GEOMETRIC, trained
from matches.clock import db_now
from matches.models import Leaderboard, Rating
from matches.services import broadcast
from matches.tests import boards
from tests.browser import chromium, free_port, look, web_server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PARTS = """document.querySelectorAll(".drawing :is(line, circle, text, span, .tick, title)")"""
WORDS = f"return [...{PARTS}].map((part) => [part.textContent.trim(), part.matches('[hidden]')])"
PLACES = f"""return [...{PARTS}].flatMap((part) =>
    [part.style.getPropertyValue("--at"), ...["y1", "y2", "cy"].map((y) => part.getAttribute(y))]
        .map((pixels) => parseFloat(pixels || 0)))"""
LISTED = "return document.querySelector('.strength tbody').textContent.replace(/\\s+/g, ' ')"


@pytest.fixture
def browser(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """Run a browser on the page of a board with a training run; leave it before the site ends."""
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        look(chrome, width=1440)
        trained(boards.played_board().leaderboard, GEOMETRIC)
        chrome.get(f"{address}/#strength")
        yield chrome
        chrome.get("about:blank")


def test_a_push_draws_what_a_reload_would_draw(browser: webdriver.Chrome) -> None:
    _wait(browser, lambda: browser.find_element(By.CSS_SELECTOR, ".words").text == "live")
    before, was_listed = _run(browser, PLACES), _run(browser, LISTED)
    for place, rating in enumerate(Rating.objects.order_by("agent_id")):
        Rating.objects.filter(pk=rating.pk).update(mu=40 - 2 * place, sd=1, n_matches=77)
    later = db_now() + broadcast.MIN_INTERVAL
    broadcast.push([Leaderboard.objects.get().pk], now=later)
    _wait(browser, lambda: _run(browser, LISTED) != was_listed)
    words, places, listed = (_run(browser, script) for script in (WORDS, PLACES, LISTED))
    assert places != before
    browser.refresh()
    # Lines to compare with stand in the order of the ranks at the time the page was made.
    assert sorted(_run(browser, WORDS)) == sorted(words)
    assert sorted(_run(browser, PLACES)) == pytest.approx(sorted(places), abs=0.1)
    assert _run(browser, LISTED) == listed


def _wait(browser: webdriver.Chrome, condition: Any) -> None:
    WebDriverWait(browser, 5, poll_frequency=0.05).until(lambda _: condition())


def _run(browser: webdriver.Chrome, script: str) -> Any:
    return cast(Any, browser).execute_script(script)
