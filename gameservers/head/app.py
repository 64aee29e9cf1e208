"""The addresses of the head, and the duties that run beside them."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute

from gameservers.head import looking, reporting
from gameservers.head.access import AccessError, find_pass, require_pass
from gameservers.head.discovering import EVERY_S, Discovering, Find
from gameservers.head.loops import Duty, run_duties
from gameservers.head.reporting import Reporter, make_publisher
from gameservers.head.servers import ServerBoard
from gameservers.head.serving import ServingLines
from gameservers.head.settings import HeadSettings

DISCOVER = "discover"


class Head:
    """The parts of one head and what its addresses answer."""

    def __init__(self, own: HeadSettings, find: Find) -> None:
        """find: names the servers that listen somewhere."""
        self._own = own
        self.board = ServerBoard()
        self.lines = ServingLines(self.board, play_address=own.play_address, pass_key=own.pass_key)
        self._discovering = Discovering(self.board, find)
        self._reporter: Reporter | None = None
        if own.has_broker:
            publisher = make_publisher(own.inference.redis_url)
            self._reporter = Reporter(publisher.publish_report, key=own.node_key)

    def make_app(self) -> Starlette:
        """Return the application that uvicorn runs."""
        return Starlette(
            routes=[
                Route("/health", self.show_health),
                Route("/discovered", self.show_discovered),
                Route("/discover", self.discover, methods=["POST"]),
                WebSocketRoute("/serve", self.lines.serve),
                WebSocketRoute("/serve/{channel}", self.lines.serve_channel),
                WebSocketRoute("/play/{server}", self.lines.play),
            ],
            lifespan=self._live,
            exception_handlers={AccessError: answer_refusal},
        )

    async def show_health(self, _: Request) -> JSONResponse:
        """Say that the head answers, and whether it is heard."""
        trouble = self._reporter.trouble if self._reporter else "REDIS_URL is not set"
        n_healthy = len(self.board.list_healthy())
        return JSONResponse({"status": "ok", "servers": n_healthy, "unreported": trouble})

    async def show_discovered(self, _: Request) -> JSONResponse:
        """List every server that is known, with its state, why and since when."""
        now = time.time()
        return JSONResponse({"servers": [known.as_row(now=now) for known in self.board.list_all()]})

    async def discover(self, request: Request) -> JSONResponse:
        """Look for servers now; answer with what is known then."""
        key, now = self._own.pass_key, time.time()
        require_pass(request, find_pass(request), DISCOVER, key=key, now=now)
        await self._discovering.find()
        return await self.show_discovered(request)

    async def _report(self) -> None:
        if self._reporter:
            await self._reporter.report(self.board.list_healthy())

    @asynccontextmanager
    async def _live(self, _: Starlette) -> AsyncIterator[None]:
        duties: list[Duty] = [
            (self._discovering.find, EVERY_S),
            (self._discovering.look, looking.EVERY_S),
            (self._report, reporting.EVERY_S),
        ]
        async with run_duties(duties):
            yield


async def answer_refusal(_: Request, error: Exception) -> JSONResponse:
    """Answer who may not do this with what it needs."""
    return JSONResponse({"detail": str(error)}, 403)
