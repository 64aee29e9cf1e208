"""Starts and ends the whole on this machine: servers, database, web, workers, monitor.

`./run` uses it for the stack of the clone; tests, chaos and benchmarks start private ones with
`start_stack`, each in its own data folder and on free ports.
"""

import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, Unpack

from arena.acl import SERVERS, Server
from arena.queues import MAX_RECORDERS, recorder_name
from launcher.addresses import (
    LOOPBACK,
    Ports,
    check_server_address,
    find_place,
    without_password,
)
from launcher.awaiting import Patience, wait_while_alive
from launcher.brokers import inspect, make_users
from launcher.errors import SetupError
from launcher.folders import (
    ROOT,
    ensure_secrets,
    read_generations,
    require_rights,
    require_writable,
    write_variables,
)
from launcher.plan import URL_VARIABLES, Plan
from launcher.programs import HEAD_VARIABLES, PYTHON
from launcher.salvage import describe_set_aside
from launcher.supervision import (
    UP_STATES,
    ProgramState,
    Supervisor,
    find_leftovers,
    kill_leftovers,
)

PROGRAMS_LIMIT_S = 11.0
UNENFORCED = "rights are not enforced, every node may do everything there"
OWN_VARIABLES = (
    "DATABASE_URL",
    "REDIS_URL",
    "FAST_REDIS_URL",
    "STREAM_REDIS_URL",
    *(name for name in HEAD_VARIABLES if not name.startswith("EVALSITE_")),
)
# Said anew for each stack, and what the client of another server goes by.
NOT_OURS = ("EVALSITE_VAR", "EVALSITE_URL", "EVALSITE_TOKEN", "EVALSITE_PASSWORD")


@dataclass(frozen=True)
class Stack:
    """A running stack; `env` is the environment for commands that should see it."""

    plan: Plan
    env: Mapping[str, str]

    @property
    def supervisor(self) -> Supervisor:
        """Return the supervisor that keeps the programs alive."""
        return Supervisor(self.plan.var)

    def states(self) -> list[ProgramState]:
        """Return the state of every program."""
        return self.supervisor.states()

    def pids(self) -> dict[str, int]:
        """Return the pid of every program that runs, by its name."""
        return {state.name: state.pid for state in self.states() if state.state in UP_STATES}

    def admin_url(self, server: Server) -> str:
        """Return the address by which tests and benchmarks look into a server."""
        return self.plan.admin_url(server, ensure_secrets(self.plan.var))

    def stop(self) -> None:
        """End every process of the stack."""
        stop_stack(self.plan.var)

    def __enter__(self) -> Self:
        """Return the running stack; leaving the block ends it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class Shape(TypedDict, total=False):
    """What of a Plan the caller of start_stack may choose."""

    nodes: int
    slots: int
    gpus: int
    recorders: int
    host: str
    bind: str
    web: bool
    flower: bool
    head: bool
    experience: bool
    trainers: int
    settings: Mapping[str, str]


def start_stack(var: Path, *, example: bool = False, **shape: Unpack[Shape]) -> Stack:
    """Return a private running stack on free ports; nothing of the caller's environment enters.

    Pages and monitor are off unless they are asked for.
    """
    chosen: Shape = {"web": False, "flower": False, **shape}
    plan = Plan(var=var.resolve(), ports=Ports.free(), **chosen)
    return launch(plan, example=example, say=lambda _: None)


def own_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that are ours, but for the data folder."""
    return {
        name: value
        for name, value in environment.items()
        if (name.startswith("EVALSITE_") or name in OWN_VARIABLES) and name not in NOT_OURS
    }


