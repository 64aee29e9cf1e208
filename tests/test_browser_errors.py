"""The pages of what went wrong, in a real browser: plain words, a way on, every size and light."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from redis import Redis
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests import axe
from tests.browser import (
    TWO_LOOKS,
    chromium,
    free_port,
    keep_picture,
    look,
    measure_width,
    run,
    wait_for,
    web_server,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LOOKS = tuple(product((1440, 360), ("light", "dark")))
PASSWORD = "a long pass phrase"
SEND_WITHOUT_MARK = """
const form = document.querySelector("form.login");
form.querySelector("[name=csrfmiddlewaretoken]").remove();
form.submit();"""


@pytest.fixture
def chrome(transactional_db: None, broker: Redis, tmp_path: Path) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path) as browser:
        yield browser


def _expect_sound(chrome: webdriver.Chrome, name: str, *words: str) -> None:
    """Expect these words, a way on, and a page that everybody can read in every look."""
    for words_of_page in words:
        wait_for(chrome, words_of_page)
    assert chrome.find_elements(By.CSS_SELECTOR, "header.site"), "not in the look of the site"
    ways_on = chrome.find_elements(By.CSS_SELECTOR, "main a[href], main form")
    assert ways_on, f"{name}: no way on"
    for width, scheme in LOOKS:
        look(chrome, width=width, scheme=scheme)
        assert measure_width(chrome, limit=width) <= width, name
        keep_picture(chrome, f"error-{name}-{width}-{scheme}")
        # It takes longest.
        violations = axe.violations(chrome) if (width, scheme) in TWO_LOOKS else []
        assert [one for one in violations if one.is_grave] == [], (name, width, scheme)


def _send_login(chrome: webdriver.Chrome, name: str, password: str) -> None:
    chrome.find_element(By.NAME, "username").send_keys(name)
    chrome.find_element(By.NAME, "password").send_keys(password, Keys.ENTER)


def test_what_went_wrong_is_told_in_plain_words_with_a_way_on(
    chrome: webdriver.Chrome, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.create_user("viewer", password=PASSWORD, is_staff=True)

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a test")

    monkeypatch.setattr("pages.system.pushing.read_newest", fail)
    with web_server(free_port()) as address:
        chrome.get(f"{address}/leaderboards/nowhere/")
        _expect_sound(chrome, "404", "There is nothing at this address")
        chrome.get(f"{address}/system/")
        _expect_sound(chrome, "500", "This site has made an error")
        chrome.get(f"{address}/login/")
        run(chrome, SEND_WITHOUT_MARK)
        _expect_sound(chrome, "csrf", "nothing was done")
        chrome.get(f"{address}/login/?next=/admin/matches/agent/")
        _expect_sound(chrome, "login", "After that you see /admin/matches/agent/")
        _send_login(chrome, "viewer", PASSWORD)
        _expect_sound(chrome, "403", "You may not do that", "You are logged in as viewer")


def test_who_is_locked_out_reads_for_how_long(chrome: webdriver.Chrome) -> None:
    User.objects.create_user("ada", password=PASSWORD)
    with web_server(free_port()) as address:
        chrome.get(f"{address}/login/")
        _send_login(chrome, "ada", "wrong")
        _expect_sound(chrome, "wrong-password", "Name and password do not fit together")
        AccessAttempt.objects.update(failures_since_start=5)
        chrome.get(f"{address}/login/")
        _send_login(chrome, "ada", PASSWORD)
        _expect_sound(chrome, "locked", "Too many wrong passwords", "15 minutes")
