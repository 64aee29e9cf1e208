"""Two real Valkey servers, broker and fast store, as a stack has them."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from launcher.addresses import Ports, redis_url
from launcher.brokers import server_command, wait_until_up


class Stores(NamedTuple):
    """Addresses and processes of the two."""

    broker: str
    fast: str
    pids: tuple[int, ...]


@contextmanager
def stores(folder: Path) -> Iterator[Stores]:
    """Run both on free ports; end them after the block."""
    ports = Ports.free()
    with ExitStack() as stack:
        broker = stack.enter_context(_server(folder / "broker", ports.broker, kept=True))
        fast = stack.enter_context(_server(folder / "fast", ports.fast, kept=False))
        yield Stores(redis_url(ports.broker), redis_url(ports.fast), (broker.pid, fast.pid))


@contextmanager
def _server(folder: Path, port: int, *, kept: bool) -> Iterator["subprocess.Popen[bytes]"]:
    command = server_command(folder, port=port, kept=kept)
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_until_up(redis_url(port), limit_s=10)
        yield server
    finally:
        server.terminate()
        server.wait()
