"""Is this system ready? One check per part, each quick, with what to do when it is not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis import Redis
from redis.exceptions import RedisError

from arena import plugins
from matches import dispatch
from matches.errors import BrokerError
from matches.ledger import recorder_marks
from matches.operations.system import pushing
from matches.store import disk, fast_store, stream_server
from matches.store.formats import format_span
from matches.store.stream_server import Memory

CONTROL_WITHIN = timedelta(seconds=10)
"""Nothing expires from 5 s on; twice that is no passing delay."""


@dataclass(frozen=True)
class Check:
    """What one check found; hint says what to do when it is not ok."""

    name: str
    is_ok: bool
    detail: str
    hint: str = ""
    is_needed: bool = True
    """False for what only part of the work needs: the system is ready without it."""


class NotReadyError(Exception):
    """A part is not ready; the message says what was found."""


def run_checks(*, now: Callable[[], datetime]) -> list[Check]:
    """Return every check; without a database the rest cannot be told."""
    database = _run_check("database", _check_database)
    if not database.is_ok:
        return [database]
    moment = now()  # the clock is the database's: not before it is known to answer
    duties: Mapping[str, Callable[[], str]] = {
        "migrations": _check_migrations,
        "disk": _check_disk,
        "broker": _check_broker,
        "fast store": _check_fast_store,
        "control": lambda: _check_control(moment),
        "recorder": lambda: _check_recorder(moment),
    }
    checks = [database, *(_run_check(name, check) for name, check in duties.items())]
    if settings.STREAM_REDIS_URL:
        # Matches go on without it.
        checks.append(_run_check("stream", _check_stream, is_needed=False))
    return [*checks, _check_plugins()]


def _run_check(name: str, check: Callable[[], str], *, is_needed: bool = True) -> Check:
    try:
        return Check(name, True, check(), is_needed=is_needed)
    except NotReadyError as error:
        return Check(name, False, str(error), _HINTS[name], is_needed)
    except (DatabaseError, BrokerError, RedisError) as error:
        # Its message may hold addresses; everybody may read this.
        detail = f"does not answer ({type(error).__name__})"
        return Check(name, False, detail, _HINTS[name], is_needed)


_HINTS = {
    "database": "look at DATABASE_URL and the database's own log",
    "migrations": "run ./run manage migrate, or start with ./run",
    "disk": "free some room, or set EVALSITE_DISK_FLOOR_MB lower; it goes on by itself",
    "broker": "start it with ./run, or look at REDIS_URL; where it is full, give it more memory",
    "fast store": "start it with ./run, or look at FAST_REDIS_URL; where it is full, give it more "
    "memory",
    "stream": "look at ./run status, var/log/stream.log and var/log/sink.log, or at "
    "STREAM_REDIS_URL; EVALSITE_STREAM_MB gives it more memory",
    "control": "look at ./run status, var/log/control.log and var/log/beat.log",
    "recorder": "look at ./run status and var/log/recorder.log (or of its name). If it stays more "
    "than a second behind under load, reports come faster than it records: on PostgreSQL "
    "./run up --recorders 2 shares the tournaments",
}


def _check_database() -> str:
    is_postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only" if is_postgres else "SELECT 1")
        # Such as a standby that is to take over, or a server whose disk is full.
        if cursor.fetchone() == ("on",):
            raise NotReadyError("may only be read")
    return f"{connection.vendor} answers"


class _MigrationCheck:
    """Whether all migrations were applied: once that is so it stays so for this code."""

    def __init__(self) -> None:
        self._is_known = False
        self._lock = Lock()

    # Kept once it is so: every probe asks, and the executor reads every migration file.
    def __call__(self) -> str:
        with self._lock:
            if not self._is_known:
                executor = MigrationExecutor(connection)
                missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
                if missing:
                    raise NotReadyError(f"{len(missing)} are not applied")
                self._is_known = True
        return "all are applied"


_check_migrations = _MigrationCheck()


def _check_disk() -> str:
    if shortage := disk.describe_shortage():
        raise NotReadyError(f"is nearly full, so nothing is sent: {shortage}")
    return "has room"


def _check_broker() -> str:
    version = dispatch.ping_broker()
    _read_room(dispatch.get_broker())
    return f"version {version} answers{_describe_rights('broker')}"


def _check_fast_store() -> str:
    _read_room(fast_store.get_client())
    return f"answers{_describe_rights('fast')}"


def _check_stream() -> str:
    memory = _read_room(stream_server.get_client())
    return f"answers, {memory}{_describe_rights('stream')}"


def _read_room(client: Redis) -> Memory:
    """Return how full a server is that has room left."""
    memory = stream_server.read_memory(client)
    if memory.is_full:
        raise NotReadyError(f"is full: {memory}")
    return memory


def _describe_rights(server: str) -> str:
    is_enforced = server not in settings.EVALSITE_UNENFORCED
    return "" if is_enforced else "; rights are not enforced: every node may do everything there"


def _check_control(now: datetime) -> str:
    state = pushing.read_latest()
    if state is None or state.control_at is None:
        raise NotReadyError("has not ticked yet")
    silent = now - state.control_at
    if silent > CONTROL_WITHIN:
        raise NotReadyError(f"has not ticked for {format_span(silent.total_seconds())}")
    return f"ticked {format_span(max(0.0, silent.total_seconds()))} ago"


def _check_plugins() -> Check:
    """Say which plug-ins this process cannot use; it works without them."""
    broken = plugins.list_problems()
    if broken:
        hint = "mend or move the file, then start evalsite again; everything else goes on"
        return Check("plug-ins", False, "; ".join(map(str, broken)), hint, is_needed=False)
    return Check("plug-ins", True, "each can be used", is_needed=False)


def _check_recorder(now: datetime) -> str:
    mark = recorder_marks.find_slowest_mark(recorder_marks.read_marks())
    name = f"{mark.recorder} " if settings.EVALSITE_RECORDERS > 1 else ""
    lag_s = mark.lag_s(now=now)
    if lag_s is None:
        raise NotReadyError(f"{name}has recorded nothing yet")
    if lag_s > recorder_marks.MOST_LAG_S:
        raise NotReadyError(f"{name}is {format_span(lag_s)} behind")
    return f"{name}{lag_s:.1f} s behind"
