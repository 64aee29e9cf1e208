"""Reference servers as processes of their own, which can be killed and started again."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from launcher.folders import ROOT
from launcher.programs import PYTHON

GAME = "served_four"
_CATALOG_FILE = f'''"""Connect Four, played by game servers."""

from arena.games.catalog.connect_four import GAME as RULES
from arena.games.served import serve_rules

GAME = serve_rules(RULES, id="{GAME}", title="Connect Four, served")
'''
_ADDRESS = re.compile(r" at (ws://\S+) ")


def write_catalog(folder: Path) -> Path:
    """Write the file of the served game into a folder of plug-ins; return that folder."""
    games = folder / "plugins" / "games"
    games.mkdir(parents=True, exist_ok=True)
    (games / f"{GAME}.py").write_text(_CATALOG_FILE)
    return games.parent


class ReferenceServer:
    """A `game_server`; after a kill `start` begins another at the same port."""

    def __init__(
        self,
        name: str,
        *,
        game: str = GAME,
        plugins: Path | None = None,
        options: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.game, self.options = name, game, options
        # One thread: the mathematics of others on this machine is what is measured.
        self._env = {**os.environ, "OMP_NUM_THREADS": "1", **(variables or {})}
        self._env["EVALSITE_PLUGINS"] = str(plugins or "")
        self.address = ""
        self.start()

    def start(self) -> None:
        """Start it, at the port of before where there was one; return when it listens."""
        port = self.address.rpartition(":")[2] or "0"
        command = [PYTHON, "-m", "gameservers", "game_server", "--port", port, "--game", self.game]
        self.process = subprocess.Popen(
            [*command, "--name", self.name, *self.options],
            cwd=ROOT,
            env=self._env,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr
        line = self.process.stderr.readline()
        match = _ADDRESS.search(line)
        if match is None:
            raise RuntimeError(f"{self.name} does not start: {line}")
        self.address = match[1]

    def kill(self) -> None:
        self.process.kill()
        self._wait()

    def stop(self) -> int:
        """End it in good order; return its exit status."""
        self.process.terminate()
        return self._wait()

    def _wait(self) -> int:
        # What it said meanwhile is little: the pipe holds it.
        self.process.communicate(timeout=30)
        return self.process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()


@contextmanager
def run_servers(n: int, *, plugins: Path) -> Iterator[list[ReferenceServer]]:
    """Run servers that listen, sim-1 to sim-n."""
    with ExitStack() as around:
        yield [
            around.enter_context(ReferenceServer(f"sim-{number + 1}", plugins=plugins))
            for number in range(n)
        ]
