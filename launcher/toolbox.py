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

from launcher.folders import ROOT, var_folder
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
INSTALL = [PYTHON, "-m", "launcher", "tools", "install"]
SIMULATOR = [*INSTALL, "showdown"]
PACKAGE = ROOT / "environments" / "llmserve"
OPENENV = ("openenv-core", "openenv")
"""The tools in which its package is tested: the same code runs with either."""
TESTS = [PYTHON, "-m", "pytest"]
BROWSER_TESTS = sorted((ROOT / "tests").glob("test_browser_*.py"))
# As many wait for what they started; the tests of a file share what it starts. Slow files first.
AT_ONCE = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
# The whole may take half an hour: what takes longest is a suite of its own.
QUICK = ["-m", "not long and not compose", *AT_ONCE]
# What goes by the database itself: locks, plans of queries, orders of rows, what is counted once.
OF_THE_DATABASE = (
    *("auditing", "blobs", "closed_prefix", "costs", "evidence", "generations", "imports"),
    *("indexes", "judging", "locking", "match_search", "migrating", "planning", "quarantine"),
    *("rater", "record", "relay_and_sweep", "report_queue", "rerating", "reuse", "rewinding"),
    *("scheduling", "seasons", "shards", "standings", "strike_races", "thinning", "tournament_c"),
    "voiding",
)
ON_POSTGRES = ["matches", *QUICK, "-k", " or ".join(f"test_{name}" for name in OF_THE_DATABASE)]
# Tracing takes half again the time of a test, and most of that went to those of Django.
OF_DJANGO = (
    *("evalsite", "evalsite_client", "experience", "live", "matches", "pages"),
    *("tests/test_schemathesis.py", *(f"tests/{path.name}" for path in BROWSER_TESTS)),
)
OF_THE_REST = (
    *("arena", "examples", "gameservers", "inference", "launcher", "training", "workers", "tests"),
    # Files only: to ignore a folder of testpaths changes nothing, so those above are all named.
    *(f"--ignore={path}" for path in OF_DJANGO if path.endswith(".py")),
)
UNTRACED = [*OF_DJANGO, *QUICK]
TRACED = [*OF_THE_REST, *QUICK, "--cov", "--cov-report="]
COVERAGE = [PYTHON, "-m", "coverage", "report"]
# One line of the pure core that no test reaches fails the build; what plays and learns may miss
# some. The rest has a command of its own: see CONTRIBUTING.md.
FLOORS = {
    "arena/*": 100,
    "gameservers/*,inference/*,launcher/*,training/*,workers/*": 90,
}


def run_checks(options: argparse.Namespace | None = None) -> int:
    """Run every check, or with --environments those of environments/; return 1 when any fails."""
    if options and options.environments:
        return run_environment_checks()
    with tempfile.TemporaryDirectory(prefix="evalsite-check-") as var:
        # Only so that settings load: no check starts anything.
        needed = {"EVALSITE_VAR": var, "EVALSITE_SECRET_KEY": secrets.token_urlsafe(48)}
        return _run_all(CHECKS, os.environ | needed, ROOT)


def run_environment_checks(*, is_quick: bool = False) -> int:
    """Check and test the OpenEnv package in both of its tools, which are installed if missing.

    is_quick: in the first one only, without what starts programs that import all of OpenEnv.
    """
    tools = OPENENV[: 1 if is_quick else None]
    if failed := _call_tool([*INSTALL, *tools]):
        return failed
    # What is imported there is the package's own and the tool's, whatever is set here.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return _run_all(list_environment_checks(tools, is_quick=is_quick), environment, PACKAGE)


def list_environment_checks(names: Sequence[str], *, is_quick: bool) -> dict[str, list[str]]:
    """Return the commands, to be called in the package's folder."""
    tools = {name: var_folder(os.environ) / "tools" / name / "bin" for name in names}
    chosen = ["-m", "not slow"] if is_quick else []
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    return {
        "copy": [PYTHON, str(ROOT / "environments" / "copy_simulator.py"), "--check"],
        "format": [str(TOOLS / "ruff"), "format", "--check", "."],
        "lint": [str(TOOLS / "ruff"), "check", "."],
        "lock": [str(tools[names[0]] / "uv"), "lock", "--check"],
        **{name: [str(programs / "python"), *tests] for name, programs in tools.items()},
    }


def _run_all(
    checks: Mapping[str, Sequence[str]], environment: Mapping[str, str], folder: Path
) -> int:
    """Run the commands, two at a time, and print how each went; return 1 when any fails."""
    n_failed = 0
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(partial(_run_check, environment, folder), checks.values())
        for (name, command), (result, took_s) in zip(checks.items(), runs, strict=True):
            is_passed = result.returncode == 0
            if not is_passed:
                print(
                    f"--- {name}: {' '.join(command)}\n{result.stdout}{result.stderr}", flush=True
                )
            print(f"{name:<12} {'ok' if is_passed else 'FAILED':<7} {took_s:6.1f} s", flush=True)
            n_failed += not is_passed
    return int(n_failed > 0)


def _run_check(
    environment: Mapping[str, str], folder: Path, command: Sequence[str]
) -> tuple[subprocess.CompletedProcess[str], float]:
    started = time.monotonic()
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return result, time.monotonic() - started


def run_tests(arguments: Sequence[str]) -> int:
    """Run the checks and all tests on both databases; with arguments only pytest, with them."""
    _ensure_browser(os.environ)
    if arguments:
        return _call_tool([*TESTS, *arguments])
    # Without it the tests of its games are skipped, which they say.
    failed = _call_tool(SIMULATOR)
    failed |= run_checks(None)
    failed |= run_environment_checks(is_quick=True)
    failed |= _call_tool([*TESTS, *UNTRACED])
    failed |= _call_tool([*TESTS, *TRACED])
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
