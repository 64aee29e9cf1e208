"""The admin in a real browser: an operator logs in, acts, and finds the act in the audit."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from django.contrib.auth.models import User
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from experience.models import Release, TrainingRun
from experience.tests.made import ended, published
from matches.admin import picker
from matches.campaigns import scheduling
from matches.ledger import quarantine
from matches.models import Agent, Checkpoint, Schedule, Tournament, Worker
from matches.operations.system import pushing
from matches.store import auditing
from matches.store.catalog import game_title
from matches.store.clock import db_now
from matches.tests import boards, factories
from matches.tests.weights import weights
from tests import axe
from tests.browser import (
    TWO_LOOKS,
    chromium,
    free_port,
    keep_picture,
    look,
    measure_width,
    run,
    texts,
    wait_for,
    wait_until,
    web_server,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NAME, PASSWORD = "operator", "a long pass phrase"
REFUSED = "SEVERE"
EVERY_LOOK = tuple(product((1440, 360), ("light", "dark")))
IN_THE_DARK = ("campaign", "checkpoint")
FORMS = ("tournament", "campaign", "schedule", "agent", "leaderboard", "checkpoint")
# Words of tables that are written on two lines; long names may be.
BROKEN_WORDS = """
const broken = [];
for (const cell of document.querySelectorAll(".ev-table td, .ev-table th")) {
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    for (const word of walk.currentNode.data.matchAll(/[A-Za-z]{2,16}/g)) {
      const range = document.createRange();
      range.setStart(walk.currentNode, word.index);
      range.setEnd(walk.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((rect) => Math.round(rect.top))).size > 1) {
        broken.push(word[0]);
      }
    }
  }
}
return broken;
"""


class Site(NamedTuple):
    """A browser and the address of the site."""

    chrome: webdriver.Chrome
    address: str


@pytest.fixture
def site(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[Site]:
    """Run a browser and a site with something under way; leave it before the site ends."""
    _fill()
    User.objects.create_superuser(NAME, password=PASSWORD)
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        look(chrome, width=1440)
        yield Site(chrome, address)
        chrome.get("about:blank")


def test_an_operator_pauses_a_tournament_and_finds_it_in_the_audit(site: Site) -> None:
    _log_in(site)
    tournament = Tournament.objects.get(state="running")
    site.chrome.get(f"{site.address}/admin/matches/tournament/{tournament.pk}/change/")
    site.chrome.find_element(By.CSS_SELECTOR, "a[href*='ask/pause/']").click()
    wait_for(site.chrome, "Pause tournaments?")
    wait_for(site.chrome, "360 matches of 420 left")
    tournament.refresh_from_db()
    assert tournament.state == "running"
    site.chrome.find_element(By.NAME, "confirmed").click()
    wait_for(site.chrome, f"{tournament} is paused")
    tournament.refresh_from_db()
    assert tournament.state == "paused"
    site.chrome.get(f"{site.address}/admin/matches/auditrow/")
    first = texts(site.chrome, "#result_list tbody tr")[0]
    assert "tournament.pause" in first
    assert NAME in first
    _no_complaints(site)


def test_a_list_offers_acts_for_chosen_rows(site: Site) -> None:
    _log_in(site)
    site.chrome.get(f"{site.address}/admin/matches/agent/")
    for box in site.chrome.find_elements(By.CSS_SELECTOR, ".action-select")[:2]:
        box.click()
    choice = site.chrome.find_element(By.NAME, "action")
    wait_until(site.chrome, choice.is_displayed, message="a choice of acts")
    choice.find_element(By.CSS_SELECTOR, "option[value=retire]").click()
    site.chrome.find_element(By.CSS_SELECTOR, "button[name=index]").click()
    wait_for(site.chrome, "Retire agents?")
    assert len(texts(site.chrome, ".ev-lines li")) == 2
    _no_complaints(site)


def test_agents_are_picked_for_the_leaderboard_that_is_chosen(site: Site) -> None:
    _log_in(site)
    board = Tournament.objects.get(state="running").leaderboard
    site.chrome.get(f"{site.address}/admin/matches/tournament/add/")
    # A row whose choice has no parameters is hidden: this is none.
    assert site.chrome.find_element(By.ID, "agents-picker").is_displayed()
    choice = site.chrome.find_element(By.NAME, "leaderboard")
    choice.find_element(By.CSS_SELECTOR, f"option[value='{board.pk}']").click()
    wait_for(site.chrome, f"Others of {game_title(board.game)}")
    site.chrome.find_element(By.CSS_SELECTOR, "button[value=all]").click()
    n_playing = picker.list_playing(board).count()
    wait_for(site.chrome, f"Chosen: {n_playing} of {game_title(board.game)}")
    assert len(site.chrome.find_elements(By.CSS_SELECTOR, "[name=agents]:checked")) == n_playing
    pairing = site.chrome.find_element(By.NAME, "pairing")
    pairing.find_element(By.CSS_SELECTOR, "option[value=knockout]").click()
    assert texts(site.chrome, ".ev-parameters fieldset:not([hidden]) legend") == ["knockout"]
    keep_picture(site.chrome, "admin-picker")
    site.chrome.find_element(By.NAME, "name").send_keys("cup")
    site.chrome.find_element(By.NAME, "n_matches").send_keys("300")
    site.chrome.find_element(By.NAME, "estimate").send_keys(Keys.ENTER)
    wait_for(site.chrome, "Nothing is started yet")
    assert not Tournament.objects.filter(name="cup").exists()
    site.chrome.find_element(By.NAME, "_save").click()
    wait_for(site.chrome, "successfully")
    assert Tournament.objects.get(name="cup").pairing == "knockout"
    _no_complaints(site)


def test_a_tournament_is_scheduled_without_scripts(site: Site) -> None:
    _log_in(site)
    site.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    board = Tournament.objects.get(state="running").leaderboard
    site.chrome.get(f"{site.address}/admin/matches/tournament/add/?leaderboard={board.pk}")
    site.chrome.find_element(By.CSS_SELECTOR, "button[value=all]").click()
    wait_for(site.chrome, f"Others of {game_title(board.game)}")
    site.chrome.find_element(By.NAME, "name").send_keys("plain")
    site.chrome.find_element(By.NAME, "n_matches").send_keys("300")
    keep_picture(site.chrome, "admin-without-scripts")
    site.chrome.find_element(By.NAME, "_save").click()
    wait_for(site.chrome, "successfully")
    made = Tournament.objects.get(name="plain")
    assert made.leaderboard == board
    site.chrome.get(f"{site.address}/admin/matches/tournament/")
    site.chrome.find_element(By.CSS_SELECTOR, f"#result_list a[href*='/{made.pk}/change/']").click()
    wait_until(site.chrome, lambda: f"/{made.pk}/change/" in site.chrome.current_url, message="it")


def test_a_crontab_is_explained_while_it_is_typed(site: Site) -> None:
    _log_in(site)
    site.chrome.get(f"{site.address}/admin/matches/schedule/add/")
    field = site.chrome.find_element(By.NAME, "crontab")
    field.send_keys("30 4 * * 1")
    wait_for(site.chrome, "only on Monday")
    field.send_keys(Keys.BACKSPACE, "9")
    wait_for(site.chrome, "is none")
    _no_complaints(site)


def test_a_checkpoint_is_uploaded_and_a_bad_one_refused(site: Site, tmp_path: Path) -> None:
    _log_in(site)
    bad = tmp_path / "bad.pt"
    bad.write_bytes(b"\x80\x04 a pickle")
    for path, message in (
        (bad, "pickle"),
        (weights(tmp_path / "good.safetensors"), "successfully"),
    ):
        site.chrome.get(f"{site.address}/admin/matches/checkpoint/add/")
        wait_for(site.chrome, "at most 256 MiB")
        for name, value in (("name", "uploaded"), ("architecture", "mlp"), ("file", str(path))):
            site.chrome.find_element(By.NAME, name).send_keys(value)
        game = site.chrome.find_element(By.NAME, "game")
        game.find_element(By.CSS_SELECTOR, "option[value=connect_four]").click()
        site.chrome.find_element(By.NAME, "_save").click()
        wait_for(site.chrome, message)
    assert Agent.objects.filter(name="uploaded").exists()
    _no_complaints(site)


@pytest.mark.parametrize("looks", [TWO_LOOKS, pytest.param(EVERY_LOOK, marks=pytest.mark.long)])
def test_every_page_fits_its_width_in_both_schemes(
    site: Site, looks: tuple[tuple[int, str], ...]
) -> None:
    _log_in(site)
    for width, scheme in looks:
        look(site.chrome, width=width, height=2000 if width > 1000 else 2600, scheme=scheme)
        for name, path in _pages().items():
            site.chrome.get(site.address + path)
            across = measure_width(site.chrome, limit=width)
            keep_picture(site.chrome, f"admin-{name}-{width}-{scheme}")
            assert across <= width, (name, width, scheme)
            assert run(site.chrome, BROKEN_WORDS) == [], (name, width, scheme)
    _no_complaints(site)


def test_the_forms_that_start_and_add_can_be_used_by_all(site: Site) -> None:
    _log_in(site)
    site.chrome.set_script_timeout(30)
    problems = []
    for noun in FORMS:
        look(site.chrome, width=1440)
        site.chrome.get(f"{site.address}/admin/matches/{noun}/add/")
        grave = [one for one in axe.violations(site.chrome) if one.is_grave]
        if noun in IN_THE_DARK:
            look(site.chrome, width=1440, scheme="dark")
            in_dark = axe.violations(site.chrome, only=axe.OF_COLOURS)
            grave += [one for one in in_dark if one.is_grave]
        problems += [f"{noun}: {one}" for one in grave]
    assert not problems, "\n".join(problems)


def test_an_architecture_has_fields_of_its_own_parameters(site: Site) -> None:
    _log_in(site)
    site.chrome.get(f"{site.address}/admin/matches/checkpoint/add/")
    architecture = site.chrome.find_element(By.NAME, "architecture")
    legends = ".ev-parameters fieldset:not([hidden]) legend"
    assert texts(site.chrome, legends) == []
    architecture.send_keys("rescnn")
    assert texts(site.chrome, legends) == ["rescnn"]
    assert not site.chrome.find_element(By.NAME, "parameters").is_displayed()
    keep_picture(site.chrome, "admin-architecture")
    architecture.send_keys("-of-ours")
    assert texts(site.chrome, legends) == []
    assert site.chrome.find_element(By.NAME, "parameters").is_displayed()
    _no_complaints(site)


def _pages() -> dict[str, str]:
    running = Tournament.objects.get(state="running")
    held = Agent.objects.get(name="mcts:100")
    many = "&".join(f"pk={pk}" for pk in Tournament.objects.values_list("pk", flat=True))
    return {
        "start": "/admin/",
        "tournaments": "/admin/matches/tournament/",
        "tournament": f"/admin/matches/tournament/{running.pk}/change/",
        "tournament-add": "/admin/matches/tournament/add/",
        "asks-cancel": f"/admin/matches/tournament/ask/cancel/?{many}",
        "agent": f"/admin/matches/agent/{held.pk}/change/",
        "schedule-add": "/admin/matches/schedule/add/",
        "schedule": f"/admin/matches/schedule/{Schedule.objects.get().pk}/change/",
        "checkpoint-add": "/admin/matches/checkpoint/add/",
        "token-add": "/admin/matches/tokenaccess/add/",
        "audit": "/admin/matches/auditrow/",
        "run": f"/admin/experience/trainingrun/{TrainingRun.objects.get().pk}/change/",
        "releases": "/admin/experience/release/",
        "release": f"/admin/experience/release/{Release.objects.get().pk}/change/",
        "worker": f"/admin/matches/worker/{Worker.objects.earliest('pk').pk}/change/",
    }


def _fill() -> None:
    """Have a finished, a running and a scheduled tournament, a held agent, a schedule."""
    now, actor = db_now(), auditing.Actor("ann")
    boards.played_board("connect-four")
    # Another seed than that of the finished one, whose games would not be played again.
    weekly = {"agents": boards.SEARCHERS, "game": "connect_four", "board": "weekly", "seed": 1}
    running = factories.planned(420, **weekly)
    boards.play_some(running, 60, boards.by_strength(), now=now)
    factories.scheduled(board="levels")
    factories.alive(node="gpu-1", capabilities=["gpu", "spot"], now=now)
    agent = Agent.objects.get(name="mcts:100")
    reason = "Forfeits every third match since this morning"
    quarantine.quarantine_agent(agent, actor=actor, reason=reason, now=now)
    schedule = Schedule(
        name="every Monday", leaderboard=running.leaderboard, crontab="30 4 * * 1", n_matches=420
    )
    scheduling.save_schedule(schedule, agents=[], actor=actor, now=now)
    Checkpoint.objects.create(
        **{"sha256": "ab" * 32, "game": "connect_four", "architecture": "mlp", "run": "second run"},
        **{"n_bytes": 1, "state": "refused", "reason": "not finite: head.weight", "step": 4000},
        created_at=now,
    )
    reason = "P(worse than poles@1000 by more than 20) is 0.990 after 48 matches"
    published(ended(1), 1, Release.State.HELD, reason=reason, sha256="ab" * 32)
    pushing.push_sample(now=now)


def _log_in(site: Site) -> None:
    site.chrome.get(f"{site.address}/admin/")
    site.chrome.find_element(By.NAME, "username").send_keys(NAME)
    site.chrome.find_element(By.NAME, "password").send_keys(PASSWORD, Keys.ENTER)
    wait_for(site.chrome, "State of the system")


def _no_complaints(site: Site) -> None:
    """Nothing failed to load and no script of the page failed."""
    complaints = cast(Any, site.chrome).get_log("browser")
    assert [one for one in complaints if one["level"] == REFUSED] == []
