"""The addresses of the head, and the duties that run beside them."""

import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from gameservers.discovery.registry import Registry
from gameservers.head import acting, looking, reporting
from gameservers.head import bucket as folders
from gameservers.head.access import AccessError, find_pass
from gameservers.head.blocks import EvaluateError
from gameservers.head.bucket import Bucket
from gameservers.head.discovering import Discovering
from gameservers.head.evaluating import Evaluating, answer_error
from gameservers.head.history import History
from gameservers.head.live import Viewers
from gameservers.head.loops import Duty, run_duties
from gameservers.head.networks import Networks, Ring
from gameservers.head.reporting import Reporter, make_publisher
from gameservers.head.servers import ServerBoard
from gameservers.head.serving import ServingLines
from gameservers.head.settings import HeadSettings
from gameservers.head.stats import Stats
from inference.client import InferenceError
from inference.publisher import PublishError

DISCOVER = "discover:"
POINT_S = 2.0
STATIC = Path(__file__).parent / "static"
# Nothing of others is loaded, and no script stands in the page.
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Head:
    """The parts of one head and what its addresses answer."""

    def __init__(
        self, own: HeadSettings, registry: Registry, *, bucket: Bucket | None = None
    ) -> None:
        """registry: finds servers and tries none; bucket: checkpoints to ask by name."""
        self._own, self._bucket = own, bucket
        self.board = ServerBoard()
        self.stats = Stats(self.board, clock=time.time)
        self._viewers = Viewers()
        self.lines = ServingLines(self.board, play_address=own.play_address, door=own.door)
        self._discovering = Discovering(self.board, registry)
        publisher = make_publisher(own.inference.redis_url) if own.has_broker else None
        self._reporter = Reporter(publisher.publish_report, key=own.node_key) if publisher else None
        self._networks = Networks(
            own.inference,
            ring=quiet(publisher.publish_doorbell) if publisher else None,
            note=self.stats.note_batch,
        )
        self._evaluating = Evaluating(
            self._networks, door=own.door, bucket=bucket.players if bucket else {}
        )
        self._history = History(own.inference.fast_url) if own.has_fast_store else None

    def make_app(self) -> Starlette:
        """Return the application that uvicorn runs."""
        return Starlette(
            routes=[
                Route("/", go_to_dashboard),
                Route("/dashboard", show_dashboard),
                Route("/health", self.show_health),
                Route("/stats", self.show_stats),
                Route("/discovered", self.show_discovered),
                Route("/discover", self.discover, methods=["POST"]),
                Route("/evaluate", self.evaluate, methods=["POST"]),
                Route("/act", self.act, methods=["POST"]),
                WebSocketRoute("/ws", self._viewers.watch),
                WebSocketRoute("/serve", self.lines.serve),
                WebSocketRoute("/serve/{channel}", self.lines.serve_channel),
                WebSocketRoute("/play/{server}", self.lines.play),
                Mount("/static", StaticFiles(directory=STATIC)),
            ],
            lifespan=self._run_loops,
            exception_handlers={
                AccessError: answer_refusal,
                EvaluateError: answer_error,
                InferenceError: answer_error,
            },
        )

    async def show_health(self, _: Request) -> JSONResponse:
        """Say that the head answers, and whether it is heard."""
        n_healthy = len(self.board.list_healthy())
        return JSONResponse(
            {"status": "ok", "servers": n_healthy, "unreported": self._describe_trouble}
        )

    async def show_stats(self, _: Request) -> JSONResponse:
        """Return counts, latencies and the last 300 points of the plots."""
        points = [msgspec.to_builtins(point) for point in self.stats.points]
        return JSONResponse({**self.stats.as_row(), "history": points})

    async def show_discovered(self, _: Request) -> JSONResponse:
        """List every server that is known, with its state, why and since when."""
        return JSONResponse(self._list_servers())

    async def discover(self, request: Request) -> JSONResponse:
        """Look for servers now; answer with what is known then."""
        self._own.door.require_pass(request, find_pass(request), DISCOVER, now=time.time())
        await self._discovering.find()
        await self._push_view()
        return await self.show_discovered(request)

    async def evaluate(self, request: Request) -> Response:
        """Decide rows for an agent."""
        return await self._answer(self._evaluating.evaluate(request))

    async def act(self, request: Request) -> Response:
        """Return an agent's action in one position, and how it values it."""
        return await self._answer(acting.act(self._evaluating, request))

    async def _answer(self, answering: Awaitable[Response]) -> Response:
        """Return an answer; count how long it took, or that it was refused."""
        began = time.monotonic()
        try:
            answer = await answering
        except (AccessError, EvaluateError, InferenceError):
            self.stats.n_refused += 1
            raise
        self.stats.note_latency(time.monotonic() - began)
        return answer

    @property
    def _describe_trouble(self) -> str:
        """Say why servers are reported to nobody; empty where they are."""
        return self._reporter.trouble if self._reporter else "REDIS_URL is not set"

    def _list_servers(self) -> dict[str, Any]:
        now = time.time()
        servers = [server.as_row(now=now) for server in self.board.list_all()]
        return {"discovered": servers, "sources": self._discovering.list_sources()}

    async def _report(self) -> None:
        if self._reporter:
            await self._reporter.report(self.board.list_healthy())

    async def _take_point(self) -> None:
        self.stats.take_point()
        if self._history:
            await self._history.keep(list(self.stats.points))
        await self._push_view()

    async def _push_view(self) -> None:
        view = {**self.stats.as_row(), **self._list_servers(), "unreported": self._describe_trouble}
        points = [msgspec.to_builtins(point) for point in self.stats.points]
        checkpoints = sorted(self._bucket.players) if self._bucket else []
        problems = dict(self._bucket.problems) if self._bucket else {}
        bucket = {"checkpoints": checkpoints, "problems": problems}
        await self._viewers.show({**view, "history": points, **bucket})

    @asynccontextmanager
    async def _run_loops(self, _: Starlette) -> AsyncIterator[None]:
        duties: list[Duty] = [
            (self._discovering.find, self._discovering.interval_s),
            (self._discovering.look, looking.EVERY_S),
            (self._report, reporting.EVERY_S),
            (self._take_point, POINT_S),
        ]
        if (folder := self._bucket) is not None:
            duties.append((lambda: folder.look(self._networks), folders.EVERY_S))
        if self._history:
            self.stats.restore(await self._history.read())
        async with run_duties(duties):
            yield
        self._networks.close()
        if self._history:
            await self._history.close()


def quiet(ring: Ring) -> Ring:
    """Return a doorbell that may fail to ring: whoever waits rings again."""

    def ring_quietly(shard: int, lease: str) -> None:
        with suppress(PublishError):
            ring(shard, lease)

    return ring_quietly


async def go_to_dashboard(_: Request) -> Response:
    """Lead a browser to the page."""
    return RedirectResponse("/dashboard")


async def show_dashboard(_: Request) -> Response:
    """Return the page; what it shows comes over /ws."""
    return FileResponse(STATIC / "dashboard.html", headers=PAGE_HEADERS)


async def answer_refusal(_: Request, error: Exception) -> JSONResponse:
    """Answer who may not do this with what it needs."""
    return JSONResponse({"detail": str(error)}, 403)
