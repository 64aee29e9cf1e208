"""Pages of agents, matches and tournaments in a real browser: readable, and usable by keyboard."""

import json
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

import pytest
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from arena.games import registry as games
from arena.games.base import OVER
from matches.models import Agent, Checkpoint, Match, Outcome, Rating, RatingSnapshot, Tournament
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from tests.browser import chromium, free_port, keep_picture, look, web_server

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BOARDS = ("tic_tac_toe", "othello", "breakthrough", "hex", "chess", "go_9x9")
TEXTS = ("backgammon", "leduc_poker")


class Site(NamedTuple):
    """A browser, the address of the site, and the pages to look at."""

    chrome: webdriver.Chrome
    address: str
    pages: dict[str, str]


@pytest.fixture
def site(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[Site]:
    """Run a browser and a site with a played tournament; leave it before the site ends."""
    pages = _filled()
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        yield Site(chrome, address, pages)
        chrome.get("about:blank")


def test_every_page_fits_its_width_in_both_schemes(site: Site) -> None:
    for width, scheme in product((360, 1440), ("light", "dark")):
        look(site.chrome, width=width, height=2200, scheme=scheme)
        for name, path in site.pages.items():
            site.chrome.get(site.address + path)
            keep_picture(site.chrome, f"{name}-{width}-{scheme}")
            across = _run(site, "return document.documentElement.scrollWidth")
            assert across <= width, (name, scheme)
    assert list(cast(Any, site.chrome).get_log("browser")) == []


def test_the_replay_is_walked_by_keyboard(site: Site) -> None:
    look(site.chrome, width=1440)
    site.chrome.get(f"{site.address}{site.pages['match']}?step=2")
    for link, step in (("Next", 3), ("Next", 4), ("Previous", 3), ("First", 0), ("Last", None)):
        target = site.chrome.find_element(By.LINK_TEXT, link)
        _tab_to(site, link)
        assert site.chrome.switch_to.active_element == target
        site.chrome.switch_to.active_element.send_keys(Keys.ENTER)
        said = site.chrome.find_element(By.CSS_SELECTOR, ".stepping .at").text
        number, last = said.removeprefix("Step ").split(" of ")
        assert int(number) == (int(last) if step is None else step)


def test_text_on_coloured_cells_keeps_its_contrast(site: Site) -> None:
    for scheme in ("light", "dark"):
        look(site.chrome, width=1440, scheme=scheme)
        site.chrome.get(site.address + site.pages["tournament"])
        for share in (0, 20, 50, 80, 100):
            side = "below" if share < 50 else "above"
            colours = _run(
                site,
                f"""const cell = document.querySelector(".crosstable td:not(.self)");
                cell.className = "{side}"; cell.style.setProperty("--share", {share});
                const canvas = document.createElement("canvas").getContext("2d");
                return [getComputedStyle(cell).backgroundColor, getComputedStyle(cell).color]
                    .map((colour) => {{ canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
                        return [...canvas.getImageData(0, 0, 1, 1).data] }})""",
            )
            assert _contrast(*colours) >= 4.5, (scheme, share)


def _tab_to(site: Site, link: str) -> None:
    """Press Tab from the top of the page until the link is reached."""
    _run(site, "document.querySelector('.skip').focus()")
    for _ in range(60):
        active = site.chrome.switch_to.active_element
        if active.text == link:
            return
        active.send_keys(Keys.TAB)
    raise AssertionError(f"Tab does not reach {link}")


def _contrast(first: list[int], second: list[int]) -> float:
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: list[int]) -> float:
    parts = [part / 255 for part in colour[:3]]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _filled() -> dict[str, str]:
    """Play a tournament, and a match of each other game; return the pages by name."""
    tournament = boards.played_board()
    best = Agent.objects.get(name="mcts:100")
    _train(best)
    _remember(tournament, best)
    match = Match.objects.filter(outcome__is_forfeit=False).latest("pk")
    forfeit = Match.objects.filter(outcome__is_forfeit=True).latest("pk")
    for shown in (match, forfeit):
        _give_moves(shown, "connect_four")
    pages = {
        "agent": f"/agents/{best.pk}/",
        "tournament": f"/tournaments/{tournament.pk}/",
        "match": f"/matches/{match.pk}/",
        "match-forfeit": f"/matches/{forfeit.pk}/",
    }
    # No game is over before its second step.
    for game in (*BOARDS, *TEXTS):
        pages[f"match-{game}"] = f"/matches/{_played(game).pk}/?step=2"
    running = factories.planned(420, agents=boards.SEARCHERS, game="connect_four", board="slow")
    boards.play_some(running, 60, boards.by_strength())
    waiting = Match.objects.filter(tournament=running).latest("pk")
    running_pages = {
        "tournament-running": f"/tournaments/{running.pk}/",
        "match-pending": f"/matches/{waiting.pk}/",
    }
    return pages | running_pages


def _played(game: str) -> Match:
    pair = [
        Agent.objects.create(name=f"{name} of {game}", game=game, policy="random")
        for name in ("north", "south")
    ]
    tournament = factories.planned(2, agents=pair, game=game, board=game)
    boards.play_some(tournament, 2, boards.by_strength(forfeits=0))
    match = Match.objects.filter(tournament=tournament).earliest("pk")
    _give_moves(match, game)
    return match


def _give_moves(match: Match, game: str) -> None:
    """Let a random game be what was played."""
    rules, rng = games.get(game), Random(match.pk)
    state = rules.start(match.game_seed, opening_plies=rules.spec.opening_plies)
    while state.to_move() != OVER and len(state.actions) < 60:
        state.apply(rng.choice(list(state.legal_actions())))
    Outcome.objects.filter(match=match).update(actions=" ".join(map(str, state.actions)))


def _train(agent: Agent) -> None:
    """Give an agent a checkpoint of the fourth generation."""
    parent = None
    for generation in range(4):
        parent = Checkpoint.objects.create(
            sha256=f"{generation:x}" * 64,
            game=agent.game,
            architecture="rescnn",
            run="connect four, first run",
            step=1_000 * 4**generation,
            parent=parent,
            source_name="weights.safetensors",
            n_bytes=120_000,
            state="ready",
            n_parameters=28_417,
            row_ms=0.21,
            measured_placement="local",
            created_at=NOW,
        )
    Agent.objects.filter(pk=agent.pk).update(checkpoint=parent)


def _remember(tournament: Tournament, agent: Agent) -> None:
    """Keep a history in which the agent becomes stronger and surer."""
    rating = Rating.objects.get(agent=agent)
    rng = Random(1)
    for minute in range(90):
        mu = rating.mu - 6 * (0.96**minute) + rng.gauss(0, 0.2)
        row = [agent.pk, mu, rating.sd + 3 * 0.95**minute, mu, 1.0]
        RatingSnapshot.objects.create(
            leaderboard=tournament.leaderboard,
            taken_at=later(60 * minute),
            n_outcomes=minute,
            results_hash=str(minute),
            table=zlib.compress(json.dumps([row]).encode()),
        )


def _run(site: Site, script: str) -> Any:
    return cast(Any, site.chrome).execute_script(script)
