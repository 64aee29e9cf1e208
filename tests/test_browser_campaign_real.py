"""A campaign on real processes in the browser: real agents, real queues, from start to verdict."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

import pytest
from selenium.webdriver.common.by import By

from launcher.folders import ROOT
from launcher.stack import start_stack
from tests.browser import chromium, keep_picture, look, run, wait_until, words
from tests.commands import evalsite
from tests.test_browser_campaign import NAME, OVER, PASSWORD, log_in, start_in_the_admin
from tests.test_browser_gallery import Site

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]

DECIDED_WITHIN_S = 60
SHOWN = "return !!document.querySelector('[data-follows]')"
AGENTS = "random,greedy,mcts:20,mcts:600"


def test_a_real_field_is_decided_before_the_eyes_of_the_reader(tmp_path: Path) -> None:
    with start_stack(tmp_path / "var", nodes=1, slots=2, web=True) as stack:
        done = evalsite(
            stack, "evaluate", *_list_options(), "--json", str(tmp_path / "report.json")
        )
        assert done.returncode == 0, done.stderr
        _manage(stack.env, "createsuperuser", "--noinput", "--username", NAME, "--email", "a@b.cd")
        address = f"http://127.0.0.1:{stack.plan.ports.web}"
        with chromium(tmp_path / "profile") as chrome:
            look(chrome, width=1440)
            site = Site(chrome, address)
            log_in(site)
            board, agents = _listed(address)
            start_in_the_admin(site, board, agents, 400, error="0.001")
            _watch(site, "which is best")
            keep_picture(chrome, "campaign-real-1440-light", is_whole=True)
            page_text = words(site.chrome)
            assert "mcts:600 is the best" in page_text
            assert "Saved: 12 matches were known before and not played." in page_text
            assert "not yet" not in page_text


def _watch(site: Site, name: str) -> None:
    """Open the page of the campaign at once and wait for its verdict, without a reload."""
    site.chrome.get(f"{site.address}/campaigns/")
    link = "//th[.//*[@class='called'][text()='{}']]/a"
    site.chrome.find_element(By.XPATH, link.format(name)).click()
    wait_until(site.chrome, lambda: run(site.chrome, SHOWN))
    assert not run(site.chrome, OVER), "it ended before anybody could look"
    run(site.chrome, "window.isTheSamePage = true")
    wait_until(site.chrome, lambda: run(site.chrome, OVER), limit_s=DECIDED_WITHIN_S)
    assert run(site.chrome, "return window.isTheSamePage") is True


def _list_options() -> tuple[str, ...]:
    return ("--game", "connect_four", "--agents", AGENTS, "--num-matches", "12")


def _listed(address: str) -> tuple[int, list[int]]:
    """Return the leaderboard and the agents, as the API lists them."""
    ids = []
    for name in ("leaderboards", "agents"):
        with urlopen(f"{address}/api/v1/{name}/", timeout=10) as answer:
            ids.append([row["id"] for row in json.load(answer)["results"]])
    return ids[0][0], ids[1]


def _manage(env: Mapping[str, str], *arguments: str) -> None:
    command = [sys.executable, "manage.py", *arguments]
    env = {**env, "DJANGO_SUPERUSER_PASSWORD": PASSWORD, "HOME": os.environ.get("HOME", "/tmp")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
