"""The page of a training run in a browser: it goes on by itself, and its reader is not lost."""

from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from redis import Redis
from selenium.webdriver.common.by import By

from experience.models import TrainingRun
from experience.tests import trained_runs
from matches.store.clock import db_now
from tests.browser import (
    chromium,
    free_port,
    look,
    measure_width,
    run,
    wait_for,
    wait_until,
    web_server,
    words,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FOCUSED = "return document.activeElement.closest('details')?.open === true"
AWAY = "The server does not answer. What stands here is of"
WIDTHS = (1440, 1600)
"""The least at which the links stand in the header beside who is logged in, and in what words."""


def test_a_run_is_followed_to_its_end_without_a_reload(
    transactional_db: None, broker: Redis, tmp_path: Path
) -> None:
    now = db_now()
    begun = trained_runs.make_run(now=now, order=UUID(int=1), slice=4, reported_slice=4)
    trained_runs.teach(begun, 30, now=now)
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        look(chrome, width=1440)
        chrome.get(f"{address}/runs/poles/")
        run(chrome, "window.isTheSamePage = true")
        assert "46,400 of 200,000 steps" in words(chrome)
        # Enter on a summary is a click; the focus is on it.
        chrome.find_element(By.CSS_SELECTOR, '[data-part="returns"] summary').click()
        assert run(chrome, FOCUSED)
        begun.releases.all().delete()
        trained_runs.teach(begun, 60, now=db_now())
        wait_for(chrome, "94,400 of 200,000 steps")
        assert run(chrome, FOCUSED), "the table that was read is folded, or the focus is lost"
        over = {"state": "done", "n_steps": 200_000, "is_closed": True, "ended_at": db_now()}
        TrainingRun.objects.update(has_group=False, order=None, **over)
        wait_for(chrome, "It has learned from all its 200,000 steps")
        ended = "return !!document.querySelector('[data-follows][data-state=ended]')"
        wait_until(chrome, lambda: run(chrome, ended))
        assert run(chrome, "return window.isTheSamePage") is True
        chrome.get("about:blank")


def test_a_run_says_while_the_server_is_away_of_when_its_page_is(
    transactional_db: None, broker: Redis, tmp_path: Path
) -> None:
    trained_runs.make_run(now=db_now(), order=UUID(int=1), slice=4, reported_slice=4)
    port = free_port()
    with chromium(tmp_path) as chrome:
        with web_server(port) as address:
            chrome.get(f"{address}/runs/poles/")
            assert AWAY not in words(chrome)
        wait_for(chrome, AWAY)
        with web_server(port):
            wait_until(chrome, lambda: AWAY not in words(chrome))
            chrome.get("about:blank")


def test_the_header_has_room_for_its_links_and_for_who_is_logged_in(
    transactional_db: None, broker: Redis, tmp_path: Path
) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("an.administrator", password="long enough"))
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value}
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        chrome.get(f"{address}/models/")
        chrome.add_cookie(cookie)
        for width in WIDTHS:
            look(chrome, width=width)
            chrome.get(f"{address}/models/")
            named = "return document.querySelector('.account').textContent"
            assert "an.administrator" in run(chrome, named)
            assert measure_width(chrome, limit=width) <= width
            top = "return document.querySelector('header.site').getBoundingClientRect().height"
            field = "return document.querySelector('.search').getBoundingClientRect().width"
            assert run(chrome, top) < 90, "the header has broken into two rows"
            assert run(chrome, field) > 100
        chrome.get("about:blank")


def test_the_header_takes_no_more_lines_whatever_the_name_of_who_is_logged_in(
    transactional_db: None, broker: Redis, tmp_path: Path
) -> None:
    user = User.objects.create_superuser("ann", password="long enough")
    client = Client()
    client.force_login(user)
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value}
    height = "return document.querySelector('header.site').getBoundingClientRect().height"
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        chrome.get(f"{address}/models/")
        chrome.add_cookie(cookie)
        heights: list[list[float]] = []
        for name in ("an.administrator", "a" * 150):
            User.objects.filter(pk=user.pk).update(username=name)
            heights.append([])
            for width in (360, 720, 1000, 1440):
                look(chrome, width=width)
                chrome.get(f"{address}/models/")
                heights[-1].append(run(chrome, height))
                assert measure_width(chrome, limit=width) <= width
        # Parts may be lined up differently, but there is no line more.
        assert all(abs(one - other) < 20 for one, other in zip(*heights, strict=True)), heights
        chrome.get("about:blank")
