"""Ask every address again and again, in this process; say what the slowest calls took.

The ASGI application is called as the web server calls it, all middleware included.
"""

import asyncio
import json
import sys
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from math import ceil
from statistics import median
from time import monotonic, perf_counter, process_time
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode

from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connections
from django.db.backends.signals import connection_created
from django.test import Client

from benchmarks.field import addresses, people
from benchmarks.field.boards import MAIN
from benchmarks.field.filling import freshen_rows
from benchmarks.field.runs import DATASET, TRAINED
from evalsite.asgi import application
from matches.access import tokens
from matches.models import (
    Alarm,
    Campaign,
    Checkpoint,
    Leaderboard,
    Match,
    Order,
    Rating,
    RatingSnapshot,
    Schedule,
    Scope,
    Season,
    TokenAccess,
    Tournament,
    Worker,
)
from matches.ratings.standings import TOP
from matches.store.clock import db_now

LARGEST_PAGE, SMALL_PAGE = 500, 50
# Nothing runs here but the web application: it must say so.
NOT_READY = {"/readyz": 503}
OURS = ("experience", "matches", "live", "pages", "evalsite")
REFUSED = 400
ANSWER_LIMIT_S = 300.0
# Of nodes that are silent for longer pages ask less, which looks like a difference of sizes.
FRESH_S = 10.0
Headers = list[tuple[bytes, bytes]]


class RefusedError(Exception):
    """An address was not answered as it should be."""


class Answer(NamedTuple):
    """What came back and what it cost: wall time and CPU time of this process, and queries."""

    status: int
    body: bytes
    wall_ms: float
    cpu_ms: float
    n_queries: int


