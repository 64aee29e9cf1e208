"""Tell control which game servers live: a sign of life of each healthy one, every two seconds."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from celery import Celery

from arena.games.line_messages import PROTOCOL, ServerHello
from arena.kombu_bindings import TRANSPORT_OPTIONS
from arena.messages import Alive
from arena.needs import SERVER
from gameservers.head.servers import KnownServer
from inference.publisher import Publisher, PublishError

log = logging.getLogger(__name__)

EVERY_S = 2.0
# One head reports for all: where a server has a new incarnation, its old one is dead.
PLACE = "head"
REPORTED_LOAD = ("cpu", "memory")

Publish = Callable[[Alive], None]


def make_alive(server: KnownServer, hello: ServerHello, *, key: str) -> Alive:
    """Return the sign of life of a server."""
    return Alive(
        node=hello.name,
        incarnation=server.incarnation,
        slots=hello.slots,
        capabilities=[SERVER],
        versions={"rules": str(hello.rules_version), "protocol": str(PROTOCOL)},
        orders=[],
        key=key,
        place=PLACE,
        labels=dict(hello.labels),
        load={name: min(hello.load[name], 1e6) for name in REPORTED_LOAD if name in hello.load},
        game=hello.game,
        address=server.address,
    )


def make_publisher(broker_url: str) -> Publisher:
    """Return what sends reports and doorbells to a broker."""
    # Not the current one of its process: that is of whoever imported it.
    app = Celery("head", broker=broker_url, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        task_ignore_result=True,
        broker_transport="inference.transport:Transport",
        broker_transport_options=TRANSPORT_OPTIONS,
    )
    return Publisher(app)


class Reporter:
    """Sends the signs of life; says once when the broker goes away and when it is back."""

    def __init__(self, publish: Publish, *, key: str) -> None:
        """publish: raises PublishError."""
        self._publish, self._key = publish, key
        # Why the last reports were not sent; empty while all is well.
        self.trouble = ""

    async def report(self, servers: Sequence[KnownServer]) -> None:
        """Report every server; what cannot be sent is said again in two seconds anyway."""
        reports = [
            make_alive(server, server.hello, key=self._key) for server in servers if server.hello
        ]
        try:
            # A broker that hangs must not hold up tunnels.
            await asyncio.to_thread(self._send_reports, reports)
        except PublishError as error:
            if not self.trouble:
                log.warning("servers are not reported until the broker is back: %s", error)
            self.trouble = str(error)
        else:
            if self.trouble:
                log.warning("the broker takes reports again")
            self.trouble = ""

    def _send_reports(self, reports: Sequence[Alive]) -> None:
        for report in reports:
            self._publish(report)
