"""The peer of `./run bench showdown`: poke-env alone on a real server of Pokemon Showdown.

Needs the tools `showdown` and `poke-env` of a data folder. `measure_poke_env(200, 40)` starts a
server of its own, in a folder that is removed again.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from launcher.addresses import Ports
from launcher.folders import ROOT, var_folder
from launcher.showdown.home import make_home, require_node, write_config
from launcher.showdown.server import SHOWDOWN, describe_launch, server_url
from launcher.standalone.service import (
    RunningService,
    launch,
    measure_cost,
    stop,
    wait_until_it_answers,
)
from launcher.tools import find_tool

LEAST_S: Final = 120.0
"""A battle takes under a second; a machine that is busy with other things may be very slow."""


@contextmanager
def running_showdown(*, data: Path | None = None, simulators: int = 1) -> Iterator[RunningService]:
    """Yield a server on a port that is free. Raises SetupError without the tool or Node.js.

    data: the folder with the tools, by default that of the environment.
    """
    tool, node = find_tool("showdown", data or var_folder(os.environ)), require_node()
    with tempfile.TemporaryDirectory(prefix="evalsite-showdown-") as folder:
        var, home = Path(folder), Path(folder) / "showdown" / "server"
        (var / "log").mkdir()
        make_home(tool, home)
        port = Ports.free().web
        write_config(home, port=port, simulators=simulators)
        running = launch(SHOWDOWN, var, describe_launch(node, home, port))
        try:
            wait_until_it_answers(SHOWDOWN, running, var, lambda _: None)
            yield running
        finally:
            stop(running)


def measure_poke_env(
    n_battles: int,
    concurrency: int,
    *,
    battle_format: str = "gen1randombattle",
    data: Path | None = None,
) -> dict[str, Any]:
    """Return battles a second of two random players of poke-env, so many at once, and their cost.

    Raises SetupError without the tools, RuntimeError with what poke-env said where it fails.
    """
    python = find_tool("poke-env", data or var_folder(os.environ)) / "bin" / "python"
    with running_showdown(data=data) as server:
        url = server_url(server.port)
        words = (url, str(n_battles), str(concurrency), battle_format)
        done = subprocess.run(
            [python, "-m", "gameservers.showdown.alone", *words],
            cwd=ROOT,
            env={name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=LEAST_S + 2 * n_battles,
        )
        process = server.process
        _, memory_mib, server_cpu_s = measure_cost(process) if process else (0, 0.0, 0.0)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it has said nothing"])[-1]
        raise RuntimeError(f"poke-env ended with {done.returncode}: {last:.300}")
    figures = {"server_cpu_s": round(server_cpu_s, 1), "server_mib": round(memory_mib)}
    return {**json.loads(done.stdout), **figures}
