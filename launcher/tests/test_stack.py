"""The stack with real processes; one is shared by the tests that leave it whole."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path

import psutil
import pytest
import requests
from redis import Redis

from arena.acl import ADMIN, ROLES, SERVERS, role_password
from arena.credentials import Purpose, node_secret
from launcher.addresses import Ports
from launcher.errors import SetupError
from launcher.folders import ROOT, SECRETS, read_variables
from launcher.plan import FLOWER_USER, Plan
from launcher.stack import Stack, child_environment, launch, require_alone, start_stack, stop_stack
from launcher.supervision import Supervisor, find_leftovers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("stack") / "var"
    with start_stack(var, web=True, flower=True, experience=True) as running:
        yield running
    assert find_leftovers(var) == []


def copy_database(migrated: Path, var: Path) -> None:
    """Spare a start its migrations: the stack that is shared shows that it makes its tables."""
    shutil.copy(migrated, var / "db.sqlite3")


def wait_for(condition: Callable[[], bool], *, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


def test_every_program_runs_and_the_web_answers(stack: Stack) -> None:
    assert set(stack.pids()) == {
        *("broker", "fast", "recorder", "control", "beat", "web", "node-1", "flower"),
        *("stream", "sink"),
    }
    with urllib.request.urlopen(f"{stack.plan.addresses()['Board']}healthz", timeout=5) as reply:
        assert reply.read() == b'{"status": "ok"}'


def list_ready(stack: Stack) -> set[str]:
    """Return which parts the web server finds well."""
    try:
        reply = urllib.request.urlopen(f"{stack.plan.addresses()['Board']}readyz", timeout=5)
    except urllib.error.HTTPError as error:  # others are not ready yet
        reply = error
    with reply:
        return {name for name, check in json.load(reply)["checks"].items() if check["is_ok"]}


def test_the_sink_outlives_the_stream_that_it_reads(stack: Stack) -> None:
    before = stack.pids()
    wait_for(lambda: "stream" in list_ready(stack), limit_s=15)
    with Redis.from_url(stack.admin_url("stream"), decode_responses=True) as admin:
        options = admin.config_get("appendfsync") | admin.config_get("maxmemory")
        assert options == {"appendfsync": "always", "maxmemory": str(256 * 2**20)}
        assert admin.acl_log() == [], "a program lacks a right that it needs"
    os.kill(before["stream"], signal.SIGKILL)
    wait_for(lambda: stack.pids().get("stream", before["stream"]) != before["stream"], limit_s=15)
    wait_for(lambda: "stream" in list_ready(stack), limit_s=15)
    assert stack.pids()["sink"] == before["sink"]


@pytest.mark.parametrize(
    ("program", "own"),
    [("node-1", set[str]()), ("flower", {"EVALSITE_FLOWER_PASSWORD"})],
)
def test_what_others_reach_holds_no_secret_but_its_own(
    stack: Stack, program: str, own: set[str]
) -> None:
    environment = psutil.Process(stack.pids()[program]).environ()
    secrets = read_variables(stack.plan.var / "secrets.env")
    assert not {"DATABASE_URL", "EVALSITE_VAR", *SECRETS} & set(environment)
    of_others = [secret for name, secret in secrets.items() if name not in own]
    of_others += _passwords_of_others(secrets["EVALSITE_SECRET_KEY"], program)
    held = "\n".join(environment.values())
    assert not [secret for secret in of_others if secret in held]


def test_flower_shows_how_long_queues_are(stack: Stack) -> None:
    password = read_variables(stack.plan.var / "secrets.env")["EVALSITE_FLOWER_PASSWORD"]
    page = stack.plan.addresses()["Flower"] + "broker"
    answer = requests.get(page, auth=(FLOWER_USER, password), timeout=10)
    assert answer.status_code == HTTPStatus.OK
    assert set(re.findall(r'<tr id="(\w+)">', answer.text)) == {"control", "gpu", "reports"}
    assert requests.get(page, timeout=10).status_code == HTTPStatus.UNAUTHORIZED


def _passwords_of_others(key: str, program: str) -> list[str]:
    others = [role for role in (ADMIN, *ROLES) if role != program]
    roles = [role_password(key, server, role) for server in SERVERS for role in others]
    purposes: tuple[Purpose, ...] = ("broker", "fast", "reports")
    return [*roles, *(node_secret(key, purpose, "node-2", 1) for purpose in purposes)]


def test_what_it_writes_is_for_its_owner_only(stack: Stack) -> None:
    var = stack.plan.var
    private = ["secrets.env", "stack.env", "supervisord.conf", "db.sqlite3", "broker/valkey.conf"]
    assert [name for name in private if (var / name).stat().st_mode & 0o077] == []


@pytest.mark.parametrize("name", ["node-1", "recorder", "broker"])
def test_a_killed_program_is_started_again(stack: Stack, name: str) -> None:
    killed = stack.pids()[name]
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: stack.pids().get(name, killed) != killed, limit_s=15)


def test_a_second_start_is_refused_with_the_pid_and_the_way_out(stack: Stack) -> None:
    pid = Supervisor(stack.plan.var).pid()
    with pytest.raises(SetupError, match=rf"already runs here \(pid {pid}\): \./run stop ends it"):
        launch(stack.plan, example=False, say=print)


def test_a_busy_port_is_refused_and_nothing_is_left_behind(stack: Stack, tmp_path: Path) -> None:
    plan = Plan(var=tmp_path, ports=stack.plan.ports, nodes=0)
    with pytest.raises(SetupError, match=f"port {stack.plan.ports.broker} is in use by pid"):
        launch(plan, example=False, say=print)
    assert find_leftovers(tmp_path) == []


def run_in(var: Path, *arguments: str, ports: Ports | None = None) -> subprocess.Popen[str]:
    environment = child_environment(var, ports.environment() if ports else {})
    return subprocess.Popen(
        [sys.executable, "-m", "launcher", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_until(command: subprocess.Popen[str], line: str) -> str:
    assert command.stdout is not None
    read = ""
    for printed in command.stdout:
        read += str(printed)
        if line in printed:
            return read
    raise AssertionError(f"it ended without {line!r}:\n{read}")


def test_status_shows_the_processes_and_the_addresses(stack: Stack) -> None:
    command = run_in(stack.plan.var, "status")
    printed, _ = command.communicate(timeout=20)
    assert command.returncode == 0
    assert "node-1       RUNNING" in printed
    assert stack.plan.addresses()["Board"] in printed


def test_a_command_of_a_second_terminal_sees_the_running_stack(stack: Stack) -> None:
    command = run_in(stack.plan.var, "manage", "diffsettings", "--all")
    printed, _ = command.communicate(timeout=20)
    assert f"REDIS_URL = '{stack.env['REDIS_URL']}'" in printed


def test_ctrl_c_ends_everything_and_the_next_start_goes_on_until_stop_of_another_terminal(
    tmp_path: Path, migrated_database: Path
) -> None:
    copy_database(migrated_database, tmp_path)
    command = run_in(tmp_path, "--concurrency", "1", "--no-example", ports=Ports.free())
    assert "Admin user: admin, password: " in read_until(command, "Ctrl-C")
    command.send_signal(signal.SIGINT)
    printed, _ = command.communicate(timeout=60)
    assert command.returncode == 0, printed
    assert find_leftovers(tmp_path) == []

    command = run_in(tmp_path, "--nodes", "0", "--no-example", ports=Ports.free())
    assert "password: " not in read_until(command, "Ctrl-C")
    other = run_in(tmp_path, "stop")
    assert other.communicate(timeout=60)[0] == "stopped\n"
    printed, _ = command.communicate(timeout=60)
    assert "stopped from elsewhere" in printed
    assert command.returncode == 0
    assert find_leftovers(tmp_path) == []


def test_what_a_killed_supervisor_leaves_is_told_and_ended_by_stop(
    tmp_path: Path, migrated_database: Path
) -> None:
    copy_database(migrated_database, tmp_path)
    stack = start_stack(tmp_path, nodes=0)
    pids = stack.pids().values()
    pid = stack.supervisor.pid()
    assert pid is not None
    guardian = psutil.Process(pid).parent()
    assert guardian is not None
    guardian.kill()  # it would start the supervisor again
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(5)
    with pytest.raises(SetupError, match=r"left over \(pids .*\): \./run stop ends them"):
        require_alone(tmp_path)
    printed, _ = run_in(tmp_path, "status").communicate(timeout=20)
    assert f"the supervisor of {tmp_path} is gone. It left processes behind (pids " in printed
    assert stop_stack(tmp_path)
    assert [left for left in pids if psutil.pid_exists(left)] == []


def test_a_database_that_cannot_be_reached_is_a_clear_line_and_ends_what_started(
    tmp_path: Path,
) -> None:
    nowhere = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
    with pytest.raises(SetupError, match=r"database could not be prepared: .*refused"):
        start_stack(tmp_path, nodes=0, settings=nowhere)
    assert find_leftovers(tmp_path) == []


def test_what_a_check_refuses_is_told_in_the_line(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"evalsite\.E004\) The storage of training cannot be"):
        start_stack(tmp_path, nodes=0, settings={"EVALSITE_TRAINING_STORAGE": "no.such.Storage"})


def test_a_wrong_setting_is_a_line_that_begins_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"^EVALSITE_PROXIES is '-1'; a whole number"):
        start_stack(tmp_path, nodes=0, settings={"EVALSITE_PROXIES": "-1"})