def child_environment(var: Path, shared: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which a command sees this data folder and these settings only."""
    foreign = {name: value for name, value in os.environ.items() if name != "EVALSITE_VAR"}
    for name in own_settings(foreign):
        del foreign[name]
    return {**foreign, **shared, "EVALSITE_VAR": str(var)}


def launch(plan: Plan, *, example: bool, say: Callable[[str], None]) -> Stack:
    """Return the running stack of a plan; SetupError, and nothing left running, when it fails."""
    require_writable(plan.var)
    require_rights(plan.var, has_database="DATABASE_URL" not in plan.settings)
    require_alone(plan.var)
    secrets = ensure_secrets(plan.var)
    plan = _look_at_given_servers(plan, secrets, say=say)
    plan.ports.require_free(plan.listening, host=plan.host, bind=plan.bind)
    shared = plan.shared_variables(secrets)
    write_variables(plan.var / "stack.env", shared)
    stack = Stack(plan, child_environment(plan.var, shared))
    try:
        _start_programs(stack, secrets, example=example, say=say)
    except BaseException:  # Ctrl-C, too
        stack.stop()
        raise
    return stack


def _look_at_given_servers(
    plan: Plan, secrets: Mapping[str, str], *, say: Callable[[str], None]
) -> Plan:
    """Return the plan with the servers that are given and on which our users could be made."""
    servers_with_users: set[Server] = set()
    for name in set(plan.servers) - set(plan.own_servers):
        check_server_address(URL_VARIABLES[name], plan.settings[URL_VARIABLES[name]])
    _refuse_shared_stream(plan, secrets)
    for name in plan.servers:
        if name in plan.own_servers:
            continue
        url = plan.admin_url(name, secrets)
        facts = inspect(url, name=URL_VARIABLES[name])
        warning = facts.warning
        say(f"warning: {name}: {warning}" if warning else f"{name}: uses the one given")
        if name == "stream" and not facts.has_file:
            say("warning: stream: it has no append-only file: what was accepted ends with it")
        refusal = make_users(url, plan.user_rules(name, secrets, generations={}))
        if refusal and plan.bind != LOOPBACK:
            # Who reaches it could do everything there.
            raise SetupError(f"--bind: {name}: {UNENFORCED}: {refusal}")
        if refusal:
            say(f"warning: {name}: {UNENFORCED}: {refusal}")
        else:
            servers_with_users.add(name)
    _refuse_one_server(plan, servers_with_users)
    return replace(plan, with_users=frozenset(servers_with_users))


def _refuse_one_server(plan: Plan, with_users: Set[Server]) -> None:
    """Raise SetupError where the users of broker and fast store are the same: one gets in."""
    urls = [plan.settings[URL_VARIABLES[name]] for name in with_users & {"broker", "fast"}]
    if len(urls) > 1 and find_place(urls[0]) == find_place(urls[1]):
        raise SetupError(
            f"REDIS_URL and FAST_REDIS_URL are one server, {find_place(urls[0])}, and each program "
            "has another password at each: give the fast store a server of its own; another "
            "database of the same one is not enough"
        )


def _refuse_shared_stream(plan: Plan, secrets: Mapping[str, str]) -> None:
    """Raise SetupError for a stream that is given and could fill the memory of the queues."""
    url = plan.settings.get(URL_VARIABLES["stream"], "")
    others = {find_place(plan.admin_url(name, secrets)) for name in ("broker", "fast")}
    if plan.has_experience and url and find_place(url) in others:
        raise SetupError(
            f"STREAM_REDIS_URL {without_password(url)} is the server of the broker or of the fast "
            "store: give it one of its own; another database of the same one is not enough"
        )


def require_alone(var: Path) -> None:
    """Raise SetupError when a stack of this folder runs or has left processes behind."""
    pid = Supervisor(var).pid()
    if pid is not None:
        raise SetupError(f"evalsite already runs here (pid {pid}): ./run stop ends it")
    pids = [left.pid for left in find_leftovers(var)]
    if pids:
        raise SetupError(
            f"processes of an earlier run are left over (pids {', '.join(map(str, pids))}): "
            "./run stop ends them"
        )


def _start_programs(
    stack: Stack, secrets: Mapping[str, str], *, example: bool, say: Callable[[str], None]
) -> None:
    plan = stack.plan
    say(_prepare_database(stack, example=example))  # it also says who is admitted as a node
    generations = read_generations(plan.var)
    programs = plan.programs(secrets, generations=generations)
    # Again, with the nodes: before the set-up nobody knew the generations of their secrets.
    for name in plan.with_users:
        rules = plan.user_rules(name, secrets, generations=generations)
        make_users(plan.admin_url(name, secrets), rules)
    stack.supervisor.start(programs, at_once=plan.own_servers)
    patience = Patience(plan.var / "log", say, now_s=time.monotonic())
    for name in plan.own_servers:
        url = plan.admin_url(name, secrets)
        wait_while_alive(partial(_await_server, url), stack.states, patience)
    for sentence in describe_set_aside(plan.var):
        say(f"warning: {sentence}")
    # Only now: a program whose server is not up would end, and again.
    names = [program.name for program in programs]
    stack.supervisor.start_programs(name for name in names if name not in SERVERS)
    # Should it have to start again, then with all of them: the database is prepared.
    stack.supervisor.configure(programs, at_once=names)
    wait_while_alive(partial(_await_ready, stack), stack.states, patience)


def _prepare_database(stack: Stack, *, example: bool) -> str:
    """Bring the database up to date; return what the command printed."""
    command = [PYTHON, "manage.py", "prepare", *(["--example"] if example else [])]
    result = subprocess.run(
        command,
        cwd=ROOT,
        env=dict(stack.env),
        umask=0o077,
        capture_output=True,
        text=True,
        check=False,
    )
    log = stack.plan.var / "log" / "prepare.log"
    log.write_text(result.stderr)
    if result.returncode != 0:
        # Of a traceback the line that says what went wrong; more lines may follow it.
        lines = result.stderr.strip().splitlines() or ["no message"]
        causes = [line for line in lines if re.match(r"(\?|[A-Za-z_][\w.]*): ", line)] or lines
        if wrong_setting := causes[-1].partition("ImproperlyConfigured: ")[2]:
            raise SetupError(wrong_setting)
        raise SetupError(
            f"the database could not be prepared: {causes[-1].removeprefix('?: ')} (see {log})"
        )
    return result.stdout.strip()


def _await_server(url: str) -> str:
    """Return why a server of ours is not up yet, such as that it reads its file."""
    try:
        inspect(url)
    except SetupError as error:
        return str(error)
    return ""


def _await_ready(stack: Stack) -> str:
    """Return what is not up yet."""
    late = [f"{s.name} ({s.state.lower()})" for s in stack.states() if s.state not in UP_STATES]
    if late or not stack.plan.web:
        return ", ".join(late)
    try:
        with urllib.request.urlopen(
            f"{stack.plan.addresses()['Board']}healthz", timeout=2
        ) as reply:
            return "" if reply.status == HTTPStatus.OK else "the web server to be well"
    except (urllib.error.URLError, OSError):
        return "the web server to answer"


def stop_stack(var: Path) -> bool:
    """End the stack of a data folder, with what it left behind; return whether there was any."""
    supervisor = Supervisor(var)
    runs = supervisor.pid() is not None
    if runs:
        names = {state.name for state in supervisor.states()}
        recorders = {recorder_name(shard) for shard in range(MAX_RECORDERS)} & names
        # Play nodes end first and hand back what they hold, then the recorders, the servers last.
        for group in (names - recorders - {*SERVERS}, recorders, set(SERVERS)):
            supervisor.stop_programs(group, limit_s=PROGRAMS_LIMIT_S)
        supervisor.shut_down(limit_s=PROGRAMS_LIMIT_S)
    killed = kill_leftovers(var)
    for name in ("supervisord.pid", "supervisor.sock", "stack.env"):
        (var / name).unlink(missing_ok=True)
    return runs or killed > 0
