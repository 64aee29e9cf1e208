"""The board in a real browser: it moves, comes back, and is readable in every size and light."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from math import sin
from typing import Any, cast

import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from matches import standings
from matches.clock import db_now
from matches.models import Leaderboard, Match, Rating, Tournament
from matches.services import broadcast, rater, snapshots
from matches.tests import boards
from tests.browser import chromium, free_port, keep_picture, look, web_server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LOCAL_ONLY = "return performance.getEntriesByType('resource').map((entry) => entry.name)"


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
        _complaints(browser)


def _running_board() -> Tournament:
    tournament = boards.planned_board(n_matches=840)
    Tournament.objects.update(started_at=db_now())
    _play_on(tournament, 42)
    return tournament


def _play_on(tournament: Tournament, n_matches: int = 378) -> None:
    boards.play_some(tournament, n_matches, boards.by_strength(), now=db_now())
    board = Leaderboard.objects.get(pk=tournament.leaderboard_id)
    assert rater.rate(board.pk, now=(board.rated_at or db_now()) + rater.MIN_INTERVAL)


def _push(tournament: Tournament) -> None:
    broadcast.push([tournament.leaderboard_id], now=db_now() + broadcast.MIN_INTERVAL)


def _shown(browser: webdriver.Chrome) -> list[tuple[str, str, str]]:
    """Return name, rating and matches of every row from top to bottom, read at one moment."""
    script = """return [...document.querySelectorAll("#board tbody tr")].map((row) =>
        ["name", "mu", "matches"].map((f) => row.querySelector(`[data-field=${f}]`).textContent))"""
    return [tuple(row) for row in _run(browser, script)]


def _wanted(tournament: Tournament) -> list[tuple[str, str, str]]:
    rows = standings.rows(tournament.leaderboard_id)
    return [(row["name"], row["mu"], row["matches"]) for row in rows]


def _wait(browser: webdriver.Chrome, condition: Callable[[], bool], limit_s: float = 5) -> None:
    WebDriverWait(browser, limit_s, poll_frequency=0.05).until(lambda _: condition())


def _is_live(browser: webdriver.Chrome) -> bool:
    return browser.find_element(By.CSS_SELECTOR, ".connection .words").text == "live"


def _complaints(browser: webdriver.Chrome) -> list[str]:
    entries = cast(Any, browser).get_log("browser")
    return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]


def _run(browser: webdriver.Chrome, script: str) -> Any:
    return cast(Any, browser).execute_script(script)


def test_rows_move_without_a_reload(browser: webdriver.Chrome, site: str) -> None:
    tournament = _running_board()
    look(browser, width=1440)
    browser.get(site)
    before = _shown(browser)
    assert before == _wanted(tournament)
    _wait(browser, lambda: _is_live(browser))
    _run(browser, "window.loadedOnce = true")
    _play_on(tournament)
    wanted = _wanted(tournament)
    assert [name for name, *_ in wanted] != [name for name, *_ in before]
    assert _shown(browser) == before
    _push(tournament)
    _wait(browser, lambda: _shown(browser) == wanted)
    keep_picture(browser, "board-moving")
    closed = browser.find_element(By.CSS_SELECTOR, "[data-tournament] [data-field=closed]")
    assert closed.text == f"{Tournament.objects.get().n_done:,}"
    assert _run(browser, "return window.loadedOnce")
    assert _complaints(browser) == []


def test_a_reconnect_shows_what_was_missed(
    browser: webdriver.Chrome, transactional_db: None, broker: Redis
) -> None:
    port = free_port()
    with web_server(port) as address:
        tournament = _running_board()
        browser.get(address)
        _wait(browser, lambda: _is_live(browser))
    _wait(browser, lambda: not _is_live(browser))
    _play_on(tournament)
    _push(tournament)
    with web_server(port):
        _wait(browser, lambda: _shown(browser) == _wanted(tournament))
        _wait(browser, lambda: _is_live(browser))
        browser.get("about:blank")
    _complaints(browser)  # forgets those of connections that failed


def test_a_sorted_board_follows_in_place_and_says_when_it_is_stale(
    browser: webdriver.Chrome, site: str
) -> None:
    tournament = _running_board()
    look(browser, width=1440)
    browser.get(f"{site}/leaderboards/connect-four/?sort=name&q=mcts")
    _wait(browser, lambda: _is_live(browser))
    assert [name for name, *_ in _shown(browser)] == ["mcts:100", "mcts:20"]
    _play_on(tournament)
    wanted = [row for row in _wanted(tournament) if row[0].startswith("mcts")]
    _push(tournament)
    _wait(browser, lambda: sorted(_shown(browser)) == sorted(wanted))
    stale = browser.find_element(By.CSS_SELECTOR, ".stale")
    assert not stale.is_displayed()
    browser.get(f"{site}/leaderboards/connect-four/?sort=-rating")
    _wait(browser, lambda: _is_live(browser))
    before = [name for name, *_ in _shown(browser)]
    Rating.objects.filter(agent__name="random").update(mu=60)
    broadcast.push([tournament.leaderboard_id], now=db_now() + 2 * broadcast.MIN_INTERVAL)
    _wait(browser, lambda: browser.find_element(By.CSS_SELECTOR, ".stale").is_displayed())
    assert [name for name, *_ in _shown(browser)] == before
    keep_picture(browser, "board-stale")
    browser.find_element(By.CSS_SELECTOR, ".stale a").click()
    _wait(browser, lambda: _shown(browser)[-1][0] == "random")
    assert _complaints(browser) == []


def test_the_filter_works_by_keyboard_and_without_javascript(
    browser: webdriver.Chrome, site: str
) -> None:
    _running_board()
    look(browser, width=1440)
    _script(browser, is_on=False)
    try:
        browser.get(site)
        browser.find_element(By.NAME, "q").send_keys("alpha", Keys.ENTER)
        _wait(browser, lambda: "q=alpha" in browser.current_url)
        names = browser.find_elements(By.CSS_SELECTOR, "#board tbody .name")
        assert {name.text for name in names} == {"alphabeta:1", "alphabeta:2", "alphabeta:4"}
        browser.find_element(By.LINK_TEXT, "Matches").send_keys(Keys.ENTER)
        _wait(browser, lambda: "sort=matches" in browser.current_url)
        assert "q=alpha" in browser.current_url
        heading = browser.find_element(By.CSS_SELECTOR, "th[aria-sort]")
        assert (heading.text, heading.get_attribute("aria-sort")) == ("Matches", "descending")
        browser.find_element(By.LINK_TEXT, "Show all").send_keys(Keys.ENTER)
        _wait(browser, lambda: "?" not in browser.current_url)
    finally:
        _script(browser, is_on=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_plots_fit_their_width(
    browser: webdriver.Chrome, site: str, width: int, scheme: str
) -> None:
    board = _running_board().leaderboard
    _keep_history(board)
    look(browser, width=width, height=1000, scheme=scheme)
    browser.get(f"{site}/leaderboards/connect-four/")
    for section in ("history", "matrix", "rates"):
        _run(browser, f"document.getElementById('{section}').scrollIntoView()")
        keep_picture(browser, f"{section}-{width}-{scheme}")
    assert _run(browser, "return document.documentElement.scrollWidth") <= width
    outside = """const box = document.querySelector(".history figure").getBoundingClientRect();
        return [...document.querySelectorAll(".history :is(text, .names span)")]
            .map((e) => e.getBoundingClientRect()).filter((e) => e.width)
            .filter((e) => e.left < box.left || e.right > box.right || e.top < box.top).length"""
    assert _run(browser, outside) == 0
    assert _complaints(browser) == []


def _keep_history(board: Leaderboard) -> None:
    """Take a snapshot a minute of ratings that come together and of a pace that changes."""
    final = {rating.pk: (rating.mu, rating.sd) for rating in Rating.objects.all()}
    now = db_now()
    for minute in range(40):
        share = 1 - 0.9 ** (minute + 1)
        for place, (pk, (mu, sd)) in enumerate(final.items()):
            wobble = 2 * sin(minute + place) * (1 - share)
            Rating.objects.filter(pk=pk).update(mu=25 + (mu - 25) * share + wobble, sd=sd / share)
        at = now - timedelta(minutes=39 - minute)
        counts = {"n_settled": 60 * minute + 5 * (minute % 7) ** 2, "results_hash": str(minute)}
        Leaderboard.objects.filter(pk=board.pk).update(rated_at=at, **counts)
        assert snapshots.take_due(now=at) == 1


def test_a_lost_push_is_noticed_by_its_number(
    browser: webdriver.Chrome, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = _running_board()
    browser.get(site)
    _wait(browser, lambda: _is_live(browser))
    _play_on(tournament)
    with monkeypatch.context() as lossy:
        lossy.setattr(broadcast, "_send", lambda *_: None)
        _push(tournament)
    assert _shown(browser) != _wanted(tournament)
    Tournament.objects.update(n_retried=7)
    broadcast.push([tournament.leaderboard_id], now=db_now() + 2 * broadcast.MIN_INTERVAL)
    _wait(browser, lambda: _shown(browser) == _wanted(tournament))


def test_the_page_is_complete_without_javascript(browser: webdriver.Chrome, site: str) -> None:
    tournament = _running_board()
    _script(browser, is_on=False)
    try:
        browser.get(site)
        rows = browser.find_elements(By.CSS_SELECTOR, "#board tbody tr")
        assert [row.find_element(By.CSS_SELECTOR, ".name").text for row in rows] == [
            name for name, *_ in _wanted(tournament)
        ]
        assert browser.find_element(By.CSS_SELECTOR, ".connection .words").text == "as loaded"
    finally:
        _script(browser, is_on=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 820, 1440])
def test_every_page_fits_its_width(
    browser: webdriver.Chrome, site: str, width: int, scheme: str
) -> None:
    _running_board()
    match = Match.objects.filter(outcome__isnull=False).earliest("pk")
    look(browser, width=width, height=1000, scheme=scheme)
    pages = {
        "board": "/",
        "board-chosen": "/leaderboards/connect-four/?q=a&sort=forfeits",
        "boards": "/leaderboards/",
        "tournament": f"/tournaments/{match.tournament_id}/",
        "match": f"/matches/{match.pk}/",
        "not-found": "/leaderboards/nowhere/",
    }
    for name, address in pages.items():
        browser.get(f"{site}{address}")
        keep_picture(browser, f"{name}-{width}-{scheme}")
        wide = _run(browser, "return document.documentElement.scrollWidth")
        assert wide <= width, name
        colour = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
        assert (int(colour.split("(")[1].split(",")[0]) < 128) == (scheme == "dark")
    assert len(_complaints(browser)) == 1  # of the page that is not found


def test_nothing_comes_from_elsewhere(browser: webdriver.Chrome, site: str) -> None:
    _running_board()
    for address in ("/", "/api/docs/", "/admin/login/"):
        browser.get(f"{site}{address}")
        loaded = _run(browser, LOCAL_ONLY)
        assert loaded
        assert [name for name in loaded if not name.startswith((site, "data:"))] == []


def test_a_walk_by_keyboard_shows_where_it_is(browser: webdriver.Chrome, site: str) -> None:
    _running_board()
    look(browser, width=1440)
    browser.get(site)
    visited = []
    for _ in range(9):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        assert focused.value_of_css_property("outline-style") != "none", focused.text
        visited.append(focused.text)
    assert visited == [
        "Skip to the content", "evalsite", "Leaderboards", "System", "API", "Admin",
        "Who beats whom", "test", "",
    ]  # fmt: skip


def _script(browser: webdriver.Chrome, *, is_on: bool) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not is_on})
