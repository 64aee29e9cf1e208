"""The functions in a real Valkey: who holds a lease, who is told to ring, and who may call."""

from collections.abc import Iterator

import pytest
import redis

from inference import functions
from inference.functions import FULL, MissingError
from inference.link import Link, Reply
from inference.tests.servers import Server, wait_until

LIMIT, MAX_DRAINERS, LEASE_MS = 1000, 3, 500
BACKLOG = 256
PASSWORD = "player"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    server.load()
    yield server
    server.kill()


class Store:
    """The functions, called by their names."""

    def __init__(self, server: Server, url: str = "") -> None:
        self.link, self.server = Link(url or server.url), server

    def push(self, request: bytes = b"request", limit: int = LIMIT) -> Reply:
        return self.run("inf_push", request, limit, MAX_DRAINERS)

    def begin(self, lease: bytes, lease_ms: int = LEASE_MS) -> bool:
        is_held, now_ms = self.run("inf_begin", lease, lease_ms)
        seconds, _ = self.server.client.time()
        assert abs(float(now_ms) / 1000 - seconds) < 2
        return bool(is_held)

    def run(self, function: str, *arguments: str | bytes | int) -> Reply:
        return functions.run(self.link, function, 0, *arguments)


@pytest.fixture
def store(server: Server) -> Iterator[Store]:
    server.empty()
    store = Store(server)
    yield store
    store.link.close()


def test_only_the_first_push_rings(store: Store) -> None:
    lease = store.push()
    assert isinstance(lease, bytes)
    assert store.push() == 0
    assert store.server.n_waiting() == 2
    assert store.server.leases() == [f"ring:{lease.decode()}"]


def test_nobody_rings_while_somebody_drains(store: Store) -> None:
    assert store.begin(store.push())
    assert store.push() == 0


def test_a_full_list_takes_nothing(store: Store) -> None:
    for _ in range(3):
        store.push(limit=3)
    assert store.push(limit=3) == FULL
    assert store.server.n_waiting() == 3


def test_a_request_that_is_too_large_is_refused(store: Store) -> None:
    with pytest.raises(redis.ResponseError, match="TOOLARGE"):
        store.push(bytes(functions.MAX_BYTES + 1))


def test_a_lease_is_given_up_only_when_nothing_waits(store: Store) -> None:
    lease = store.push()
    assert store.begin(lease)
    assert store.run("inf_finish", lease) == 0
    assert store.server.leases() == [lease.decode()]
    store.server.client.lpop(functions.queue_key(0))
    assert store.run("inf_finish", lease) == 1
    assert store.server.leases() == []
    assert isinstance(store.push(), bytes)


def test_a_doorbell_that_comes_twice_starts_one_drainer(store: Store) -> None:
    lease = store.push()
    assert store.begin(lease)
    assert not store.begin(lease)


def test_a_doorbell_that_is_too_late_serves_only_where_nobody_does(store: Store) -> None:
    assert not store.begin(b"old"), "nothing waits"
    store.push()
    assert store.begin(b"old"), "the doorbell that the push rang has not been answered yet"
    assert not store.begin(b"older")


def test_an_expired_lease_is_rung_for_again(store: Store) -> None:
    assert store.begin(store.push(), lease_ms=1)
    wait_until(lambda: isinstance(store.push(), bytes), "the lease expires")
    (lease,) = store.server.leases()
    assert lease.startswith("ring:")


def test_an_extended_lease_lives_on(store: Store) -> None:
    lease = store.push()
    store.begin(lease, lease_ms=1)
    store.run("inf_extend", lease, 60_000)
    expiry = store.server.client.zscore(functions.leases_key(0), lease)
    seconds, _ = store.server.client.time()
    assert expiry / 1000 - seconds > 50


def test_no_lease_outlives_a_minute_whatever_is_asked(store: Store) -> None:
    store.begin(store.push(), lease_ms=10**9)
    (_, expiry) = store.server.client.zrange(functions.leases_key(0), 0, -1, withscores=True)[0]
    seconds, _ = store.server.client.time()
    assert expiry / 1000 - seconds < 62


def test_a_passed_lease_waits_for_its_doorbell(store: Store) -> None:
    lease = store.push()
    store.begin(lease)
    store.run("inf_pass", lease)
    assert store.push() == 0
    assert store.begin(lease)


def test_more_drainers_are_rung_for_one_by_one_when_much_waits(store: Store) -> None:
    """And never more doorbells at once than one: no worker may be there to answer."""
    leases = [lease for _ in range(BACKLOG + 50) if (lease := store.push())]
    assert len(leases) == 1
    for n_drainers in range(1, MAX_DRAINERS + 1):
        assert store.begin(leases[-1])
        fill(store, BACKLOG * n_drainers + 1)
        found = [lease for _ in range(5) if (lease := store.push())]
        assert len(found) == (1 if n_drainers < MAX_DRAINERS else 0)
        leases += found


