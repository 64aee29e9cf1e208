"""A whole stack for the tests that cross packages: real servers, workers and supervisor."""

import multiprocessing
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from launcher.stack import Stack, start_stack
from tests import installed


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, migrated_database: Path) -> Iterator[Stack]:
    """Run two play nodes of two slots for a file, with the API but without the monitor.

    Not for the session: control has work each second, which slows all tests that come after.
    """
    var = tmp_path_factory.mktemp("cluster") / "var"
    var.mkdir()
    # That a stack makes its tables by itself is shown elsewhere (launcher, README).
    shutil.copy(migrated_database, var / "db.sqlite3")
    # A process that ends is its parent: tests of play nodes end all that descends from themselves,
    # and a later test of this session would find neither broker nor supervisor.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as starter:
        running = starter.submit(start_stack, var, nodes=2, slots=2, web=True).result()
    with running:
        yield running


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with nothing but the installed client."""
    wheel = installed.build_wheel(tmp_path_factory.mktemp("wheel"))
    return installed.install(wheel, tmp_path_factory.mktemp("elsewhere") / "venv")
