"""Every page in every size and light: sound for all readers, and kept as a picture to look at."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from redis import Redis
from selenium import webdriver

from arena.games import registry as games
from tests import axe, gallery
from tests.browser import (
    TWO_LOOKS,
    chromium,
    complaints,
    free_port,
    keep_picture,
    look,
    measure_width,
    requested,
    run,
    scripts,
    wait_until,
    web_server,
)
from tests.catalogs import needs_simulator

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

EVERY_LOOK = tuple(product((360, 1440), ("light", "dark")))
BATTLES = [name for name in games.names() if name.startswith("showdown")]
FULLY_LOOKED_AT = ("board", "match-replayed")
OTHERS: dict[str, set[str]] = {
    "login": set(),
    # The rows of Swagger UI are buttons with a button inside.
    "api-docs": {"nested-interactive"},
}
"""Pages that others have made, and the grave violations that we cannot mend."""
STICKING_OUT = """
return [...document.querySelectorAll("figure .drawing")].flatMap((drawing) => {
    const box = drawing.closest("figure").getBoundingClientRect();
    return [...drawing.querySelectorAll("text, circle, .names span")]
        .filter((part) => { const e = part.getBoundingClientRect();
            return e.width && (e.left < box.left || e.right > box.right || e.top < box.top); })
        .map((part) => `${part.textContent || part.tagName} sticks out of its plot`);
})"""
CLIPPED = """
return [...document.querySelectorAll(".sheet")]
    .filter((e) => ["clip", "hidden"].includes(getComputedStyle(e).overflowX))
    .filter((e) => e.scrollWidth > e.clientWidth + 1)
    .map((e) => `${e.querySelector("h2")?.textContent || e.className}: its right edge is cut off`);
