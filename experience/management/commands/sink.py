"""Write uploaded experience to files: a program of its own, which SIGTERM ends."""

import signal
from argparse import ArgumentParser
from threading import Event
from time import monotonic
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.backends.signals import connection_created
from redis import Redis

from arena.games import registry
from experience.sink.consumer import Consumer
from experience.sink.gathering import Limits
from experience.sink.running import Sink
from experience.sqlite_commits import keep_commits
from experience.stream import MISSING, TIMEOUTS


class Command(BaseCommand):
    """The command."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take when a file is written, and the name of the consumer."""
        parser.add_argument("--rows", type=int, default=50_000, help="steps of a file")
        parser.add_argument(
            "--seconds", type=float, default=60.0, help="or so long after its first chunk was read"
        )
        parser.add_argument(
            "--name",
            default="sink",
            help="of several sinks each has its own; under it, one goes on where it was killed",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run until SIGTERM or Ctrl-C."""
        if not settings.STREAM_REDIS_URL:
            raise CommandError(MISSING)
        stop = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        connection_created.connect(keep_commits)
        connection.close()  # of the checks, which may have opened one before
        games = [name for name in registry.names() if registry.get(name).spec.n_seats == 1]
        client = Redis.from_url(settings.STREAM_REDIS_URL, **TIMEOUTS)
        consumer = Consumer(client, options["name"], games)
        Sink(consumer, Limits(options["rows"], options["seconds"]), stop, monotonic).run()
