"""The functions in a real Valkey: who holds a lease, and who is rung for."""

from collections.abc import Iterator

import pytest

from arena.faststore import leases_key, queue_key
from inference import redis_functions
from inference.connection import FastConnection, Reply
from inference.redis_functions import FunctionsMissingError
from inference.tests.servers import Server, wait_until

MAX_DRAINERS, LEASE_MS = 3, 500
BACKLOG = 256


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    server.load()
    yield server
    server.kill()


class Store:
    """The functions, called by their names, beside players who push."""

    def __init__(self, server: Server, url: str = "") -> None:
        self.connection, self.server = FastConnection(url or server.url), server

    def push(self) -> None:
        self.server.client.rpush(queue_key(0), b"request")

    def wake(self, patience_ms: int = 1_000) -> Reply:
        return self.run("inf_wake", patience_ms, MAX_DRAINERS)

    def begin(self, lease: bytes, lease_ms: int = LEASE_MS) -> bool:
        is_held, now_ms = self.run("inf_begin", lease, lease_ms)
        seconds, _ = self.server.client.time()
        assert abs(float(now_ms) / 1000 - seconds) < 2
        return bool(is_held)

    def run(self, function: str, *arguments: str | bytes | int) -> Reply:
        return redis_functions.run_function(self.connection, function, 0, *arguments)


@pytest.fixture
def store(server: Server) -> Iterator[Store]:
    server.empty()
    store = Store(server)
    yield store
    store.connection.close()


def test_a_lease_is_given_up_only_when_nothing_waits(store: Store) -> None:
    store.push()
    assert store.begin(b"7")
    assert store.run("inf_finish", b"7") == 0
    assert store.server.leases() == ["7"]
    store.server.client.lpop(queue_key(0))
    assert store.run("inf_finish", b"7") == 1
    assert store.server.leases() == []


def test_doorbells_of_many_players_start_one_drainer(store: Store) -> None:
    store.push()
    assert store.begin(b"7")
    assert not store.begin(b"7")
    assert not store.begin(b"8")


def test_a_doorbell_finds_nothing_to_do_where_nothing_waits(store: Store) -> None:
    assert not store.begin(b"7")


def test_an_expired_lease_is_rung_for_again(store: Store) -> None:
    store.push()
    assert store.begin(b"7", lease_ms=1)
    wait_until(lambda: isinstance(store.wake(), bytes), "the lease expires")
    (lease,) = store.server.leases()
    assert lease.startswith("ring:")


def test_an_extended_lease_lives_on(store: Store) -> None:
    store.push()
    store.begin(b"7", lease_ms=1)
    store.run("inf_extend", b"7", 60_000)
    expiry = store.server.client.zscore(leases_key(0), b"7")
    seconds, _ = store.server.client.time()
    assert expiry / 1000 - seconds > 50


def test_no_lease_outlives_a_minute_whatever_is_asked(store: Store) -> None:
    store.push()
    store.begin(b"7", lease_ms=10**9)
    (_, expiry) = store.server.client.zrange(leases_key(0), 0, -1, withscores=True)[0]
    seconds, _ = store.server.client.time()
    assert expiry / 1000 - seconds < 62


def test_a_passed_lease_waits_for_its_doorbell(store: Store) -> None:
    store.push()
    store.begin(b"7")
    store.run("inf_pass", b"7")
    assert store.wake() == 0
    assert store.begin(b"7")


def test_the_idle_lend_a_hand_one_by_one_when_much_waits(store: Store) -> None:
    """And never more doorbells at once than one: no worker may be there to answer."""
    store.push()
    lease = store.wake()
    assert store.wake() == 0
    for n_drainers in range(1, MAX_DRAINERS + 1):
        assert store.begin(lease)
        fill(store, BACKLOG * n_drainers - 1)
        assert store.wake() == 0
        fill(store, BACKLOG * n_drainers)
        rung = [lease for _ in range(5) if (lease := store.wake())]
        assert len(rung) == (1 if n_drainers < MAX_DRAINERS else 0)
        lease = rung[0] if rung else b""


def fill(store: Store, n: int) -> None:
    missing = n - store.server.n_waiting()
    if missing > 0:
        store.server.client.rpush(queue_key(0), *[b"x"] * missing)


def test_a_lost_doorbell_is_found_by_who_is_idle(store: Store) -> None:
    store.push()
    lost = store.wake()
    assert isinstance(lost, bytes)
    assert store.wake(60_000) == 0
    again = store.wake(0)
    assert isinstance(again, bytes)
    assert again != lost
    assert store.server.leases() == [f"ring:{again.decode()}"]


def test_nobody_is_woken_where_nothing_waits_or_somebody_drains(store: Store) -> None:
    assert store.wake(0) == 0
    store.push()
    assert store.begin(b"7")
    assert store.wake(0) == 0


def test_functions_are_loaded_where_they_are_missing_and_only_there(store: Store) -> None:
    assert not redis_functions.load_functions(store.connection)
    store.server.client.function_flush()
    with pytest.raises(FunctionsMissingError):
        store.begin(b"7")
    assert redis_functions.load_functions(store.connection)
    assert not store.begin(b"7")


def test_the_numbers_of_both_languages_agree() -> None:
    assert f"local VERSION = {redis_functions.VERSION}\n" in redis_functions.CODE
    assert f"local BACKLOG = {BACKLOG}\n" in redis_functions.CODE
