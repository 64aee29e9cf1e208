"""A web server and a real browser for tests."""

import base64
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
import uvicorn
from selenium import webdriver
from selenium.common.exceptions import (
    JavascriptException,
    NoSuchElementException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from evalsite.asgi import application

ARTIFACTS = Path(__file__).resolve().parent.parent / "test-artifacts"
TWO_LOOKS = ((360, "dark"), (1440, "light"))
"""Each size and each light once."""
STARTED_WITHIN_S = 10
SHOWN_WITHIN_S = 15
"""A page that changes by itself has changed by then, on a busy machine, too."""
LAID_OUT_WITHIN_S = 5
LOOK_EVERY_S = 0.05
BETWEEN_PAGES = (NoSuchElementException, StaleElementReferenceException, JavascriptException)
"""What a look may meet while one page gives way to the next."""
TALLEST_PICTURE = 6_000
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def web_server(port: int) -> Iterator[str]:
    """Run the application as uvicorn does in production; give its address."""
    config = uvicorn.Config(
        application,
        port=port,
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + STARTED_WITHIN_S
    while not server.started:
        assert thread.is_alive(), "the web server did not start"
        assert time.monotonic() < deadline, "the web server did not start in time"
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


class Chromium(webdriver.Chrome):
    """A browser that has left a page before it says that it is at the next."""

    def get(self, url: str) -> None:
        """Go there, and wait until its page is loaded.

        The driver may take the end of a page that was still loading for that of the next one.
        """
        run(self, "window.isLeft = true")
        super().get(url)
        is_there = "return !window.isLeft && document.readyState === 'complete'"
        wait_until(self, lambda: run(self, is_there), message=f"the page {url}")


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """Run a headless Chromium, or skip where there is none; in CI that is a failure."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = "browser tests need chromium and chromedriver: apt-get install chromium-driver"
        assert not os.environ.get("CI"), missing
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chromium(options=options, service=Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def look(
    chrome: webdriver.Chrome,
    *,
    width: int,
    height: int = 900,
    scheme: str = "light",
    motion: str = "no-preference",
) -> None:
    """Give the page this size and the reader these preferences."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < height}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preferences = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
    features = [{"name": name, "value": value} for name, value in preferences.items()]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@contextmanager
def scripts(chrome: webdriver.Chrome, *, is_on: bool) -> Iterator[None]:
    """Let pages run JavaScript, or none; afterwards it is on again."""
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not is_on})
    try:
        yield
    finally:
        chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def run(chrome: webdriver.Chrome, script: str, *arguments: Any) -> Any:
    """Return what a script returns that runs in the page at one moment."""
    return cast(Any, chrome).execute_script(script, *arguments)


def words(chrome: webdriver.Chrome) -> str:
    """Return the words of the page; none while the next one is on its way."""
    return str(run(chrome, "return document.body?.innerText ?? ''"))


def texts(chrome: webdriver.Chrome, selector: str) -> list[str]:
    """Return the words of what a selector finds, in the order of the page, read at one moment."""
    script = """return [...document.querySelectorAll(arguments[0])].map(
        (e) => (e.innerText ?? e.textContent).trim())"""
    return [str(text) for text in run(chrome, script, selector)]


def wait_until(
    chrome: webdriver.Chrome,
    condition: Callable[[], object],
    *,
    limit_s: float = SHOWN_WITHIN_S,
    message: str = "",
) -> None:
    """Look again and again until it is so, also across pages."""
    waiting = WebDriverWait(
        chrome, limit_s, poll_frequency=LOOK_EVERY_S, ignored_exceptions=BETWEEN_PAGES
    )
    waiting.until(lambda _: condition(), message)


def wait_for(chrome: webdriver.Chrome, text: str, *, limit_s: float = SHOWN_WITHIN_S) -> None:
    """Wait until the page shows these words."""
    wait_until(chrome, lambda: text in words(chrome), limit_s=limit_s, message=text)


def complaints(chrome: webdriver.Chrome) -> list[str]:
    """Return the errors in the console since the last call."""
    entries = cast(Any, chrome).get_log("browser")
    return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]


def requested(chrome: webdriver.Chrome) -> list[str]:
    """Return the addresses that pages asked for since the last call, those of Chromium aside."""
    entries = cast(Any, chrome).get_log("performance")
    events = [json.loads(entry["message"])["message"] for entry in entries]
    calls = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # A Chromium that has just started may still be loading its own page of a new tab.
    pages = [one for one in calls if not one["documentURL"].startswith("chrome")]
    return [one["request"]["url"] for one in pages]


def measure_width(chrome: webdriver.Chrome, *, limit: int) -> int:
    """Return how wide the page is: soon within the limit, or what it is after some seconds.

    On a busy machine a page that has just come is laid out for a wider window first.
    """

    def read() -> int:
        return cast(int, run(chrome, "return document.documentElement.scrollWidth"))

    with suppress(TimeoutException):
        WebDriverWait(chrome, LAID_OUT_WITHIN_S).until(lambda _: read() <= limit)
    return read()


def keep_picture(chrome: webdriver.Chrome, name: str, *, is_whole: bool = False) -> None:
    """Keep a screenshot to be looked at: of what the window shows, or of the whole page."""
    ARTIFACTS.mkdir(exist_ok=True)
    options: dict[str, Any] = {"captureBeyondViewport": is_whole, "optimizeForSpeed": True}
    if is_whole:
        # On a busy machine a page that has just come is not laid out yet.
        wait_until(chrome, lambda: _measure_page(chrome)["width"], message="a page laid out")
        size = _measure_page(chrome)
        height = min(size["height"], TALLEST_PICTURE)
        options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
    # On a busy machine it may still think that the page before is on its way out.
    waiting = WebDriverWait(chrome, SHOWN_WITHIN_S, ignored_exceptions=(TimeoutException,))
    shot = waiting.until(lambda _: chrome.execute_cdp_cmd("Page.captureScreenshot", options))
    (ARTIFACTS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def _measure_page(chrome: webdriver.Chrome) -> dict[str, int]:
    size: dict[str, int] = chrome.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    return size
