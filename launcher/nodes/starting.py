"""`./run nodes start`: a node on each machine of the file, or on none."""

import argparse
import os
from collections.abc import Mapping
from typing import Final

from launcher.errors import SetupError
from launcher.folders import read_variables, var_folder
from launcher.nodes import remote
from launcher.nodes.cargo import pack_cargo
from launcher.nodes.environment import admit_nodes, list_places, list_plugins, write_environment
from launcher.nodes.host_files import Host
from launcher.nodes.machines import Machines, try_everywhere
from launcher.programs import node_name

COPY_LIMIT_S: Final = 600.0
INSTALL_LIMIT_S: Final = 1800.0
NEED_MB, NEED_TO_INSTALL_MB, NEED_FOR_TORCH_MB = 64, 1_500, 6_000


def start_nodes(options: argparse.Namespace) -> int:
    """Start a node on each machine; a step ends everywhere before the next. Raises SetupError."""
    machines, var = Machines.from_options(options), var_folder(os.environ)
    shared = read_variables(var / "stack.env")
    if not shared:
        raise SetupError(f"nothing runs in {var} that nodes could play for: ./run up first")
    _refuse_own_names(machines, shared)
    plugins = list_plugins(shared)
    _prepare_machines(machines, pack_cargo(plugins), options)
    # Only now: who could not have started has not been admitted.
    names = [host.name for host in machines.hosts]
    secrets = admit_nodes(names, var, shared, options.server)
    python = options.python or ""
    machines.do_everywhere(
        lambda host: machines.call(host, remote.REACH, python, *list_places(secrets[host.name]))
    )
    environments = {
        name: write_environment(own, shared, n_plugins=len(plugins), slots=options.concurrency)
        for name, own in secrets.items()
    }
    _start_all(machines, python, environments)
    return 0


def _prepare_machines(machines: Machines, cargo: bytes, options: argparse.Namespace) -> None:
    """Look at all machines, then bring each what it needs."""
    need_kb = str(_choose_needed_mb(options) * 1024 + (len(cargo) >> 8))
    python = options.python or "python3"
    machines.do_everywhere(lambda host: machines.call(host, remote.LOOK, need_kb, python))
    machines.do_everywhere(
        lambda host: machines.call(host, remote.UNPACK, sent=cargo, limit_s=COPY_LIMIT_S)
    )
    if options.python:
        return
    extras = "node,inference" if options.with_torch else "node"
    print(f"packages of {len(machines.hosts)} machines (minutes the first time)", flush=True)
    machines.do_everywhere(
        lambda host: machines.call(host, remote.INSTALL, extras, python, limit_s=INSTALL_LIMIT_S)
    )


def _start_all(machines: Machines, python: str, environments: Mapping[str, str]) -> None:
    started: list[Host] = []

    def start(host: Host) -> str:
        environment = environments[host.name].encode()
        pid = machines.call(host, remote.START, python, sent=environment)
        started.append(host)
        return pid

    try:
        pids = machines.do_everywhere(start)
    except SetupError:
        # All or none: who asked for eight nodes and has five would have to find out which.
        try_everywhere(started, lambda host: machines.call(host, remote.STOP))
        raise
    for host, pid in zip(machines.hosts, pids, strict=True):
        print(f"{host.name:<24} {host!s:<32} started, pid {pid.strip()}")


def _refuse_own_names(machines: Machines, shared: Mapping[str, str]) -> None:
    own = {node_name(number) for number in range(1, int(shared.get("EVALSITE_NODES", "0")) + 1)}
    for host in machines.hosts:
        if host.name in own:
            raise SetupError(f"{host}: {host.name} runs on this machine: choose another name")


def _choose_needed_mb(options: argparse.Namespace) -> int:
    if options.python:
        return NEED_MB
    return NEED_FOR_TORCH_MB if options.with_torch else NEED_TO_INSTALL_MB
