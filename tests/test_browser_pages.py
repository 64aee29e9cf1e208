"""Pages of agents, matches and tournaments in a real browser: readable, and usable by keyboard."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests import gallery
from tests.browser import chromium, free_port, look, requested, run, texts, wait_until, web_server
from tests.catalogs import needs_simulator

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

STEP_WITHIN_MS = 50
LEAST_LETTERS_PX = 10


class Site(NamedTuple):
    """A browser, the address of the site, and the pages to look at."""

    chrome: webdriver.Chrome
    address: str
    pages: dict[str, str]


@pytest.fixture
def site(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[Site]:
    """Run a browser and a site with a played tournament; leave it before the site ends."""
    pages = gallery.pages_of_a_board()
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        yield Site(chrome, address, pages)
        chrome.get("about:blank")


def test_the_replay_is_walked_by_keyboard(site: Site) -> None:
    look(site.chrome, width=1440)
    site.chrome.get(f"{site.address}{site.pages['match']}?step=2")
    for link, step in (("Next", 3), ("Next", 4), ("Previous", 3), ("First", 0), ("Last", None)):
        target = site.chrome.find_element(By.LINK_TEXT, link)
        _tab_to(site, link)
        assert site.chrome.switch_to.active_element == target
        site.chrome.switch_to.active_element.send_keys(Keys.ENTER)
        wait_until(site.chrome, partial(_is_at, site, step), message=f"step {step}")


def test_the_player_steps_by_keys_without_asking_the_server(site: Site) -> None:
    chrome = site.chrome
    look(chrome, width=390, scheme="dark")
    chrome.get(f"{site.address}{site.pages['match']}?step=2")
    wait_until(chrome, lambda: texts(chrome, "[data-is-ready]"), message="the player")
    requested(chrome)
    body = chrome.find_element(By.TAG_NAME, "body")
    keys = ((Keys.ARROW_RIGHT, 3), (Keys.ARROW_LEFT, 2), (Keys.HOME, 0), (Keys.END, None))
    for key, step in keys:
        body.send_keys(key)
        assert _is_at(site, step), (key, step)
    assert "The game is over" in texts(chrome, ".said")[0]
    assert run(chrome, "return document.querySelectorAll('.position .fill-new').length") <= 1
    assert run(chrome, "return location.search").startswith("?step=")
    typical = run(
        chrome,
        """const press = (key) => document.body.dispatchEvent(
            new KeyboardEvent("keydown", {key, bubbles: true}));
        const taken = ["Home", ..."rrrrrrrrrrll"].map((key) => {
            const start = performance.now();
            press({r: "ArrowRight", l: "ArrowLeft"}[key] ?? key);
            document.body.getBoundingClientRect();  // lays it out
            return performance.now() - start; });
        return taken.sort((one, other) => one - other)[taken.length >> 1];""",
    )
    assert typical <= STEP_WITHIN_MS
    body.send_keys(Keys.HOME, Keys.SPACE)
    wait_until(chrome, lambda: not _is_at(site, 0), message="it plays by itself")
    assert [url for url in requested(chrome) if "/matches/" in url] == []


@pytest.mark.parametrize(
    "game",
    [
        *("hex", "backgammon", "leduc_poker"),
        pytest.param("showdown_gen1random", marks=needs_simulator),
    ],
)
def test_on_a_phone_labels_are_readable_and_no_step_moves_the_controls(
    site: Site, game: str
) -> None:
    chrome = site.chrome
    look(chrome, width=360)
    chrome.get(f"{site.address}/matches/{gallery.play_match(game).pk}/?step=0")
    wait_until(chrome, lambda: texts(chrome, "[data-is-ready]"), message="the player")
    least = run(
        chrome,
        """return Math.min(...[...document.querySelectorAll(".scene > svg text")].map(
            (e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a))""",
    )
    assert least >= LEAST_LETTERS_PX
    tops = run(
        chrome,
        """const next = document.querySelector("[data-go=next]");
        return [0, 1, 2, 3].map(() => { next.click();
            return next.getBoundingClientRect().top + scrollY; });""",
    )
    assert max(tops) - min(tops) < 1


def test_a_time_whose_text_comes_later_is_written_once(site: Site) -> None:
    look(site.chrome, width=1440)
    site.chrome.get(site.address)
    text = site.chrome.execute_async_script(
        """const done = arguments[0], time = document.createElement("time");
        time.dateTime = "2026-11-26T06:57:07Z"; time.dataset.form = "second";
        document.body.append(time);
        setTimeout(() => { time.append("2026-11-26 06:57:07");
            setTimeout(() => done(time.textContent), 50); }, 50);"""
    )
    assert len(text) == len("2026-11-26 06:57:07")


def test_text_on_coloured_cells_keeps_its_contrast(site: Site) -> None:
    for scheme in ("light", "dark"):
        look(site.chrome, width=1440, scheme=scheme)
        site.chrome.get(site.address + site.pages["tournament"])
        for share in (0, 20, 50, 80, 100):
            side = "below" if share < 50 else "above"
            colours = run(
                site.chrome,
                f"""const cell = document.querySelector(".crosstable td:not(.self)");
                cell.className = "{side}"; cell.style.setProperty("--share", {share});
                const canvas = document.createElement("canvas").getContext("2d");
                return [getComputedStyle(cell).backgroundColor, getComputedStyle(cell).color]
                    .map((colour) => {{ canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
                        return [...canvas.getImageData(0, 0, 1, 1).data] }})""",
            )
            assert _contrast(*colours) >= 4.5, (scheme, share)


def _is_at(site: Site, step: int | None) -> bool:
    """Say whether the replay shows a step; None: the last one."""
    (position,) = texts(site.chrome, ".stepping .at") or ["Step -1 of 0"]
    number, last = position.removeprefix("Step ").split(" of ")
    return int(number) == (int(last) if step is None else step)


def _tab_to(site: Site, link: str) -> None:
    """Press Tab from the top of the page until the link is reached."""
    run(site.chrome, "document.querySelector('.skip').focus()")
    for _ in range(60):
        active = site.chrome.switch_to.active_element
        if active.text == link:
            return
        ActionChains(site.chrome).send_keys(Keys.TAB).perform()
    raise AssertionError(f"Tab does not reach {link}")


def _contrast(first: list[int], second: list[int]) -> float:
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: list[int]) -> float:
    parts = [part / 255 for part in colour[:3]]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
