"""Strength against training step in a real browser: it moves, and is readable in every size."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from selenium import webdriver

from matches.board import broadcast
from matches.models import Leaderboard, Rating
from matches.store.clock import db_now
from matches.tests import boards
from pages.tests.test_strength_plots import GEOMETRIC, trained
from tests.browser import chromium, free_port, look, run, texts, wait_until, web_server

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
        chrome.get(f"{address}/leaderboards/connect-four/#strength")
        yield chrome
        chrome.get("about:blank")


def test_a_push_draws_what_a_reload_would_draw(browser: webdriver.Chrome) -> None:
    wait_until(browser, lambda: "live" in texts(browser, ".connection .words"))
    before, was_listed = run(browser, PLACES), run(browser, LISTED)
    for place, rating in enumerate(Rating.objects.order_by("agent_id")):
        Rating.objects.filter(pk=rating.pk).update(
            mu=40 - 2 * place, sd=1, low=38 - 2 * place, high=43 - 2 * place, n_matches=77
        )
    later = db_now() + broadcast.MIN_INTERVAL
    broadcast.push([Leaderboard.objects.get().pk], now=later)
    wait_until(browser, lambda: run(browser, LISTED) != was_listed)
    words, places, listed = (run(browser, script) for script in (WORDS, PLACES, LISTED))
    assert places != before
    browser.refresh()
    wait_until(browser, lambda: run(browser, LISTED) == listed)
    # Lines to compare with stand in the order of the ranks at the time the page was made.
    assert sorted(run(browser, WORDS)) == sorted(words)
    assert sorted(run(browser, PLACES)) == pytest.approx(sorted(places), abs=0.1)
