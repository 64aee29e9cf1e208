"""`./run check` and `./run test`: what runs here is what CI runs."""

import argparse
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from launcher.folders import ROOT
from launcher.programs import ONE_THREAD, PYTHON

TOOLS = Path(PYTHON).parent
CHECKS: dict[str, list[str]] = {
    "format": [str(TOOLS / "ruff"), "format", "--check", "."],
    "lint": [str(TOOLS / "ruff"), "check", "."],
    "types": [str(TOOLS / "mypy"), "--num-workers", "2"],
    "imports": [str(TOOLS / "lint-imports"), "--no-logo"],
    "templates": [str(TOOLS / "djlint"), "templates", "--lint", "--profile=django"],
    "migrations": [PYTHON, "manage.py", "makemigrations", "--check", "--dry-run"],
    "options": [PYTHON, "manage.py", "write_client_options", "--check"],
    "client": [PYTHON, "manage.py", "write_client_api", "--check"],
    "settings": [PYTHON, "manage.py", "check", "--fail-level", "WARNING"],
    "deployment": [
        *("env", "EVALSITE_HTTPS=1", "EVALSITE_PROXIES=1"),
        *(PYTHON, "manage.py", "check", "--deploy", "--fail-level", "WARNING"),
    ],
}
BROWSER_PACKAGES = ("chromium", "chromium-driver")
HOW_TO_GET_A_BROWSER = (
    "Chromium and its driver are missing: the browser tests are skipped. "
    "Debian: apt-get install chromium chromium-driver"
)
SIMULATOR = [PYTHON, "-m", "launcher", "tools", "install", "showdown"]
TESTS = [PYTHON, "-m", "pytest"]
# As many wait for what they started; the tests of a file share what it starts. Slow files first.
AT_ONCE = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
# The whole may take a quarter of an hour: what takes longest is a suite of its own.
QUICK = ["-m", "not long and not compose", *AT_ONCE]
# The faces ask the same services on either database: once is enough for them.
ON_POSTGRES = ["matches", *QUICK, "-k", "not test_api and not test_admin"]
# Tracing takes half again the time of a test. More is covered than this counts, never less.
TRACED = ["--cov", "--cov-report=", "--cov-first-cases"]
COVERAGE = [PYTHON, "-m", "coverage", "report"]
# One line of the pure core that no test reaches fails the build; the thin edges may miss some.
FLOORS = {"arena/*": 100, "*": 90}


def run_checks(_: argparse.Namespace | None = None) -> int:
    """Run every check, two at a time; return 1 when any fails."""
    n_failed = 0
    with (
        tempfile.TemporaryDirectory(prefix="evalsite-check-") as var,
        ThreadPoolExecutor(2) as pool,
    ):
        # Only so that settings load: no check starts anything.
        needed = {"EVALSITE_VAR": var, "EVALSITE_SECRET_KEY": secrets.token_urlsafe(48)}
        runs = pool.map(partial(_run_check, os.environ | needed), CHECKS.values())
        for (name, command), (done, took_s) in zip(CHECKS.items(), runs, strict=True):
            is_passed = done.returncode == 0
            if not is_passed:
                print(f"--- {name}: {' '.join(command)}\n{done.stdout}{done.stderr}", flush=True)
            print(f"{name:<12} {'ok' if is_passed else 'FAILED':<7} {took_s:6.1f} s", flush=True)
            n_failed += not is_passed
    return int(n_failed > 0)


def _run_check(
    environment: Mapping[str, str], command: Sequence[str]
) -> tuple[subprocess.CompletedProcess[str], float]:
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done, time.monotonic() - started


def run_tests(arguments: Sequence[str]) -> int:
    """Run the checks and all tests on both databases; with arguments only pytest, with them."""
    _ensure_browser(os.environ)
    if arguments:
        return _call_tool([*TESTS, *arguments])
    # Without it the tests of its games are skipped, which they say.
    failed = _call_tool(SIMULATOR)
    failed |= run_checks(None)
    failed |= _call_tool([*TESTS, *QUICK, *TRACED])
    second = {"EVALSITE_TEST_DATABASE": "postgres"}
    failed |= _call_tool([*TESTS, *ON_POSTGRES], second)
    for included, floor in FLOORS.items():
        failed |= _call_tool([*COVERAGE, f"--include={included}", f"--fail-under={floor}"])
    print("FAILED" if failed else "All checks and tests passed.")
    return failed


def _call_tool(command: Sequence[str], extra: Mapping[str, str] | None = None) -> int:
    environment = {**os.environ, **ONE_THREAD, **(extra or {})}
    return int(subprocess.call(command, cwd=ROOT, env=environment) != 0)


def _ensure_browser(environment: Mapping[str, str]) -> None:
    if shutil.which("chromedriver"):
        return
    debian_ci = environment.get("CI") == "true" and shutil.which("apt-get") and os.geteuid() == 0
    if not debian_ci:
        print(HOW_TO_GET_A_BROWSER, file=sys.stderr)
        return
    subprocess.run(["apt-get", "update", "-q"], check=True)
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *BROWSER_PACKAGES]
    subprocess.run(install, env={**environment, "DEBIAN_FRONTEND": "noninteractive"}, check=True)
