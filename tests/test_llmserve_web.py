"""OpenEnv's page of LLMServe in a real browser: it loads in two sizes, its form plays a window."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
import requests
from selenium import webdriver

from launcher.folders import ROOT
from launcher.tools import MissingToolError, find_tool
from tests.browser import (
    chromium,
    complaints,
    free_port,
    keep_picture,
    look,
    measure_width,
    requested,
    run,
    texts,
    wait_for,
    wait_until,
)

pytestmark = [pytest.mark.slow, pytest.mark.browser]

STARTED_WITHIN_S = 90
# Gradio asks for these at the root, where it is not mounted.
NOT_OURS = ("/manifest.json", "/favicon.ico", "Manifest fetch from")
FIELDS = ("Batch Cap", "Kv Budget Fraction", "Speculation Depth", "Quantization Tier")
FILL_IN = """
const [label, value] = arguments;
const field = document.querySelector(`input[aria-label="${label}"]`);
field.value = value;
field.dispatchEvent(new Event("input", { bubbles: true }));
"""
PRESS = "[...document.querySelectorAll('button')].find((b) => b.innerText === arguments[0]).click()"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as chrome:
        yield chrome


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    """Serve it as the image does, with the release that it has; return its address."""
    try:
        python = find_tool("openenv-core", ROOT / "var") / "bin" / "python"
    except MissingToolError as error:
        pytest.skip(str(error))
    port = free_port()
    command = [str(python), "-m", "uvicorn", "server.app:app", "--port", str(port)]
    environment = os.environ | {"ENABLE_WEB_INTERFACE": "true"}
    with subprocess.Popen(command, cwd=ROOT / "environments/llmserve", env=environment) as server:
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", server)
            yield f"http://127.0.0.1:{port}/web"
        finally:
            server.terminate()


def wait_until_healthy(url: str, server: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < until:
        assert server.poll() is None
        with suppress(requests.RequestException):
            if requests.get(f"{url}/health", timeout=5).ok:
                return
        time.sleep(0.2)
    raise AssertionError("the server did not start in time")


def open_page(browser: webdriver.Chrome, page: str, *, width: int) -> None:
    look(browser, width=width)
    browser.get(page)
    wait_for(browser, "Playground", limit_s=60)
    wait_until(browser, lambda: "Step" in texts(browser, "button"))


def read_field(browser: webdriver.Chrome, label: str) -> str:
    script = "return document.querySelector(`input[aria-label='${arguments[0]}']`).value"
    return str(run(browser, script, label))


def read_status(browser: webdriver.Chrome) -> str:
    return str(run(browser, "return document.querySelector('textarea').value"))


def press(browser: webdriver.Chrome, button: str, *, expect: str) -> None:
    run(browser, PRESS, button)
    wait_until(browser, lambda: expect in read_status(browser), message=expect)


@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_loads_from_its_server_alone_and_fits(
    page: str, browser: webdriver.Chrome, width: int
) -> None:
    complaints(browser)
    requested(browser)
    open_page(browser, page, width=width)
    assert measure_width(browser, limit=width) <= width
    errors = [one for one in complaints(browser) if not any(name in one for name in NOT_OURS)]
    assert errors == []
    hosts = {url.split("/")[2] for url in requested(browser) if url.startswith("http")}
    assert hosts == {page.split("/")[2]}
    # What it tells to copy is what this package has, not what OpenEnv makes of its class's name.
    assert "from llmserve_env import LLMServeEnv" in " ".join(texts(browser, "pre"))
    keep_picture(browser, f"llmserve-web-{width}", is_whole=True)


def test_its_form_begins_with_the_defaults_and_plays_a_window(
    page: str, browser: webdriver.Chrome
) -> None:
    open_page(browser, page, width=390)
    assert [read_field(browser, label) for label in FIELDS] == ["32", "1", "0", "FP16"]
    press(browser, "Reset", expect="Environment reset successfully.")
    press(browser, "Step", expect="Step complete.")
    wait_for(browser, '"step_index": 1')
    run(browser, FILL_IN, "Batch Cap", "0")
    press(browser, "Step", expect="batch_cap")
    assert "greater than or equal to 1" in read_status(browser)
    run(browser, FILL_IN, "Batch Cap", "64")
    press(browser, "Step", expect="Step complete.")
    wait_for(browser, '"step_index": 2')
    wait_for(browser, "Reward:")
    keep_picture(browser, "llmserve-web-played", is_whole=True)
