"""A web server and a real browser for tests."""

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from evalsite.asgi import application

ARTIFACTS = Path(__file__).resolve().parent.parent / "test-artifacts"
STARTED_WITHIN_S = 10
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
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def look(chrome: webdriver.Chrome, *, width: int, height: int = 900, scheme: str = "light") -> None:
    """Give the page this size and the reader this preference."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < height}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preference = {"name": "prefers-color-scheme", "value": scheme}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preference]})


def keep_picture(chrome: webdriver.Chrome, name: str) -> None:
    """Keep a screenshot to be looked at."""
    ARTIFACTS.mkdir(exist_ok=True)
    chrome.save_screenshot(str(ARTIFACTS / f"{name}.png"))
