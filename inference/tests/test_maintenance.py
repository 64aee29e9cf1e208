from collections.abc import Iterator

import pytest

from arena.faststore import leases_key, queue_key, served_key
from inference.connection import FastConnection
from inference.errors import InferenceError
from inference.maintenance import SERVED_MS, Calls, MaintenanceThread
from inference.settings import Settings
from inference.tests.servers import Server, wait_until


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.kill()


class Kept:
    """A keeper of shards 0 and 1, and what it did."""

    def __init__(self, server: Server) -> None:
        server.empty()
        self.rung: list[tuple[int, str]] = []
        self.n_alive = 0
        self.show_times: list[float] = []
        self.is_idle = True
        self.is_broker_away = False
        self.now = 0.0
        self.maintenance = MaintenanceThread(
            FastConnection(server.url),
            Settings(serves=(0, 1), n_shards=2, queue_limit=3, gpu="gpu-7", alive_s=10),
            Calls(
                ring=self._ring,
                is_idle=lambda: self.is_idle,
                say_alive=self._say_alive,
                show=lambda _, now: self.show_times.append(now),
            ),
            clock=lambda: self.now,
        )

    def tick(self, now: float) -> None:
        self.now = now
        self.maintenance.tick(now)

    def _ring(self, shard: int, lease: str) -> None:
        self.rung.append((shard, lease))

    def _say_alive(self) -> None:
        if self.is_broker_away:
            raise InferenceError("the broker is away")
        self.n_alive += 1


@pytest.fixture
def kept(server: Server) -> Kept:
    return Kept(server)


def test_functions_are_loaded_at_the_start_and_again_after_a_restart(
    server: Server, kept: Kept
) -> None:
    server.client.function_flush()
    kept.maintenance.open()
    assert server.client.function_list(library="evalsite_inference")
    kept.maintenance.close()
    server.client.function_flush()
    kept.tick(1)
    assert server.client.function_list(library="evalsite_inference")


def test_control_is_told_every_ten_seconds(kept: Kept) -> None:
    for now in range(25):
        kept.tick(now)
    assert kept.n_alive == 3


def test_what_is_done_is_shown_at_every_tick_at_which_the_fast_store_answers(
    server: Server, kept: Kept
) -> None:
    kept.tick(0)
    server.kill()
    kept.tick(1)
    server.start()
    kept.tick(2)
    assert kept.show_times == [0, 2]


def test_a_doorbell_that_was_lost_is_rung_again(server: Server, kept: Kept) -> None:
    server.load()
    server.client.rpush(queue_key(1), b"request")
    kept.is_idle = False
    kept.tick(0)
    assert kept.rung == [], "a busy worker gets to it by itself"
    kept.is_idle = True
    kept.tick(1)
    ((shard, lease),) = kept.rung
    assert (shard, server.leases(1)) == (1, [f"ring:{lease}"])
    kept.tick(2)
    assert len(kept.rung) == 1, "it may still be under way"
    for ring, expiry in server.client.zrange(leases_key(1), 0, -1, withscores=True):
        server.client.zadd(leases_key(1), {ring: expiry - 2_000})
    kept.tick(3)
    assert len(kept.rung) == 2


def test_clients_see_that_a_shard_is_served(server: Server, kept: Kept) -> None:
    kept.maintenance.open()
    kept.maintenance.close()
    for shard in (0, 1):
        assert server.client.get(served_key(shard)) == b"gpu-7"
        assert 0 < server.client.pttl(served_key(shard)) <= SERVED_MS


def test_a_flood_is_cut_to_twice_what_our_clients_push(server: Server, kept: Kept) -> None:
    server.client.rpush(queue_key(0), *[b"%d" % n for n in range(10)])
    kept.tick(0)
    assert server.client.lrange(queue_key(0), 0, -1) == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_trouble_is_said_once(server: Server, kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.is_broker_away = True
    for now in (0, 10, 20):
        kept.tick(now)
    kept.is_broker_away = False
    kept.tick(30)
    messages = [record.message for record in caplog.records if "broker" in record.message]
    assert messages == [
        "the broker cannot be used now: the broker is away",
        "the broker can be used again",
    ]


def test_a_fast_store_that_is_away_is_tried_again(server: Server, kept: Kept) -> None:
    kept.tick(0)
    server.kill()
    kept.tick(1)
    server.start()
    kept.tick(2)
    assert server.client.function_list(library="evalsite_inference")


def test_its_thread_ticks_until_it_is_closed(server: Server, kept: Kept) -> None:
    kept.maintenance.open()
    server.client.function_flush()
    wait_until(lambda: server.client.function_list(), "a second has passed")
    kept.maintenance.close()
