"""The board in a real browser: it moves, comes back, and is readable in every size and light."""

import time
from collections.abc import Iterator

import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from matches.board import broadcast
from matches.models import Leaderboard, Rating, Tournament
from matches.ratings import rater, standings
from matches.store.clock import db_now
from matches.tests import boards
from tests.browser import (
    chromium,
    complaints,
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

BACK_WITHIN_S = 5
BOARD = "/leaderboards/connect-four/"

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
        complaints(browser)


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


def _read_rows(browser: webdriver.Chrome) -> list[tuple[str, str, str]]:
    """Return name, rating and matches of every row from top to bottom, read at one moment."""
    script = """return [...document.querySelectorAll("#board tbody tr")].map((row) =>
        ["name", "mu", "matches"].map((f) => row.querySelector(`[data-field=${f}]`).textContent))"""
    return [tuple(row) for row in run(browser, script)]


def _expect_rows(tournament: Tournament) -> list[tuple[str, str, str]]:
    rows = standings.load_rows(tournament.leaderboard_id)
    return [(row["name"], row["mu"], row["matches"]) for row in rows]


def _is_live(browser: webdriver.Chrome) -> bool:
    return texts(browser, ".connection .words") == ["live"]


def _wait_for_attempts(browser: webdriver.Chrome, n: int) -> None:
    """Wait until the page has tried in vain to connect so many times."""
    complaints(browser)
    failed: list[str] = []

    def have_failed() -> bool:
        failed.extend(complaints(browser))
        return len(failed) >= n

    wait_until(browser, have_failed, limit_s=15)


def test_rows_move_without_a_reload(browser: webdriver.Chrome, site: str) -> None:
    tournament = _running_board()
    look(browser, width=1440)
    browser.get(f"{site}{BOARD}")
    before = _read_rows(browser)
    assert before == _expect_rows(tournament)
    wait_until(browser, lambda: _is_live(browser))
    run(browser, "window.loadedOnce = true")
    _play_on(tournament)
    expected_rows = _expect_rows(tournament)
    assert [name for name, *_ in expected_rows] != [name for name, *_ in before]
    assert _read_rows(browser) == before
    _push(tournament)
    wait_until(browser, lambda: _read_rows(browser) == expected_rows)
    keep_picture(browser, "board-moving")
    n_done = f"{Tournament.objects.get().n_done:,}"
    wait_until(browser, lambda: texts(browser, "[data-tournament] [data-field=closed]") == [n_done])
    assert run(browser, "return window.loadedOnce")
    assert complaints(browser) == []


def test_a_reconnect_shows_what_was_missed(
    browser: webdriver.Chrome, transactional_db: None, broker: Redis
) -> None:
    port = free_port()
    with web_server(port) as address:
        tournament = _running_board()
        browser.get(f"{address}{BOARD}")
        wait_until(browser, lambda: _is_live(browser))
    wait_until(browser, lambda: not _is_live(browser))
    run(browser, "Math.random = () => 0.999")  # it waits as long as it ever does
    _play_on(tournament)
    _push(tournament)
    _wait_for_attempts(browser, 3)
    with web_server(port):
        back = time.monotonic()
        wait_until(browser, lambda: _read_rows(browser) == _expect_rows(tournament))
        wait_until(browser, lambda: _is_live(browser))
        assert time.monotonic() - back < BACK_WITHIN_S
        browser.get("about:blank")
    complaints(browser)  # forgets those of connections that failed


def test_a_sorted_board_follows_in_place_and_says_when_it_is_stale(
    browser: webdriver.Chrome, site: str
) -> None:
    tournament = _running_board()
    look(browser, width=1440)
    browser.get(f"{site}/leaderboards/connect-four/?sort=name&q=mcts")
    wait_until(browser, lambda: _is_live(browser))
    assert [name for name, *_ in _read_rows(browser)] == ["mcts:100", "mcts:20"]
    _play_on(tournament)
    expected_rows = [row for row in _expect_rows(tournament) if row[0].startswith("mcts")]
    _push(tournament)
    wait_until(browser, lambda: sorted(_read_rows(browser)) == sorted(expected_rows))
    stale = browser.find_element(By.CSS_SELECTOR, ".stale")
    assert not stale.is_displayed()
    browser.get(f"{site}/leaderboards/connect-four/?sort=-rating")
    wait_until(browser, lambda: _is_live(browser))
    before = [name for name, *_ in _read_rows(browser)]
    Rating.objects.filter(agent__name="random").update(mu=60)
    broadcast.push([tournament.leaderboard_id], now=db_now() + 2 * broadcast.MIN_INTERVAL)
    wait_until(browser, lambda: browser.find_element(By.CSS_SELECTOR, ".stale").is_displayed())
    assert [name for name, *_ in _read_rows(browser)] == before
    keep_picture(browser, "board-stale")
    browser.find_element(By.CSS_SELECTOR, ".stale a").click()
    wait_until(browser, lambda: _read_rows(browser)[-1][0] == "random")
    assert complaints(browser) == []


def test_the_filter_works_by_keyboard_and_without_javascript(
    browser: webdriver.Chrome, site: str
) -> None:
    _running_board()
    look(browser, width=1440)
    with scripts(browser, is_on=False):
        browser.get(f"{site}{BOARD}")
        browser.find_element(By.CSS_SELECTOR, ".filter-fold summary").send_keys(Keys.ENTER)
        browser.find_element(By.CSS_SELECTOR, "main [name=q]").send_keys("alpha", Keys.ENTER)
        wait_until(browser, lambda: "q=alpha" in browser.current_url)
        names = ["alphabeta:1", "alphabeta:2", "alphabeta:4"]
        wait_until(browser, lambda: sorted(texts(browser, "#board tbody .name")) == names)
        browser.find_element(By.CSS_SELECTOR, "th.matches a").send_keys(Keys.ENTER)
        wait_until(browser, lambda: "sort=matches" in browser.current_url)
        assert "q=alpha" in browser.current_url
        wait_until(browser, lambda: texts(browser, "th[aria-sort=descending]") == ["Matches"])
        browser.find_element(By.LINK_TEXT, "Show all").send_keys(Keys.ENTER)
        wait_until(browser, lambda: "?" not in browser.current_url)


def test_a_lost_push_is_noticed_by_its_number(
    browser: webdriver.Chrome, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = _running_board()
    browser.get(f"{site}{BOARD}")
    wait_until(browser, lambda: _is_live(browser))
    _play_on(tournament)
    with monkeypatch.context() as lossy:
        lossy.setattr(broadcast, "_send_text", lambda *_: None)
        _push(tournament)
    assert _read_rows(browser) != _expect_rows(tournament)
    Tournament.objects.update(n_retried=7)
    broadcast.push([tournament.leaderboard_id], now=db_now() + 2 * broadcast.MIN_INTERVAL)
    wait_until(browser, lambda: _read_rows(browser) == _expect_rows(tournament))


def test_the_page_is_complete_without_javascript(browser: webdriver.Chrome, site: str) -> None:
    tournament = _running_board()
    with scripts(browser, is_on=False):
        browser.get(f"{site}{BOARD}")
        names = [name for name, *_ in _expect_rows(tournament)]
        assert texts(browser, "#board tbody tr .name") == names
        assert texts(browser, ".connection .words") == ["as loaded"]


def test_the_first_agent_is_on_the_first_screen_of_a_phone(
    browser: webdriver.Chrome, site: str
) -> None:
    _running_board()
    look(browser, width=360, height=640)
    for query in ("", "?q=a&sort=forfeits"):
        browser.get(f"{site}{BOARD}{query}")
        bottom = "return document.querySelector('#board tbody th').getBoundingClientRect().bottom"
        assert run(browser, bottom) <= 640


def test_the_board_fits_a_width_between(browser: webdriver.Chrome, site: str) -> None:
    _running_board()
    look(browser, width=820, height=1000)
    for name, address in {"board": BOARD, "board-chosen": f"{BOARD}?q=a&sort=forfeits"}.items():
        browser.get(f"{site}{address}")
        keep_picture(browser, f"{name}-820-light", is_whole=True)
        assert measure_width(browser, limit=820) <= 820


def test_a_walk_by_keyboard_shows_where_it_is(browser: webdriver.Chrome, site: str) -> None:
    _running_board()
    look(browser, width=1440)
    browser.get(f"{site}{BOARD}")
    visited = []
    for _ in range(42):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        assert focused.value_of_css_property("outline-style") != "none", focused.text
        visited.append(focused.get_attribute("name") or focused.text)
    assert visited == [
        "Skip to the content", "evalsite", "q", *texts(browser, "header.site > :not(.menu) a"),
        *texts(browser, ".status-line a"), "test", *texts(browser, ".counts a"),
        "Filter and sort", "How to read this", "On this page", "Elo",
        "Agent", "Rating", "Live", "P(best)", "Trend", "Matches", "W / D / L", "Forfeits",
        *texts(browser, "#board tbody a"),
    ][:42]  # fmt: skip


def test_the_skip_link_leads_past_the_navigation(browser: webdriver.Chrome, site: str) -> None:
    _running_board()
    look(browser, width=1440)
    browser.get(f"{site}{BOARD}")
    browser.switch_to.active_element.send_keys(Keys.TAB)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    browser.switch_to.active_element.send_keys(Keys.TAB)
    # The count of its agents, the first link of the page itself.
    assert browser.switch_to.active_element.get_attribute("data-status") == "n_agents"


def test_nothing_glides_for_who_wants_no_motion(browser: webdriver.Chrome, site: str) -> None:
    tournament = _running_board()
    for n, (motion, is_moving) in enumerate((("no-preference", True), ("reduce", False)), start=1):
        look(browser, width=1440, motion=motion)
        browser.get(f"{site}{BOARD}")
        wait_until(browser, lambda: _is_live(browser))
        run(
            browser,
            """window.seen = 0; new MutationObserver(() => {
                window.seen = Math.max(window.seen, document.getAnimations().length);
            }).observe(document.querySelector("#board"), {subtree: true, attributes: true,
                childList: true, characterData: true})""",
        )
        _play_on(tournament, 231)
        # The second page may be there sooner than a board may be pushed again.
        now = db_now() + 2 * n * broadcast.MIN_INTERVAL
        broadcast.push([tournament.leaderboard_id], now=now)
        wait_until(browser, lambda: _read_rows(browser) == _expect_rows(tournament))
        assert (run(browser, "return window.seen") > 0) == is_moving


def test_news_are_told_now_and_then_not_with_every_push(
    browser: webdriver.Chrome, site: str
) -> None:
    tournament = _running_board()
    look(browser, width=1440)
    browser.get(f"{site}{BOARD}")
    wait_until(browser, lambda: _is_live(browser))
    news_script = "return document.querySelector('.news[role=status]').textContent"
    assert run(browser, news_script) == ""
    _play_on(tournament, 42)
    _push(tournament)
    wait_until(browser, lambda: run(browser, news_script) != "")
    first = run(browser, news_script)
    assert first.startswith(f"{_expect_rows(tournament)[0][0]} leads with ")
    _play_on(tournament, 42)
    broadcast.push([tournament.leaderboard_id], now=db_now() + 2 * broadcast.MIN_INTERVAL)
    wait_until(browser, lambda: _read_rows(browser) == _expect_rows(tournament))
    assert run(browser, news_script) == first


def test_form_and_address_ask_for_the_same(browser: webdriver.Chrome, site: str) -> None:
    _running_board()
    look(browser, width=1440)
    browser.get(f"{site}{BOARD}")
    browser.find_element(By.CSS_SELECTOR, ".filter-fold summary").click()
    browser.find_element(By.CSS_SELECTOR, "main [name=q]").send_keys("a")
    Select(browser.find_element(By.NAME, "sort")).select_by_visible_text("name")
    browser.find_element(By.CSS_SELECTOR, ".filter button").click()
    wait_until(browser, lambda: "sort=name" in browser.current_url)
    wait_until(browser, lambda: _is_live(browser))
    by_form = _read_rows(browser)
    browser.get(f"{site}/leaderboards/connect-four/?q=a&sort=name")
    assert _read_rows(browser) == by_form
    names = [name for name, *_ in by_form]
    assert names == sorted(names)
    assert names
    assert browser.find_element(By.CSS_SELECTOR, "main [name=q]").get_attribute("value") == "a"
    assert complaints(browser) == []


def test_points_of_elo_follow_as_ratings_do(browser: webdriver.Chrome, site: str) -> None:
    tournament = _running_board()
    look(browser, width=1440)
    browser.get(f"{site}{BOARD}?scale=elo")
    before = _read_rows(browser), texts(browser, ".board .tick")
    wait_until(browser, lambda: _is_live(browser))
    assert (_read_rows(browser), texts(browser, ".board .tick")) == before
    _play_on(tournament)
    _push(tournament)
    wait_until(browser, lambda: _read_rows(browser) != before[0])
    pushed = _read_rows(browser), texts(browser, ".board .tick")
    assert all(1000 < int(mu) < 2000 for _, mu, _ in pushed[0])
    browser.get(f"{site}{BOARD}?scale=elo")
    assert (_read_rows(browser), texts(browser, ".board .tick")) == pushed
    assert complaints(browser) == []