class Asker:
    """Asks one address after the other. Queries are counted on whatever connection is opened."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._n_queries = 0
        connection_created.connect(self._watch)
        # Connections that are open already would escape the count.
        for connection in connections.all(initialized_only=True):
            connection.close()

    def close(self) -> None:
        connection_created.disconnect(self._watch)
        self._runner.close()

    def ask(self, address: str, headers: Headers) -> Answer:
        """Return the answer to a GET. Raises RefusedError for one that is not as expected."""
        path, _, query = address.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": unquote(path),
            "query_string": query.encode(),
            "headers": [(b"host", b"127.0.0.1"), *headers],
            "client": ("127.0.0.1", 50_000),  # rates are counted by address
        }
        self._n_queries = 0
        began_s, began_cpu_s = perf_counter(), process_time()
        status, body = self._runner.run(_get(scope))
        cpu_ms, wall_ms = 1e3 * (process_time() - began_cpu_s), 1e3 * (perf_counter() - began_s)
        expected = NOT_READY.get(address)
        if status != expected and (expected or status >= REFUSED):
            start = body[:300].decode(errors="replace")
            raise RefusedError(f"{address} answers {status}: {start}")
        return Answer(status, body, wall_ms, cpu_ms, self._n_queries)

    def _watch(self, connection: Any, **_: object) -> None:
        if self._count not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._count)

    def _count(self, execute: Callable[..., Any], *query: Any) -> Any:
        self._n_queries += 1
        return execute(*query)


async def _get(scope: dict[str, Any]) -> tuple[int, bytes]:
    communicator: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
    await communicator.send_input({"type": "http.request"})
    status = (await communicator.receive_output(ANSWER_LIMIT_S))["status"]
    body, is_more = b"", True
    while is_more:
        part = await communicator.receive_output(ANSWER_LIMIT_S)
        body += part.get("body", b"")
        is_more = part.get("more_body", False)
    await communicator.wait(ANSWER_LIMIT_S)
    return status, body


def measure_addresses(*, n_warm: int, n_cold: int, only: str = "") -> list[dict[str, Any]]:
    """Return what every address took, in their order.

    p95 of wall and CPU time over all calls; medians with and without kept answers; the most
    queries of any call; kb: what came back.
    """
    subjects = find_subjects()
    # The addresses are the same for all sizes, so that their queries can be compared.
    chosen = [address for address in addresses.find_addresses(subjects) if only in address.name]
    operator = User.objects.get(username=people.ADMIN)
    secret = tokens.issue_token(operator, name="benchmark", scopes=list(Scope), days=1)[1]
    headers: dict[str, Headers] = {
        "/admin/": [(b"cookie", make_cookie(operator).encode())],
        "/api/v1/": [(b"authorization", f"Token {secret}".encode())],
    }
    asker, figures = Asker(), []
    try:
        asker.ask("/", [])  # imports and compiles what the first request of a process does
        freshened_s = monotonic()
        for name, path in chosen:
            if monotonic() - freshened_s >= FRESH_S:
                freshen_rows(now=db_now())
                freshened_s = monotonic()
            own = next((fields for start, fields in headers.items() if path.startswith(start)), [])
            cold = []
            for _ in range(n_cold):
                # Cold as after a restart: the first viewer of a board counts too.
                forget_answers()
                cold.append(asker.ask(path, own))
            warm = [asker.ask(path, own) for _ in range(n_warm)]
            figures.append(summarise_answers(name, cold, warm))
    finally:
        asker.close()
    return figures


def summarise_answers(name: str, cold: list[Answer], warm: list[Answer]) -> dict[str, Any]:
    answers = [*cold, *warm]
    figures = {
        "path": name,
        "p95_ms": find_p95(answer.wall_ms for answer in answers),
        "queries": max(answer.n_queries for answer in answers),
        "warm_ms": median(answer.wall_ms for answer in warm),
        "cold_ms": median(answer.wall_ms for answer in cold),
        "cpu_ms": find_p95(answer.cpu_ms for answer in answers),
        "kb": len(answers[0].body) / 1e3,
    }
    spent = f"{figures['p95_ms']:8.1f} ms {figures['cpu_ms']:7.1f} ms CPU"
    print(f"{spent} {figures['queries']:4} queries  {name}")
    return figures


def forget_answers() -> None:
    """Empty what is kept between requests: in the fast store and in our modules."""
    cache.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith(OURS):
            for attribute, value in vars(module).items():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
                elif attribute.startswith("_kept") and hasattr(value, "clear"):
                    value.clear()


def find_p95(values: Iterable[float]) -> float:
    """Return the smallest value that 95 % of them do not exceed."""
    ordered = sorted(values)
    return ordered[ceil(0.95 * len(ordered)) - 1]


def find_subjects() -> dict[str, object]:
    """Return the ids and names that are asked for: of each kind the one whose page shows most.

    busiest: the agent with most matches; kept: has trajectories; chess, go: matches of many moves;
    deep_...: cursors of the last page of the API's lists.
    """
    board = Leaderboard.objects.get(name=MAIN)
    rated = Rating.objects.filter(leaderboard=board)
    tournaments = Tournament.objects.filter(leaderboard=board)
    largest, running = tournaments.earliest("pk"), tournaments.latest("pk")
    busiest = rated.order_by("-n_matches")[0].agent_id
    checkpoint = Checkpoint.objects.get(sha256=people.checkpoint_hash(0))
    chess, go = (
        Match.objects.filter(leaderboard__game=game).latest("pk").pk for game in people.OTHER_GAMES
    )
    n_agents, n_matches = rated.count(), Match.objects.filter(leaderboard=board).count()
    snapshots = RatingSnapshot.objects.filter(leaderboard=board).order_by("taken_at")
    # A tenth of the agents may fit on one page.
    n_before = max(n_agents - LARGEST_PAGE, 0)
    last = rated.order_by("-mu")[n_before]
    latest = (Order, Schedule, Campaign, Alarm, Season)
    return {
        **{model.__name__.lower(): model._default_manager.latest("pk").pk for model in latest},
        "board": board.name,
        "board_id": board.pk,
        "busiest": busiest,
        "game": "connect_four",
        "second": busiest + 1,
        "searcher": rated.latest("agent_id").agent_id,
        "tournament": largest.pk,
        "running": running.pk,
        "small": Tournament.objects.earliest("pk").pk,
        "match": largest.matches.filter(state="done").latest("sequence").pk,
        "open_match": running.matches.latest("sequence").pk,
        "chess": chess,
        "go": go,
        "kept": tournaments.get(keeps_trajectories=True).pk,
        "worker": Worker.objects.earliest("pk").pk,
        "checkpoint": checkpoint.sha256,
        "checkpoint_id": checkpoint.pk,
        "latest": Checkpoint.objects.latest("pk").sha256,
        "run": checkpoint.run,
        "trained": TRAINED,
        "dataset": DATASET,
        "token": TokenAccess.objects.latest("pk").pk,
        "operator": User.objects.get(username=people.ADMIN).pk,
        "last_page": -(-n_agents // TOP),
        "deep": max(largest.n_matches - SMALL_PAGE, 0),
        "deep_id": make_cursor(LARGEST_PAGE + 1),
        "deep_sequence": make_cursor(max(n_matches - LARGEST_PAGE, 0)),
        "deep_position": make_cursor(n_before),
        "deep_snapshot": make_cursor(snapshots[min(SMALL_PAGE, len(snapshots) - 1)].taken_at),
        # The list of ratings has cursors of its own.
        "deep_rank": urlsafe_b64encode(json.dumps([n_before, last.mu, last.agent_id]).encode())
        .decode()
        .rstrip("="),
    }


def make_cursor(position: object) -> str:
    text = urlencode({"p": str(position)})
    return quote(b64encode(text.encode()).decode())


def make_cookie(operator: User) -> str:
    client = Client()
    client.force_login(operator)
    return f"sessionid={client.cookies['sessionid'].value}"
