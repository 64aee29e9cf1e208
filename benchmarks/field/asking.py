"""Ask the ASGI application in this process, all middleware included, as the web server asks it."""

import asyncio
from collections.abc import Callable, Iterable, MutableMapping
from time import perf_counter, process_time
from typing import Any, NamedTuple
from urllib.parse import unquote

from django.db import connections
from django.db.backends.signals import connection_created

from evalsite.asgi import application

Headers = Iterable[tuple[str, str]]
Message = MutableMapping[str, Any]


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
        for connection in connections.all(initialized_only=True):
            connection.close()

    def close(self) -> None:
        """Stop counting."""
        connection_created.disconnect(self._watch)
        self._runner.close()

    def ask(self, address: str, headers: Headers = ()) -> Answer:
        """Return the answer to a GET."""
        scope, sent = _scope(address, headers), list[Message]()
        self._n_queries = 0
        began_s, began_cpu_s = perf_counter(), process_time()
        self._runner.run(_called(scope, sent))
        cpu_ms, wall_ms = 1e3 * (process_time() - began_cpu_s), 1e3 * (perf_counter() - began_s)
        body = b"".join(message.get("body", b"") for message in sent)
        return Answer(sent[0]["status"], body, wall_ms, cpu_ms, self._n_queries)

    def _watch(self, connection: Any, **_: object) -> None:
        if self._count not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._count)

    def _count(self, execute: Callable[..., Any], *query: Any) -> Any:
        self._n_queries += 1
        return execute(*query)


async def _called(scope: dict[str, Any], sent: list[Message]) -> None:
    is_asked = False

    async def receive() -> Message:
        nonlocal is_asked
        if is_asked:
            await asyncio.Event().wait()  # the caller stays until it has its answer
        is_asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await application(scope, receive, send)


def _scope(address: str, headers: Headers) -> dict[str, Any]:
    path, _, query = address.partition("?")
    named = [("host", "127.0.0.1"), *headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in named],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8_000),
    }
