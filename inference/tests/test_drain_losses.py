"""Client and drainer when the fast store, the broker, the engine or a worker goes away."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from arena.faststore import queue_key
from inference import redis_functions
from inference.client import InferenceClient
from inference.connection import FastConnection
from inference.errors import UnavailableError
from inference.tests.drainers import QUICK, Bells, Drainers, no_ring, unanswered
from inference.tests.echo import BREAKS_ENGINE, GOOD, EchoEngine, block_of
from inference.tests.servers import Server, wait_until


def test_requests_in_a_dead_worker_are_sent_again_and_run_once(
    store: Server, drainers: Drainers
) -> None:
    drainers.n_to_lose = 1
    client, connection = drainers.client(), FastConnection(store.url)
    ticket = client.submit(GOOD, block_of(3))
    # A worker answers the doorbell, pops the request and dies.
    redis_functions.run_function(connection, "inf_begin", *drainers.lost[0], QUICK.lease_ms)
    popped = store.client.lpop(queue_key(0))
    assert client.result(ticket).values.tolist() == [4, 4, 4]
    assert client.n_sent_again == 1
    # It was not dead, only slow.
    store.client.rpush(queue_key(0), popped)
    assert client.infer(GOOD, block_of(1)).values.tolist() == [4]
    wait_until(lambda: drainers.counts["copies"] == 1, "it is not run again")
    assert drainers.counts["requests"] == 2


def test_a_fast_store_that_restarts_is_filled_again(store: Server, drainers: Drainers) -> None:
    client = drainers.client()
    client.infer(GOOD, block_of(1))
    wait_until(lambda: not store.leases(), "the drainer is idle")
    drainers.n_to_lose = 1
    tickets = [client.submit(GOOD, block_of(n)) for n in (1, 2)]
    store.kill()
    restarted = threading.Timer(0.2, store.start)
    # Its functions come later: until then requests cannot even be sent.
    loaded = threading.Timer(0.8, store.load)
    for timer in (restarted, loaded):
        timer.start()
    assert [len(client.result(ticket).values) for ticket in tickets] == [1, 2]
    assert len(client.infer(GOOD, block_of(3)).values) == 3
    loaded.join()


def test_a_request_asked_while_the_fast_store_is_away_is_sent_when_it_is_back(
    store: Server, drainers: Drainers
) -> None:
    client = drainers.client()
    store.kill()
    back = threading.Timer(0.3, store.restart)
    back.start()
    assert len(client.infer(GOOD, block_of(3)).values) == 3
    back.join()


def test_without_a_fast_store_it_gives_up_at_the_deadline() -> None:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    client = InferenceClient(
        "redis://127.0.0.1:1/0", settings=QUICK, ring=no_ring, clock=lambda: now[0], pause=pause
    )
    with pytest.raises(UnavailableError, match="no answer within 5000 ms"):
        client.infer(GOOD, block_of(1))
    assert 5 <= now[0] < 6.1
    assert client.n_sent_again < 12, "it pauses longer each time"


def test_the_drainer_ends_when_the_fast_store_goes(store: Server) -> None:
    engine, bells = EchoEngine(), Bells()
    client = unanswered(store, bells)
    client.submit(GOOD, block_of(1))
    engine.before = lambda keep_alive: store.kill()
    drainers = Drainers(store, engine=engine, n_threads=0)
    try:
        assert drainers.drain(*bells[0], FastConnection(store.url))["lost"] == 1
    finally:
        store.start()


def test_a_doorbell_after_a_restart_finds_nothing_to_do(store: Server) -> None:
    store.client.function_flush()
    drainers = Drainers(store, n_threads=0)
    assert drainers.drain(0, "lease", FastConnection(store.url)) == {"lost": 1}


def test_a_lease_is_kept_while_a_model_loads(store: Server) -> None:
    engine, bells = EchoEngine(), Bells()
    client = unanswered(store, bells)
    kept: list[list[str]] = []

    def load_for_long(keep_alive: Callable[[], None]) -> None:
        if kept:
            return
        for _ in range(2 * QUICK.lease_ms // 50):
            threading.Event().wait(0.05)
            keep_alive()
            client.submit(GOOD, block_of(1))
            kept.append(store.leases())

    engine.before = load_for_long
    client.submit(GOOD, block_of(1))
    Drainers(store, engine=engine, n_threads=0).drain(*bells[0], FastConnection(store.url))
    assert kept
    assert all(leases == [bells[0][1]] for leases in kept)
    assert len(bells) == 1


def test_a_drainer_that_is_told_to_stop_ends_after_its_batch_and_gives_the_rest_back(
    store: Server,
) -> None:
    engine, bells = EchoEngine(), Bells()
    client = unanswered(store, bells)
    drainers = Drainers(
        store, engine=engine, settings=replace(QUICK, max_batch_size=4), n_threads=0
    )
    tickets = [client.submit(GOOD, block_of(2, n)) for n in range(5)]
    waiting = store.client.lrange(queue_key(0), 0, -1)

    def stop(keep_alive: Callable[[], None]) -> None:
        drainers.is_stopping = True

    engine.before = stop
    counts = drainers.drain(*bells[0], FastConnection(store.url))
    assert counts["requests"] == 2
    assert engine.batches == [[2, 2]]
    assert store.client.lrange(queue_key(0), 0, -1) == waiting[2:]
    assert drainers.n_rung == 1, "another worker goes on"
    assert [client.result(ticket).values[0] for ticket in tickets[:2]] == [0, 4]


def test_an_engine_that_fails_ends_the_worker_and_charges_nobody(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells)
    drainers = Drainers(store, n_threads=0)
    tickets = [client.submit(ref, block_of(1)) for ref in (GOOD, BREAKS_ENGINE)]
    counts = drainers.drain(*bells[0], FastConnection(store.url))
    assert counts["engine_errors"] == 1
    assert drainers.is_broken
    for ticket in tickets:
        with pytest.raises(UnavailableError, match="RuntimeError: the device is gone"):
            client.result(ticket)


def test_while_the_broker_is_away_the_drainer_goes_on_without_messages(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells)
    drainers = Drainers(store, settings=replace(QUICK, slice_ms=1), n_threads=0)
    drainers.is_broker_away = True
    tickets = [client.submit(GOOD, block_of(1)) for _ in range(3)]
    drainers.drain(*bells[0], FastConnection(store.url))
    assert [len(client.result(ticket).values) for ticket in tickets] == [1, 1, 1]
    assert drainers.n_rung == 0
    assert store.leases() == []


def test_a_ticket_that_is_let_go_is_forgotten(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells)
    ticket = client.submit(GOOD, block_of(1))
    del ticket
    Drainers(store, n_threads=0).drain(*bells[0], FastConnection(store.url))
    assert client.n_late == 0
    drainers = Drainers(store)
    again = client.submit(GOOD, block_of(2))
    for shard, lease in bells[1:]:
        drainers.ring(shard, lease)
    assert len(client.result(again).values) == 2
    assert client.n_late == 1
    drainers.close()
