"""Requests that wait for longer than their clients wait before they ask again."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from arena.faststore import leases_key, queue_key, served_key, taken_key
from inference.connection import FastConnection
from inference.drain_loop import AnsweredRequests
from inference.shards import RING_AGAIN_S, DoorbellRule, QueuePosition, ShardView
from inference.tests.drainers import QUICK, Bells, Drainers, unanswered
from inference.tests.echo import GOOD, EchoEngine, block_of
from inference.tests.servers import Server

N_CLIENTS, N_BLOCKS, N_TURNS = 8, 6, 3
SLOW = replace(QUICK, max_batch_size=1, retry_after_ms=30, deadline_ms=60_000)


def test_a_backlog_older_than_the_retry_is_answered_at_the_rate_of_the_server(
    store: Server,
) -> None:
    """48 requests wait for 5 ms each: eight times what their clients wait at first."""
    engine = EchoEngine()

    def compute(keep_alive: Callable[[], None]) -> None:
        threading.Event().wait(0.005)

    engine.before = compute
    drainers = Drainers(store, engine=engine, settings=SLOW)
    failed: list[str] = []

    def ask() -> None:
        client = drainers.client()
        try:
            for _ in range(N_TURNS):
                tickets = [client.submit(GOOD, block_of(1)) for _ in range(N_BLOCKS)]
                for ticket in tickets:
                    client.result(ticket)
        except Exception as error:
            failed.append(repr(error))
            raise

    clients = [threading.Thread(target=ask) for _ in range(N_CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join(60)
    drainers.close()
    assert not failed
    # Two clocks that differ by a millisecond may have a copy that crossed its answer run too.
    assert len(engine.batches) <= 1.03 * N_CLIENTS * N_BLOCKS * N_TURNS
    # Each waited for eight retries: only some of those that had just been taken were sent again.
    assert drainers.counts["copies"] < N_CLIENTS * N_BLOCKS * N_TURNS / 2


def test_a_request_that_waits_is_not_sent_again(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells, retry_after_ms=1)
    ticket = client.submit(GOOD, block_of(1))
    client._look_after(client._clock() + 1)
    assert store.n_waiting() == 1
    assert client.n_sent_again == 0
    Drainers(store, n_threads=0).drain(*bells[0], FastConnection(store.url))
    assert client.result(ticket).values.tolist() == [4]


def test_copies_are_run_once_and_answered_once(store: Server) -> None:
    engine, bells = EchoEngine(), Bells()
    client = unanswered(store, bells)
    ticket = client.submit(GOOD, block_of(1))
    (raw,) = store.client.lrange(queue_key(0), 0, -1)
    store.client.rpush(queue_key(0), raw, raw)
    drainers = Drainers(store, engine=engine, n_threads=0)
    assert drainers.drain(*bells[0], FastConnection(store.url))["copies"] == 2
    assert client.result(ticket).values.tolist() == [4]
    store.client.rpush(queue_key(0), raw)
    assert drainers.drain(0, "later", FastConnection(store.url)) == {"copies": 1}
    assert engine.batches == [[1]]
    assert store.client.keys("inf:reply:*") == [], "nobody waits for a second answer"


def test_an_answer_that_got_lost_is_given_again(store: Server) -> None:
    engine, bells = EchoEngine(), Bells()
    client = unanswered(store, bells, retry_after_ms=50)
    drainers = Drainers(store, engine=engine, n_threads=0)
    ticket = client.submit(GOOD, block_of(1))
    drainers.drain(*bells[0], FastConnection(store.url))
    store.client.delete(*store.client.keys("inf:reply:*"))
    client._look_after(client._clock() + 1)
    assert client.n_sent_again == 1
    drainers.drain(0, "later", FastConnection(store.url))
    assert engine.batches == [[1], [1]]
    assert client.result(ticket).values.tolist() == [4]


def test_a_store_that_was_emptied_is_asked_again(store: Server) -> None:
    client = unanswered(store, Bells(), retry_after_ms=1)
    store.client.set(taken_key(0), 1_000)
    ticket = client.submit(GOOD, block_of(1))
    store.empty()
    store.client.rpush(queue_key(0), b"another's")
    client._look_after(client._clock() + 1)
    assert store.n_waiting() == 2
    assert ticket.answer is None


def test_drainers_say_how_far_the_list_was_taken(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells)
    tickets = [client.submit(GOOD, block_of(2)) for _ in range(5)]
    assert [ticket.place for ticket in tickets] == [QueuePosition(0, n) for n in range(1, 6)]
    engine = EchoEngine()
    drainers = Drainers(
        store, engine=engine, settings=replace(QUICK, max_batch_size=4), n_threads=0
    )

    def stop(keep_alive: Callable[[], None]) -> None:
        drainers.is_stopping = True

    engine.before = stop
    drainers.drain(*bells[0], FastConnection(store.url))
    assert int(store.client.get(taken_key(0))) == 2, "three were given back"
    assert client.submit(GOOD, block_of(1)).place == QueuePosition(2, 4)


@pytest.mark.parametrize(
    ("n_taken", "n_waiting", "is_waiting"),
    [(10, 5, True), (12, 3, True), (13, 2, False), (12, 0, False), (9, 5, False), (0, 1, False)],
)
def test_a_place_is_left_when_all_ahead_were_taken(
    n_taken: int, n_waiting: int, is_waiting: bool
) -> None:
    """It was the third of those that waited when ten had been taken."""
    view = ShardView(n_taken, is_served=True, n_waiting=n_waiting, is_attended=True)
    assert QueuePosition(10, 3).is_waiting(view) is is_waiting


def test_only_the_first_that_waits_rings(store: Server) -> None:
    bells = Bells()
    clients = [unanswered(store, bells) for _ in range(3)]
    clients[0].submit(GOOD, block_of(1))
    clients[0].submit(GOOD, block_of(1))
    assert len(bells) == 1
    # It may be one that does not care: each of the others rings too, now and then.
    for client in clients[1:]:
        for _ in range(3):
            client.submit(GOOD, block_of(1))
    assert len(bells) == 3


def test_nobody_rings_while_somebody_drains_or_is_called(store: Server) -> None:
    bells = Bells()
    seconds, _ = store.client.time()
    for lease in ("held", "ring:passed"):
        store.client.zadd(leases_key(0), {lease: 1000 * (seconds + 60)})
        unanswered(store, bells).submit(GOOD, block_of(1))
        store.client.delete(leases_key(0))
    assert bells == []
    store.client.zadd(leases_key(0), {"dead": 1000 * (seconds - 60)})
    unanswered(store, bells).submit(GOOD, block_of(1))
    assert len(bells) == 1


def test_nobody_rings_where_no_worker_is(store: Server) -> None:
    """Doorbells would pile up in the broker; the first worker looks for what waits."""
    bells = Bells()
    store.client.delete(served_key(0))
    unanswered(store, bells).submit(GOOD, block_of(1))
    assert bells == []


def test_what_waits_unattended_is_rung_for_again() -> None:
    bell, view = DoorbellRule(), ShardView(0, is_served=True, n_waiting=3, is_attended=False)
    assert bell.is_due(0, view, now=1.0)
    assert not bell.is_due(0, view, now=1.0 + RING_AGAIN_S / 2)
    assert bell.is_due(1, view, now=1.0), "another shard"
    assert bell.is_due(0, view, now=1.1 + RING_AGAIN_S)


def test_only_the_newest_answers_are_remembered() -> None:
    answered = AnsweredRequests(limit=2)
    for n in range(3):
        answered.note_answers([("client", n)], now_ms=10.0 + n)
    assert [answered.is_copy(("client", n), 5.0) for n in range(3)] == [False, True, True]
    assert not answered.is_copy(("client", 2), 12.5), "asked again after the answer"
