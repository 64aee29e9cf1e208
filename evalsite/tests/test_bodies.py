import json
from collections.abc import Iterator
from typing import Any

from evalsite.bodies import BoundedBodies, Message


class Exchange:
    """A request whose body comes in pieces, and what was answered."""

    def __init__(self, *pieces: bytes, announced: bytes | None = None) -> None:
        self.scope: dict[str, Any] = {"type": "http", "headers": []}
        if announced is not None:
            self.scope["headers"] = [(b"content-length", announced)]
        self.pieces: Iterator[bytes] = iter(pieces)
        self.sent: list[Message] = []
        self.messages: list[Message] = []

    async def receive(self) -> Message:
        return {"type": "http.request", "body": next(self.pieces), "more_body": True}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        while len(self.messages) < 3:
            self.messages.append(await receive())

    async def run(self) -> None:
        await BoundedBodies(self.application, limit=10)(self.scope, self.receive, self.send)


async def test_a_body_within_the_limit_is_read() -> None:
    exchange = Exchange(b"1234", b"567890", b"", announced=b"10")
    await exchange.run()
    assert [message["body"] for message in exchange.messages] == [b"1234", b"567890", b""]
    assert not exchange.sent


async def test_a_body_that_is_announced_as_too_long_is_refused_unread() -> None:
    exchange = Exchange(announced=b"11")
    await exchange.run()
    assert exchange.sent[0]["status"] == 413
    (problem,) = json.loads(exchange.sent[1]["body"])["errors"]
    assert problem["field"] == "file"
    assert "11 bytes, at most 10" in problem["message"]
    assert not exchange.messages


async def test_a_body_that_turns_out_too_long_is_hung_up_on() -> None:
    for announced in (None, b"soon"):
        exchange = Exchange(b"12345678", b"90", b"1", announced=announced)
        await exchange.run()
        assert [message["type"] for message in exchange.messages] == [
            *("http.request", "http.request", "http.disconnect"),
        ]