"""
UNSAID = """
const named = (e) => e.ariaLabel || e.getAttribute("aria-labelledby") || e.title;
const all = (selector) => [...document.querySelectorAll(selector)];
return [
    ...all("main table").filter((e) => !e.caption && !named(e)).map(() => "an untitled table"),
    ...all("main th").filter((e) => !e.scope).map((e) => `${e.textContent}: a heading of what?`),
    ...all("svg[role=img], svg[role=group]").filter((e) => !named(e)).map(() => "a mute plot"),
    ...all("main :is([aria-live], [role=status]) tr").map(() => "rows read out as they move"),
]"""


class Site(NamedTuple):
    """A browser and the address of a site."""

    chrome: webdriver.Chrome
    address: str


@pytest.fixture
def site(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[Site]:
    """Run a browser and a site without content; leave it before the site ends."""
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        yield Site(chrome, address)
        chrome.get("about:blank")


def test_the_pages_of_a_new_site_are_sound(site: Site) -> None:
    _expect_none(_problems(site, gallery.EMPTY, looks=TWO_LOOKS))


def test_the_pages_that_others_made_can_be_used(site: Site) -> None:
    _expect_none(_problems(site, gallery.OTHERS, looks=TWO_LOOKS))


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_every_page_is_sound_in_every_size_and_light(
    site: Site, broker: Redis, is_whole: bool
) -> None:
    pages = gallery.fill(broker)
    fully = tuple(pages) if is_whole else FULLY_LOOKED_AT
    problems = _problems(site, {name: pages.pop(name) for name in fully})
    # Narrow is where pages break; what is wrong with a wide one most often is with the next, too.
    narrow, wide = TWO_LOOKS
    problems += _problems(site, pages, looks=(narrow,))
    _expect_none(problems + _problems(site, dict(list(pages.items())[::2]), looks=(wide,)))


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_replay_of_every_game_is_sound(site: Site, is_whole: bool) -> None:
    pages = gallery.fill_games([name for name in games.names() if name not in BATTLES])
    if is_whole:
        _expect_none(_problems(site, pages))
        return
    # Every second game in one of two looks: what goes wrong with one most often does with others.
    quarters = [dict(list(pages.items())[start::4]) for start in (0, 2)]
    for quarter, one in zip(quarters, TWO_LOOKS, strict=True):
        _expect_none(_problems(site, quarter, looks=(one,)))


@needs_simulator
@pytest.mark.parametrize("looks", [TWO_LOOKS[:1], pytest.param(EVERY_LOOK, marks=pytest.mark.long)])
def test_the_replay_of_every_battle_is_sound(
    site: Site, looks: tuple[tuple[int, str], ...]
) -> None:
    _expect_none(_problems(site, gallery.fill_games(BATTLES), looks=looks))


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.long)])
def test_every_page_is_complete_without_javascript(site: Site, broker: Redis, step: int) -> None:
    pages = gallery.fill(broker)
    for path in [*pages.values()][::step]:
        with scripts(site.chrome, is_on=False):
            plain = _rows(site, path)
        # On a busy machine a page may be looked at before its rows are there.
        wait_until(site.chrome, partial(_has_rows, site, path, plain), message=path)
    assert any("mcts:100" in row for row in _rows(site, pages["board"]))


def _expect_none(problems: list[str]) -> None:
    assert not problems, "\n".join(problems)


def _rows(site: Site, path: str) -> list[str]:
    """Return the headings of all rows of a page; on a busy machine they are not laid out yet."""
    site.chrome.get(site.address + path)
    headings = 'document.querySelectorAll("table:not(details *) tbody th")'
    rows: list[str] = run(site.chrome, f"return [...{headings}].map((e) => e.textContent.trim())")
    return rows


def _has_rows(site: Site, path: str, rows: list[str]) -> bool:
    return _rows(site, path) == rows


def _problems(
    site: Site, pages: Mapping[str, str], *, looks: tuple[tuple[int, str], ...] = EVERY_LOOK
) -> list[str]:
    """Look at pages in these sizes and lights, keep pictures; return what is wrong with them."""
    problems = []
    for (width, scheme), (name, path) in product(looks, pages.items()):
        look(site.chrome, width=width, scheme=scheme)
        site.chrome.get(site.address + path)
        _settle(site.chrome)
        keep_picture(site.chrome, f"{name}-{width}-{scheme}", is_whole=True)
        problems += [
            f"{name} {width} {scheme}: {text}" for text in _wrong(site, name, width, scheme)
        ]
    return problems


def _settle(chrome: webdriver.Chrome) -> None:
    """Wait until a live page is live, and the one of the API is drawn."""
    script = "return !document.querySelector('[data-connection=off], #swagger-ui:empty, .loading')"
    wait_until(chrome, lambda: run(chrome, script))


def _wrong(site: Site, name: str, width: int, scheme: str) -> list[str]:
    chrome = site.chrome
    wrong = [f"{one} in the console" for one in complaints(chrome) if _is_wrong(one, name)]
    # Before its first page the browser asks for its own.
    near = (site.address, "data:", "chrome:", "about:")
    elsewhere = [one for one in requested(chrome) if not one.startswith(near)]
    wrong += [f"asks {one}" for one in elsewhere]
    across = measure_width(chrome, limit=width)
    wrong += [f"is {across} px wide"] if across > width else []
    if name in OTHERS:
        return wrong + _grave(chrome, OTHERS[name])
    colour = run(chrome, "return getComputedStyle(document.body).backgroundColor")
    is_dark = int(colour.split("(")[1].split(",")[0]) < 128
    wrong += [f"its paper is {colour}"] if is_dark != (scheme == "dark") else []
    for script in (STICKING_OUT, CLIPPED, UNSAID):
        wrong += run(chrome, script)
    rules = axe.OF_COLOURS if scheme == "dark" else ()
    violations = axe.violations(chrome, only=rules)
    return wrong + [f"{one.rule}: {one.places[0]}" for one in violations]


def _is_wrong(complaint: str, name: str) -> bool:
    """Say whether a complaint of the console is a fault, as each breach of our policy is."""
    return name != "not-found" or "Content Security Policy" in complaint


def _grave(chrome: webdriver.Chrome, allowed: set[str]) -> list[str]:
    """Return what keeps somebody from using a page that is not ours."""
    grave = [one for one in axe.violations(chrome) if one.is_grave and one.rule not in allowed]
    return [f"{one.rule}: {one.places[0]}" for one in grave]
