"""`./run nodes` on three real sshd of this machine: start, play, status, stop, and what goes wrong.

Debian: apt-get install openssh-server. The keys are made here; the Python of the nodes is ours.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from launcher.addresses import Ports
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack
from matches.tests.plugin_folder import write_plugins
from tests.commands import evalsite

pytestmark = pytest.mark.long

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
LIMIT_S = 120
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Return the port of three sshd and the settings of ssh that reach them."""
    if SSHD is None:
        pytest.skip("sshd is not installed here: apt-get install openssh-server")
    folder, port = tmp_path_factory.mktemp("ssh"), Ports.free().web
    for name in ("host", "user", "stranger"):
        make = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
        subprocess.run(make, check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    servers = [subprocess.Popen(list_sshd(folder, host, port)) for host in HOSTS]
    key = (folder / "host.pub").read_text().strip()
    known_hosts = "".join(f"[{host}]:{port} {key}\n" for host in HOSTS)
    (folder / "known").write_text(known_hosts)
    write_config(folder / "config", folder / "user", folder / "known")
    try:
        yield port, folder
    finally:
        for server in servers:
            server.terminate()
            server.wait(10)


def list_sshd(folder: Path, host: str, port: int) -> list[str]:
    settings = {
        "ListenAddress": f"{host}:{port}",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": "none",
        "UsePAM": "no",
        "StrictModes": "no",
        "PermitRootLogin": "prohibit-password",
        "PasswordAuthentication": "no",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    return [str(SSHD), "-D", "-e", "-f", "/dev/null", *options]


def write_config(path: Path, key: Path, known_hosts: Path) -> None:
    path.write_text(
        f"IdentityFile {key}\nIdentitiesOnly yes\nUserKnownHostsFile {known_hosts}\n"
        "GlobalKnownHostsFile /dev/null\n"
    )


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugins")
    write_plugins(folder)
    return folder


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, plugins: Path) -> Iterator[Stack]:
    settings = {"EVALSITE_PLUGINS": str(plugins)}
    var = tmp_path_factory.mktemp("var")
    with start_stack(var, nodes=0, web=True, settings=settings) as running:
        yield running


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere"


@pytest.fixture
def run_nodes(stack: Stack, ssh: tuple[int, Path], elsewhere: Path) -> Iterator[Run]:
    """Return `./run nodes ACT` with the lines of a host file; what it started ends here."""

    def run(
        act: str, *lines: str, config: str = "config", folder: Path = elsewhere, server: str = ""
    ) -> object:
        hosts = ssh[1] / "ips.txt"
        hosts.write_text("".join(f"{line}\n" for line in lines))
        own = ("--hosts", str(hosts), "--folder", str(folder), "--ssh-config", str(ssh[1] / config))
        start = ["--python", sys.executable, "--concurrency", "1"] if act == "start" else []
        start += ["--server", server] if server else []
        return subprocess.run(
            [sys.executable, "-m", "launcher", "nodes", act, *own, *start],
            cwd=ROOT,
            env={**stack.env, "EVALSITE_ALIVE_S": "1"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    yield run  # type: ignore[misc]
    for process in list_nodes(elsewhere):
        process.kill()


def list_nodes(folder: Path) -> list[psutil.Process]:
    """Return the processes that work in a folder."""
    processes = psutil.process_iter(["cwd"])
    return [each for each in processes if str(each.info["cwd"] or "").startswith(f"{folder}/")]


def list_alive(stack: Stack) -> dict[str, dict[str, object]]:
    nodes = json.loads(evalsite(stack, "workers", "--json").stdout)
    return {node["node"]: node for node in nodes}


def lines_of(port: int) -> list[str]:
    return [f"{host}:{port} far-{number}" for number, host in enumerate(HOSTS, 1)]


def test_three_machines_start_play_and_stop(
    run_nodes: Run, stack: Stack, ssh: tuple[int, Path], elsewhere: Path, plugins: Path
) -> None:
    lines = lines_of(ssh[0])
    before = run_nodes("status", *lines)
    assert (before.returncode, before.stdout.count("no node was started there")) == (1, 3)

    started = run_nodes("start", "# three of ours", *lines)
    assert (started.returncode, started.stderr) == (0, "")
    assert started.stdout.count("started, pid") == 3
    end = monotonic() + LIMIT_S
    while set(nodes := list_alive(stack)) != {"far-1", "far-2", "far-3"}:
        assert monotonic() < end, nodes
        sleep(0.2)
    assert all("games/nim" in str(node["plugins"]) for node in nodes.values())
    assert run_nodes("status", *lines).stdout.count("running, pid") == 3

    # Of a plug-in game: only who has the same file is sent it.
    options = ("--game", "nim", "--num-matches", "60", "--agents", "random,centre")
    played = evalsite(stack, "evaluate", *options, timeout=LIMIT_S)
    assert played.returncode == 0, played.stderr

    again = run_nodes("start", *lines)
    assert again.returncode == 2
    assert again.stderr.count("a node of this name runs there") == 3

    for number in (1, 2, 3):
        folder = elsewhere / f"far-{number}"
        assert (folder / "node.env").stat().st_mode & 0o777 == 0o600
        assert sorted(path.name for path in (folder / "plugins" / "1" / "games").glob("*.py"))
        assert not (folder / "code" / "var").exists()
    key = (elsewhere / "far-1" / "node.env").read_text().partition("EVALSITE_NODE_KEY=")[2][:64]
    assert key not in (elsewhere / "far-2" / "node.env").read_text()
    assert not any(key in " ".join(each.cmdline()) for each in list_nodes(elsewhere))

    stopped = run_nodes("stop", *lines)
    assert (stopped.returncode, stopped.stdout.count("stopped")) == (0, 3), stopped
    assert list_nodes(elsewhere) == []
    assert not list(elsewhere.glob("*/node.env"))
    assert run_nodes("stop", *lines).stdout.count("did not run") == 3


def expect_nothing(
    run_nodes: Run, elsewhere: Path, reason: str, *lines: str, **own: object
) -> None:
    refused = run_nodes("start", *lines, **own)
    assert refused.returncode == 2, refused
    assert reason in refused.stderr, refused.stderr
    assert "Traceback" not in refused.stderr
    assert list_nodes(elsewhere) == []
    assert not list(elsewhere.glob("*/node.env"))


def test_an_unknown_host_among_good_ones_starts_nothing(
    run_nodes: Run, elsewhere: Path, ssh: tuple[int, Path]
) -> None:
    reason = "far-9 (no-such-host.invalid): no such host: correct its line in the host file"
    lines = [*lines_of(ssh[0]), "no-such-host.invalid far-9"]
    expect_nothing(run_nodes, elsewhere, reason, *lines)
    assert not list(elsewhere.glob("*/code"))


def test_a_refused_key_names_the_host_and_what_to_do(
    run_nodes: Run, elsewhere: Path, ssh: tuple[int, Path]
) -> None:
    port, folder = ssh
    write_config(folder / "stranger_config", folder / "stranger", folder / "known")
    place = f"127.0.0.2:{port}"
    reason = f"far-1 ({place}): it refuses our key: ssh-copy-id 127.0.0.2 -p {port}"
    expect_nothing(run_nodes, elsewhere, reason, lines_of(port)[0], config="stranger_config")


def test_a_host_key_that_is_not_known_is_not_taken_on_trust(
    run_nodes: Run, elsewhere: Path, ssh: tuple[int, Path]
) -> None:
    port, folder = ssh
    (folder / "known_none").write_text("")
    write_config(folder / "unknown_config", folder / "user", folder / "known_none")
    reason = "its host key is not known here: log in by hand once: ssh 127.0.0.2"
    expect_nothing(run_nodes, elsewhere, reason, lines_of(port)[0], config="unknown_config")


def test_a_port_without_sshd_is_named(run_nodes: Run, elsewhere: Path) -> None:
    port = Ports.free().web
    reason = f"far-1 (127.0.0.2:{port}): nobody listens at port {port}: is sshd running there?"
    expect_nothing(run_nodes, elsewhere, reason, f"127.0.0.2:{port} far-1")


def test_a_server_that_cannot_be_reached_from_there_is_named(
    run_nodes: Run, elsewhere: Path, ssh: tuple[int, Path], stack: Stack
) -> None:
    broker = f"the broker at 127.0.0.77:{stack.plan.ports.broker}"
    reason = f"{broker} cannot be reached from there (Connection refused): open it to that machine"
    expect_nothing(run_nodes, elsewhere, reason, lines_of(ssh[0])[0], server="127.0.0.77")


def test_a_name_twice_is_refused_before_anything_is_called(
    run_nodes: Run, elsewhere: Path, ssh: tuple[int, Path]
) -> None:
    first, second, _ = lines_of(ssh[0])
    reason = "the name far-1 stands for 127.0.0.2"
    expect_nothing(run_nodes, elsewhere, reason, first, second.replace("far-2", "far-1"))


# The second has room when it is looked at, and takes no more files before all have come.
@pytest.mark.parametrize("limits", ["size=1m", "size=200m,nr_inodes=20"])
def test_a_full_disk_over_there_is_named(
    run_nodes: Run, ssh: tuple[int, Path], tmp_path: Path, limits: str
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", limits, "tmpfs", str(small))
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        reason = f"far-1 (127.0.0.2:{ssh[0]}): its disk is full"
        expect_nothing(run_nodes, small, reason, lines_of(ssh[0])[0], folder=small)
        assert not (small / "far-1" / "code").exists()
    finally:
        subprocess.run(("umount", str(small)), check=True)


def test_a_machine_that_is_away_keeps_no_other_from_being_stopped(
    run_nodes: Run, elsewhere: Path, ssh: tuple[int, Path]
) -> None:
    line = lines_of(ssh[0])[0]
    assert run_nodes("start", line).returncode == 0
    away = f"127.0.0.9:{Ports.free().web} away"
    stopped = run_nodes("stop", line, away)
    assert stopped.returncode == 2
    assert "stopped" in stopped.stdout
    assert "away (127.0.0.9" in stopped.stderr
    assert list_nodes(elsewhere) == []
