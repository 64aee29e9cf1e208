"""Client and drainer over a real Valkey, with an engine that adds."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from arena.faststore import queue_key
from inference.client import InferenceClient, shard_of
from inference.connection import Command, FastConnection, Reply
from inference.errors import (
    InferenceError,
    QueueFullError,
    RequestError,
    UnavailableError,
)
from inference.protocol import CheckpointRef
from inference.tests.drainers import QUICK, Bells, Drainers, no_ring, unanswered
from inference.tests.echo import GOOD, MISSING, EchoEngine, block_of, ref_of
from inference.tests.servers import Server, wait_until


def test_a_block_is_answered_row_by_row(drainers: Drainers) -> None:
    client = drainers.client()
    block = np.arange(24, dtype=np.float32).reshape(6, 2, 2)
    answer = client.infer(GOOD, block, np.zeros((6, 3), np.float32))
    sums = block.sum(axis=(1, 2))
    np.testing.assert_array_equal(answer.values, sums)
    np.testing.assert_array_equal(answer.logits, np.repeat(sums[:, None], 3, axis=1))
    np.testing.assert_array_equal(answer.states, np.ones((6, 3)))


def test_what_waits_together_runs_together(store: Server) -> None:
    bells, engine = Bells(), EchoEngine()
    client = unanswered(store, bells)
    tickets = [
        client.submit(ref, block_of(n)) for n, ref in ((1, GOOD), (2, ref_of("d")), (3, GOOD))
    ]
    assert len(bells) == 1
    drainers = Drainers(store, engine=engine, n_threads=0)
    counts = drainers.drain(*bells[0], FastConnection(store.url))
    assert engine.batches == [[1, 2, 3]]
    assert counts == {"requests": 3, "forwards": 2, "rows": 6}
    assert [len(client.result(ticket).values) for ticket in tickets] == [1, 2, 3]


class Busy(FastConnection):
    """A connection on which others ask while the drainer looks again."""

    def __init__(self, url: str, ask: Callable[[], object]) -> None:
        super().__init__(url)
        self._ask = ask

    def exchange(self, commands: Sequence[Command]) -> list[Reply]:
        if commands[0][0] == "LMPOP":
            self._ask()
        return super().exchange(commands)


def test_who_asked_together_lately_is_waited_for_a_moment(store: Server) -> None:
    bells, engine = Bells(), EchoEngine()
    client = unanswered(store, bells)
    tickets = [client.submit(GOOD, block_of(1)) for _ in range(3)]

    def ask_again(keep_alive: Callable[[], None]) -> None:
        engine.before = lambda keep_alive: None
        tickets.append(client.submit(GOOD, block_of(2)))

    engine.before = ask_again
    connection = Busy(store.url, lambda: tickets.append(client.submit(GOOD, block_of(4))))
    Drainers(store, engine=engine, n_threads=0).drain(*bells[0], connection)
    assert engine.batches == [[1, 1, 1], [2, 4]]
    assert [len(client.result(ticket).values) for ticket in tickets] == [1, 1, 1, 2, 4]


def test_a_batch_may_wait_for_more(store: Server) -> None:
    engine = EchoEngine()
    drainers = Drainers(store, engine=engine, settings=replace(QUICK, max_wait_ms=60))
    client = drainers.client()
    tickets = [client.submit(GOOD, block_of(1))]
    wait_until(lambda: not store.n_waiting(), "the first is popped")
    tickets.append(client.submit(GOOD, block_of(2)))
    assert [len(client.result(ticket).values) for ticket in tickets] == [1, 2]
    assert engine.batches == [[1, 2]]
    drainers.close()


def test_several_checkpoints_are_asked_at_once(drainers: Drainers) -> None:
    refs = [ref_of(f"{n:x}") for n in range(5)]
    answers = drainers.client().infer_many(
        {ref: block_of(2, float(n)) for n, ref in enumerate(refs)}
    )
    assert [answers[ref].values[0] for ref in refs] == [0, 4, 8, 12, 16]


def test_only_the_guilty_request_fails(drainers: Drainers) -> None:
    client = drainers.client()
    good = client.submit(GOOD, block_of(2))
    missing = client.submit(MISSING, block_of(2))
    nan = client.submit(GOOD, block_of(2, np.nan))
    other = client.submit(GOOD, block_of(1))
    with pytest.raises(UnavailableError, match="no such checkpoint"):
        client.result(missing)
    with pytest.raises(RequestError, match="NaN"):
        client.result(nan)
    assert client.result(good).values.tolist() == [4, 4]
    assert client.result(other).values.tolist() == [4]


def test_malformed_bytes_are_counted_and_the_next_request_is_served(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells)
    raw = [b"", b"\0" * 40, b"\x01\0\xff\xff", b"pickle", b"\x01\0\x05\0abcde"]
    store.client.rpush(queue_key(0), *raw)
    ticket = client.submit(GOOD, block_of(1))
    drainers = Drainers(store, n_threads=0)
    counts = drainers.drain(*bells[0], FastConnection(store.url))
    assert counts["dropped"] == len(raw)
    assert client.result(ticket).values.tolist() == [4]


def test_a_block_that_was_cut_off_is_refused_by_name(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells)
    ticket = client.submit(GOOD, block_of(1))
    whole = store.client.rpop(queue_key(0))
    store.client.rpush(queue_key(0), whole[:-4])
    counts = Drainers(store, n_threads=0).drain(*bells[0], FastConnection(store.url))
    assert counts == {"bad_request": 1}
    with pytest.raises(RequestError, match="12 bytes of floats; the header says 16"):
        client.result(ticket)


def test_what_nobody_waits_for_any_more_is_not_run(store: Server) -> None:
    bells, engine = Bells(), EchoEngine()
    client = unanswered(store, bells, deadline_ms=1)
    ticket = client.submit(GOOD, block_of(1))
    with pytest.raises(UnavailableError, match="no answer within 1 ms"):
        client.result(ticket)
    counts = Drainers(store, engine=engine, n_threads=0).drain(*bells[0], FastConnection(store.url))
    assert counts == {"expired": 1}
    assert engine.batches == []


def test_the_answers_for_a_dead_client_expire(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells)
    client.submit(GOOD, block_of(1))
    Drainers(store, n_threads=0).drain(*bells[0], FastConnection(store.url))
    (key,) = store.client.keys("inf:reply:*")
    assert 0 < store.client.pttl(key) <= QUICK.deadline_ms


def test_a_full_queue_says_so_at_once(store: Server) -> None:
    bells = Bells()
    client = unanswered(store, bells, queue_limit=2)
    tickets = [client.submit(GOOD, block_of(1)) for _ in range(2)]
    with pytest.raises(QueueFullError, match="2 requests wait"):
        client.submit(GOOD, block_of(1))
    assert store.n_waiting() == 2
    Drainers(store, n_threads=0).drain(*bells[0], FastConnection(store.url))
    assert [len(client.result(ticket).values) for ticket in tickets] == [1, 1]


def test_a_full_memory_is_a_full_queue(store: Server) -> None:
    client = unanswered(store, Bells())
    store.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(QueueFullError):
            client.submit(GOOD, block_of(1))
    finally:
        store.client.config_set("maxmemory", 0)
    client.submit(GOOD, block_of(1))


def test_a_spent_slice_is_followed_by_another(store: Server, drainers: Drainers) -> None:
    client = drainers.client()
    while len(drainers.slices) < 4:
        client.infer(GOOD, block_of(1))
    assert drainers.n_rung >= 4
    wait_until(lambda: not store.leases(), "the drainer is idle")


def test_a_drainer_helps_with_the_other_shards_of_its_worker(store: Server) -> None:
    settings = replace(QUICK, n_shards=3, serves=(0, 2))
    drainers = Drainers(store, settings=settings, n_threads=0)
    bells = Bells()
    client = InferenceClient(store.url, settings=settings, ring=bells)
    refs = {shard_of(ref.checkpoint, 3): ref for ref in map(ref_of, ("0", "1", "00000002"))}
    tickets = {shard: client.submit(ref, block_of(1)) for shard, ref in refs.items()}
    assert sorted(shard for shard, _ in bells) == [0, 1, 2]
    drainers.drain(0, dict(bells)[0], FastConnection(store.url))
    for shard in (0, 2):
        assert len(client.result(tickets[shard]).values) == 1
    assert [store.n_waiting(shard) for shard in range(3)] == [0, 1, 0]


def test_no_wake_up_is_lost_whoever_stops_when(store: Server) -> None:
    """Slices and lingering are tiny, so that leases are given up and taken all the time."""
    settings = replace(QUICK, linger_ms=1, slice_ms=3, retry_after_ms=60_000, deadline_ms=60_000)
    drainers = Drainers(store, settings=settings, n_threads=2)
    n_done: list[int] = []

    def ask(seed: int) -> None:
        client, random = drainers.client(), Random(seed)
        for n in range(150):
            answer = client.infer(GOOD, block_of(random.randint(1, 5), float(n)))
            assert answer.values[0] == 4 * n
            threading.Event().wait(random.choice((0, 0, 0.001, 0.003)))
        n_done.append(seed)
        assert client.n_sent_again == 0

    clients = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join(30)
    drainers.close()
    assert sorted(n_done) == [0, 1, 2, 3]
    assert drainers.n_rung > 50


def test_steady_traffic_pays_no_doorbell_but_one_per_slice(store: Server) -> None:
    drainers = Drainers(store, settings=replace(QUICK, slice_ms=10_000, linger_ms=200))
    client = drainers.client()
    for _ in range(200):
        client.infer(GOOD, block_of(1))
    assert drainers.n_rung == 1
    drainers.close()


@pytest.mark.parametrize(
    "ref",
    [
        CheckpointRef("ab", "/files"),
        CheckpointRef("ab" * 32, "//elsewhere\n"),
        CheckpointRef("ab" * 32, "elsewhere"),
    ],
)
def test_what_is_no_checkpoint_is_refused_before_it_is_sent(
    store: Server, ref: CheckpointRef
) -> None:
    with pytest.raises(RequestError, match="cannot be asked"):
        unanswered(store, Bells()).submit(ref, block_of(1))


def test_rights_that_are_missing_are_told_at_once(store: Server) -> None:
    rules = ("RESET", "on", ">x", "+fcall", "+time", "~inf:{*}:*")
    store.client.execute_command("ACL", "SETUSER", "weak", *rules)
    url = store.url.replace("://", "://weak:x@")
    client = InferenceClient(url, settings=QUICK, ring=no_ring)
    with pytest.raises(UnavailableError, match="refuses a request"):
        client.submit(GOOD, block_of(1))


def test_every_error_of_asking_has_the_same_root() -> None:
    for error in (QueueFullError, RequestError, UnavailableError):
        assert issubclass(error, InferenceError)
