"""Bindings that stay in the process that makes them, and items that are checked when popped."""

from types import SimpleNamespace
from typing import Any

import pytest

from arena.kombu_bindings import CheckedPops, InProcessBindings


class Channel(InProcessBindings):
    """As much of kombu's channel as bindings need: an exchange of each type, by its name."""

    def __init__(self) -> None:
        self.typeof = lambda exchange: SimpleNamespace(type=exchange)
        table = [("control", "", "control")]
        self.state = SimpleNamespace(exchanges={"direct": {"table": table}})
        self._fanout_queues: dict[str, tuple[str, str]] = {}
        self.auto_delete_queues = {"mine"}


def test_a_queue_of_a_fanout_is_kept_and_no_other() -> None:
    channel = Channel()
    channel._queue_bind("fanout", "worker.#", "", "events")
    channel._queue_bind("direct", "control", "", "control")
    assert channel._fanout_queues == {"events": ("fanout", "worker.*")}


def test_the_table_is_what_this_process_has_bound() -> None:
    assert Channel().get_table("direct") == [("control", "", "control")]


def test_a_queue_that_ends_leaves_nothing() -> None:
    channel = Channel()
    channel.maybe_refresh_binding_expiry()
    channel._delete("mine", "direct", "key")
    assert channel.auto_delete_queues == set()


class Server:
    """A Redis client whose replies are given."""

    reply: Any = None

    def parse_response(self, *_: Any, **__: Any) -> Any:
        return self.reply


class Client(CheckedPops, Server):
    """Refuses what is not of the queue `mine`."""

    priority_separator = ":"

    def refuse_item(self, item: bytes, queue: str) -> str | None:
        return None if queue == "mine" else f"{item!r} is not for {queue}"


def pop(reply: Any, *, command: str = "BRPOP") -> Any:
    client = Client()
    client.reply = reply
    return client.parse_response(None, command)


def test_an_item_that_is_refused_is_dropped_whatever_its_priority() -> None:
    assert pop((b"mine", b"x")) == (b"mine", b"x")
    assert pop((b"mine:3", b"x")) == (b"mine:3", b"x")
    assert pop((b"other:3", b"x")) is None


def test_other_replies_are_passed_on() -> None:
    assert pop(None) is None
    assert pop(b"PONG", command="PING") == b"PONG"


def test_who_mixes_it_in_says_what_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        CheckedPops().refuse_item(b"", "mine")
