"""Which addresses of agents take a connection."""

import socket
from contextlib import suppress

from arena.programs import Program
from inference.tests.servers import wait_until
from workers.programs.address_watcher import LOOKS_BETWEEN, AddressWatcher

LIMIT_S = 10.0


def test_an_address_that_comes_back_is_no_longer_away() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{server.getsockname()[1]}/decide"
        watcher = AddressWatcher([Program("far", address=address), Program("near", ("cat",))])
        assert watcher.away == frozenset()
        watcher.look()
        assert watcher.away == {"far"}
        server.listen()
        watcher.look()
        assert watcher.away == frozenset()


def test_who_answers_is_looked_at_less_often_than_who_does_not() -> None:
    # Connections that are only looked by filled the line of a server that takes one at a time.
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(LOOKS_BETWEEN)
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/decide"
        watcher = AddressWatcher([Program("far", address=address)])
        n_connections = 0
        for _ in range(LOOKS_BETWEEN + 1):
            watcher.look()
            with suppress(BlockingIOError):
                server.accept()[0].close()
                n_connections += 1
        assert n_connections == 2


def test_it_goes_on_looking_until_it_is_closed() -> None:
    watcher = AddressWatcher([Program("far", address="https://" + "a" * 70)], every_s=0.01)
    watcher.start()
    wait_until(lambda: watcher.away == {"far"}, "a look")
    watcher.close()
    watcher._thread.join(LIMIT_S)
    assert not watcher._thread.is_alive()


def test_without_an_address_nothing_is_watched() -> None:
    watcher = AddressWatcher([Program("near", ("cat",))])
    watcher.start()
    assert not watcher._thread.is_alive()
