"""Who is logged in, what is refused, and whose time it is, in a real browser."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from redis import Redis
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from matches.tests import factories
from tests import axe
from tests.browser import (
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
PASSWORD = "a long pass phrase"


def test_the_login_leads_back_and_times_are_those_of_the_viewer(
    transactional_db: None, broker: Redis, tmp_path: Path
) -> None:
    tournament = factories.planned(board="cup")
    User.objects.create_user("ada", password=PASSWORD)
    with web_server(free_port()) as address, chromium(tmp_path) as chrome:
        chrome.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
        agent = f"/agents/{tournament.agents.earliest('pk').pk}/"
        for width, scheme in ((1440, "light"), (390, "light"), (360, "dark")):
            look(chrome, width=width, height=900, scheme=scheme)
            for name, path in (
                ("agent", agent),
                ("not-here", "/leaderboards/nowhere/"),
                ("login", f"/admin/login/?next={agent}"),
            ):
                chrome.get(address + path)
                keep_picture(chrome, f"account-{name}-{width}-{scheme}")
                assert measure_width(chrome, limit=width) <= width, name
        chrome.find_element(By.NAME, "username").send_keys("ada")
        chrome.find_element(By.NAME, "password").send_keys(PASSWORD, Keys.ENTER)
        wait_for(chrome, "Logged in as ada")
        assert chrome.current_url == address + agent
        time_element = chrome.find_element(By.CSS_SELECTOR, "main time")
        utc = str(time_element.get_attribute("title"))
        assert utc.endswith(" UTC")
        hours = "return new Date(arguments[0]).getHours()"
        hour = int(run(chrome, hours, time_element.get_attribute("datetime")))
        assert hour == (int(utc[11:13]) + 9) % 24
        assert time_element.text[11:13] == f"{hour:02}"
        wait_for(chrome, "Times are those of Asia/Tokyo")
        assert [one for one in axe.violations(chrome) if one.is_grave] == []
        keep_picture(chrome, "account-in-360-dark")
        chrome.get(f"{address}/admin/")
        wait_for(chrome, "This account may not use the admin")
        chrome.get(address + agent)
        chrome.find_element(By.CSS_SELECTOR, ".account button").click()
        wait_for(chrome, "Not logged in")
        assert chrome.current_url == address + agent
