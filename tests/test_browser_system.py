"""The page of the system in a real browser: it moves by itself, and is readable in every size."""

from collections.abc import Iterator

import msgspec
import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from arena.messages import Serving, serving_key
from matches.clock import db_now
from matches.leases import PLAYING_LEASE
from matches.models import Attempt, Match, RecorderMark, Worker
from matches.services.system import pushing
from matches.services.tallies import Kind, Tally
from matches.tests import factories
from tests.browser import chromium, free_port, keep_picture, look, web_server

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


def _busy(broker: Redis) -> None:
    """Arrange a system with something of everything."""
    now = db_now()
    tournament = factories.planned(60)
    for number in range(1, 4):
        factories.alive(node=f"node-{number}", capabilities=["cpu", "torch"], now=now)
    factories.alive(node="spot-1", capabilities=["cpu", "spot"], slots=16, now=now)
    factories.alive(node="gpu-1", capabilities=["gpu"], slots=1, now=now)
    factories.alive(node="spot-2", capabilities=["cpu", "spot"], now=now - 4 * PLAYING_LEASE)
    factories.start(factories.ordered(tournament, 8, now=now), now=now)
    factories.ordered(tournament, 8, now=now)
    RecorderMark.objects.create(pk=1, marked_at=now)
    _fail(tournament.pk)
    serving = Serving("gpu-1", [0], 5, 3, 812.0, 40.0, 6_496.0, 6.1, 22.4, 0)
    broker.set(serving_key("gpu-1"), msgspec.json.encode(serving))


def _fail(tournament: int) -> None:
    kinds = [("failed", "error"), ("interrupted", "node_lost"), ("interrupted", "gpu_lost")]
    matches = Match.objects.filter(tournament=tournament).order_by("-pk")[:9]
    Attempt.objects.bulk_create(
        Attempt(match=m, number=1, ending=e, reason=r, node="node-1", ended_at=db_now())
        for m, (e, r) in zip(matches, kinds * 3, strict=True)
    )


def _history(tally: Tally, n_seconds: int) -> None:
    """Let control have looked for a while, as matches were recorded."""
    start = db_now() - n_seconds * pushing.MIN_INTERVAL
    for second in range(n_seconds):
        now = start + second * pushing.MIN_INTERVAL
        tally.note([Kind("done", "")] * (60 + (second * 37) % 50))
        tally.flush(now=now)
        pushing.push(now=now)


def _texts(browser: webdriver.Chrome, selector: str) -> list[str]:
    return [found.text for found in browser.find_elements(By.CSS_SELECTOR, selector)]


def _wait_for(browser: webdriver.Chrome, selector: str, text: str) -> None:
    WebDriverWait(browser, 5, poll_frequency=0.05).until(
        lambda _: any(text in found for found in _texts(browser, selector))
    )


def test_what_changes_is_shown_without_a_reload(
    site: str, broker: Redis, browser: webdriver.Chrome
) -> None:
    look(browser, width=1440)
    factories.alive(now=db_now())
    pushing.push(now=db_now())
    browser.get(f"{site}/system/")
    _wait_for(browser, ".connection .words", "live")
    assert _texts(browser, "[data-table=nodes] tbody th") == ["node-1"]
    factories.alive(node="node-2", now=db_now())
    pushing.push(now=db_now() + pushing.MIN_INTERVAL)
    _wait_for(browser, "[data-table=nodes] tbody th", "node-2")
    assert _texts(browser, "[data-fact=nodes]") == ["2"]
    browser.find_element(By.LINK_TEXT, "node-2").click()
    assert browser.find_element(By.TAG_NAME, "h1").text == "node-2"
    assert "Alive and idle" in browser.find_element(By.CSS_SELECTOR, ".explanation").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_it_fits_every_size_and_light(
    site: str, broker: Redis, browser: webdriver.Chrome, width: int, scheme: str
) -> None:
    _busy(broker)
    _history(Tally(), 40)
    for name, path in (
        ("system", "/system/"),
        ("health", "/health/"),
        ("node", f"/system/nodes/{Worker.objects.get(node='node-1').pk}/"),
    ):
        browser.get(f"{site}{path}")
        look(browser, width=width, height=1_600 if name == "system" else 900, scheme=scheme)
        if name == "system":
            _wait_for(browser, ".connection .words", "live")
        wide = "return document.documentElement.scrollWidth"
        assert browser.execute_script(wide) == width, name
        keep_picture(browser, f"{name}-{width}-{scheme}")
