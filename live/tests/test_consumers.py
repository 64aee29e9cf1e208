"""A viewer's socket: snapshot first, then deltas; hardly anything is taken from it."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.routing import URLRouter
from django.db import OperationalError, connection
from pytest_django import Settings
from redis import Redis

from live.consumers import MAX_REQUESTS, LeaderboardConsumer
from live.routing import websocket_urlpatterns
from matches.board import broadcast
from matches.models import Rating
from matches.operations.system import pushing
from matches.store.clock import db_now
from matches.tests import factories

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "/ws/leaderboards/board/"
ASK = json.dumps({"type": "snapshot"})


async def _in_database(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return await database_sync_to_async(function)(*args, **kwargs)


async def _planned() -> int:
    """Return a board that has just been pushed, so that a viewer is not told of a new epoch."""
    tournament = await _in_database(factories.planned)
    await _in_database(_publish, tournament.leaderboard_id)
    return int(tournament.leaderboard_id)


class Viewer:
    """A socket to the application (Channels' own needs a second web server to be installed)."""

    def __init__(self, address: str) -> None:
        scope = {"type": "websocket", "path": address, "headers": [], "query_string": b""}
        application: Any = ApplicationCommunicator
        self._application = application(URLRouter(websocket_urlpatterns), scope)

    async def send(self, kind: str, **message: Any) -> None:
        await self._application.send_input({"type": f"websocket.{kind}", **message})

    async def next(self) -> dict[str, Any]:
        return dict(await self._application.receive_output(timeout=3))

    async def ask(self, text: str | None = None, *, content: bytes | None = None) -> None:
        await self.send("receive", text=text, bytes=content)

    async def leave(self) -> None:
        await self.send("disconnect", code=1000)
        await self._application.wait(timeout=3)


@asynccontextmanager
async def _viewer(address: str = ADDRESS) -> AsyncIterator[Viewer]:
    viewer = Viewer(address)
    await viewer.send("connect")
    assert (await viewer.next())["type"] == "websocket.accept"
    yield viewer
    await viewer.leave()


async def _received(viewer: Viewer) -> dict[str, Any]:
    return dict(json.loads((await viewer.next())["text"]))


async def _closing_code(viewer: Viewer) -> int:
    message = await viewer.next()
    assert message["type"] == "websocket.close"
    return int(message["code"])


def _publish(board_id: int) -> broadcast.BoardDelta | None:
    return broadcast.publish(board_id, now=db_now())


def _publish_soon(board_id: int) -> broadcast.BoardDelta | None:
    """Push at a moment at which a board pushed just now may be pushed again."""
    return broadcast.publish(board_id, now=db_now() + broadcast.MIN_INTERVAL)


def _push_soon() -> None:
    broadcast.push_due(now=db_now() + broadcast.LEAVES_ALONE)
    connection.close()


def _system_with(node: str) -> None:
    """Let a node live, and control look; the first time so long ago that it may look again.

    Never ahead of the clock: a picture of the future is not believed.
    """
    now = db_now() if pushing.read_latest() else db_now() - pushing.MIN_INTERVAL
    factories.alive(node=node, now=now)
    pushing.push_sample(now=now)


def _raise_rating() -> None:
    Rating.objects.filter(agent__name="level:10").update(mu=40)


async def test_a_viewer_gets_a_snapshot_and_then_who_can_play(broker: Redis) -> None:
    await _planned()
    async with _viewer() as viewer:
        snapshot, nodes = await _received(viewer), await _received(viewer)
    assert (snapshot["type"], snapshot["sequence"], len(snapshot["rows"])) == ("snapshot", 0, 3)
    assert nodes == {"type": "nodes", "nodes": "0", "slots": "0"}


async def test_what_is_pushed_reaches_every_viewer_under_the_next_number(broker: Redis) -> None:
    board_id = await _planned()
    async with _viewer() as first, _viewer() as second:
        for viewer in (first, second):
            await _received(viewer), await _received(viewer)
        await _in_database(_raise_rating)
        await _in_database(_publish_soon, board_id)
        deltas = [await _received(first), await _received(second)]
    assert deltas[0] == deltas[1]
    assert (deltas[0]["type"], deltas[0]["sequence"]) == ("delta", 1)
    assert deltas[0]["rows"][0]["mu"] == "40.00"


async def test_a_viewer_that_missed_something_asks_and_gets_the_same_numbers(broker: Redis) -> None:
    board_id = await _planned()
    async with _viewer() as viewer:
        await _received(viewer), await _received(viewer)
        await _in_database(_raise_rating)
        delta = await _in_database(_publish_soon, board_id)
        await _received(viewer)
        await viewer.ask(ASK)
        snapshot = await _received(viewer)
    assert (snapshot["epoch"], snapshot["sequence"]) == (delta["epoch"], delta["sequence"])
    assert snapshot["rows"][0]["mu"] == "40.00"


async def test_a_board_that_does_not_exist_has_no_viewers(broker: Redis) -> None:
    async with _viewer("/ws/leaderboards/nowhere/") as viewer:
        assert await _closing_code(viewer) == 4404


@pytest.mark.parametrize(
    ("request_text", "code"),
    [
        ("", 1007),
        ("snapshot", 1007),
        ("[]", 1007),
        ('{"type": "delta"}', 1007),
        ('{"type": "snapshot", "board": 2}', 1007),
        ('"' + "a" * 100 + '"', 1009),
    ],
)
async def test_anything_but_the_one_request_closes_the_socket(
    broker: Redis, request_text: str, code: int
) -> None:
    await _planned()
    async with _viewer() as viewer:
        await _received(viewer), await _received(viewer)
        await viewer.ask(request_text)
        assert await _closing_code(viewer) == code


async def test_bytes_close_the_socket(broker: Redis) -> None:
    await _planned()
    async with _viewer() as viewer:
        await _received(viewer), await _received(viewer)
        await viewer.ask(content=b"\xff")
        assert await _closing_code(viewer) == 1007


async def test_asking_without_end_closes_the_socket(broker: Redis) -> None:
    await _planned()
    async with _viewer() as viewer:
        await _received(viewer), await _received(viewer)
        for _ in range(MAX_REQUESTS - 1):
            await viewer.ask(ASK)
            await _received(viewer)
        await viewer.ask(ASK)
        assert await _closing_code(viewer) == 1008


async def test_without_a_fast_store_the_viewer_is_asked_to_come_back(
    broker: Redis, settings: Settings
) -> None:
    await _planned()
    layer = settings.CHANNEL_LAYERS["default"]
    away = {**layer, "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]}}
    settings.CHANNEL_LAYERS = {"default": away}
    backend = settings.CACHES["default"]
    settings.CACHES = {"default": {**backend, "LOCATION": "redis://127.0.0.1:1/0"}}
    # The layer fails before the socket is accepted: the browser sees a refused connection.
    viewer = Viewer(ADDRESS)
    await viewer.send("connect")
    assert await _closing_code(viewer) == 1013


async def test_while_the_database_is_away_a_viewer_comes_again(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(LeaderboardConsumer, "find_subscription", fail)
    viewer = Viewer(ADDRESS)
    await viewer.send("connect")
    assert await _closing_code(viewer) == 1013


async def test_a_thread_of_control_can_push(broker: Redis) -> None:
    await _planned()
    async with _viewer() as viewer:
        await _received(viewer), await _received(viewer)
        await _in_database(_raise_rating)
        # Outside of this loop's threads, as a Celery worker does it.
        await sync_to_async(_push_soon, thread_sensitive=False)()
        received = {(await _received(viewer))["type"] for _ in range(2)}
    assert received == {"delta", "nodes"}


async def test_a_viewer_of_the_system_gets_the_whole_picture_at_once_and_with_every_push(
    broker: Redis,
) -> None:
    await _in_database(_system_with, "node-1")
    async with _viewer("/ws/system/") as viewer:
        first = await _received(viewer)
        await _in_database(_system_with, "node-2")
        second = await _received(viewer)
        await viewer.ask(ASK)
        third = await _received(viewer)
    assert [message["type"] for message in (first, second, third)] == ["system"] * 3
    tables = [{table["name"]: table["rows"] for table in m["tables"]} for m in (first, second)]
    names = [[row["cells"][0] for row in rows["nodes"]] for rows in tables]
    assert names == [["node-1"], ["node-1", "node-2"]]
    assert third == second
