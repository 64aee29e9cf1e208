"""Bindings of queues that stay in the process that makes them."""

from types import SimpleNamespace

from arena.kombu_bindings import InProcessBindings


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