def fill(store: Store, n: int) -> None:
    missing = n - store.server.n_waiting()
    if missing > 0:
        store.server.client.rpush(functions.queue_key(0), *[b"x"] * missing)


def test_a_lost_doorbell_is_found_by_who_is_idle(store: Store) -> None:
    lost = store.push()
    assert store.run("inf_wake", 60_000) == 0
    again = store.run("inf_wake", 0)
    assert isinstance(again, bytes)
    assert again != lost
    assert store.server.leases() == [f"ring:{again.decode()}"]


def test_nobody_is_woken_where_nothing_waits_or_somebody_drains(store: Store) -> None:
    assert store.run("inf_wake", 0) == 0
    assert store.begin(store.push())
    assert store.run("inf_wake", 0) == 0


def test_functions_are_loaded_where_they_are_missing_and_only_there(store: Store) -> None:
    assert not functions.load(store.link)
    store.server.client.function_flush()
    with pytest.raises(MissingError):
        store.push()
    assert functions.load(store.link)
    assert isinstance(store.push(), bytes)


def test_the_numbers_of_both_languages_agree() -> None:
    assert f"local VERSION = {functions.VERSION}\n" in functions.CODE
    assert f"local MAX_BYTES = {functions.MAX_BYTES // 2**20} * 1024 * 1024\n" in functions.CODE
    assert f"local BACKLOG = {BACKLOG}\n" in functions.CODE


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """Run a server whose options let players in."""
    server = Server(f"user inference on >{PASSWORD} {functions.acl_rules()}")
    server.load()
    yield server
    server.kill()


@pytest.fixture
def player(guarded: Server) -> Iterator[Store]:
    """Connect as a player does."""
    guarded.empty()
    player = Store(guarded, guarded.url.replace("://", f"://inference:{PASSWORD}@"))
    yield player
    player.link.close()


def test_a_player_may_ask_and_take_its_own_answer(player: Store) -> None:
    assert isinstance(player.push(), bytes)
    assert player.push() == 0
    assert len(player.link.call("TIME")) == 2
    player.server.client.rpush("inf:reply:mine", b"answer")
    taken = player.link.call("BLMPOP", 1, 1, "inf:reply:mine", "LEFT", "COUNT", 10)
    assert taken == [b"inf:reply:mine", [b"answer"]]


@pytest.mark.parametrize(
    "command",
    [
        "GET other",
        "SET inf:x y",
        "LPOP inf:{0}:queue",
        "LMPOP 1 inf:{0}:queue LEFT",
        "BLMPOP 1 1 inf:{0}:queue LEFT",
        "LRANGE inf:{0}:queue 0 -1",
        "DEL inf:{0}:queue",
        "DEL inf:{0}:leases",
        "RPUSH inf:reply:other x",
        "RPUSH celery x",
        "LPOP celery",
        "KEYS *",
        "SCAN 0",
        "EVAL return(1) 0",
        "FUNCTION FLUSH",
        "FUNCTION LIST",
        "FUNCTION LOAD x",
        "SCRIPT FLUSH",
        "FLUSHALL",
        "CONFIG GET *",
        "ACL LIST",
        "CLIENT LIST",
        "CLIENT KILL TYPE normal",
        "MONITOR",
        "SUBSCRIBE x",
        "PUBLISH asgi x",
        "INFO",
        "DEBUG SLEEP 1",
        "FCALL inf_push 2 other others x 1 1",
        "FCALL inf_finish 2 inf:{0}:queue inf:{0}:leases x",
        "FCALL inf_pass 2 inf:{0}:queue inf:{0}:leases x",
        "FCALL inf_extend 2 inf:{0}:queue inf:{0}:leases x 60000",
        "FCALL inf_begin 2 inf:{0}:queue inf:{0}:leases x 60000",
        "FCALL inf_wake 2 inf:{0}:queue inf:{0}:leases 0",
    ],
)
def test_a_player_may_do_nothing_else(player: Store, command: str) -> None:
    player.push()
    if "inf_finish" in command:
        player.server.client.lpop(functions.queue_key(0))  # or it would have nothing to refuse
    kept = player.server.n_waiting(), player.server.leases()
    with pytest.raises(redis.ResponseError, match=r"permission|ACL|not allowed"):
        player.link.call(*command.split())
    assert (player.server.n_waiting(), player.server.leases()) == kept
