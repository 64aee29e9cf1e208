from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.batcher import MicroBatcher


class Asked(NamedTuple):
    n_rows: int
    deadline_ms: float = 1e9


def batcher(max_batch_size: int = 10, max_wait_ms: float = 0) -> MicroBatcher[Asked]:
    return MicroBatcher(max_batch_size=max_batch_size, max_wait_ms=max_wait_ms)


def test_all_that_waits_runs_when_the_network_is_free() -> None:
    mine = batcher()
    for n_rows in (2, 3, 4):
        mine.add_request(Asked(n_rows), now_ms=0)
    assert mine.due_in_ms(0) == 0
    assert mine.take_batch(0).run == [Asked(2), Asked(3), Asked(4)]
    assert len(mine) == 0


def test_nothing_is_due_while_nothing_waits() -> None:
    mine = batcher()
    assert mine.due_in_ms(5) is None
    assert mine.take_batch(5) == ([], [])


def test_what_does_not_fit_stays_in_its_order() -> None:
    mine = batcher()
    for n_rows in (6, 6, 1):
        mine.add_request(Asked(n_rows), now_ms=0)
    assert mine.n_free_rows == 0
    assert mine.take_batch(0).run == [Asked(6)]
    assert mine.n_free_rows == 3
    assert mine.take_batch(0).run == [Asked(6), Asked(1)]


def test_a_request_larger_than_a_batch_runs_alone() -> None:
    mine = batcher()
    for n_rows in (50, 1):
        mine.add_request(Asked(n_rows), now_ms=0)
    assert mine.take_batch(0).run == [Asked(50)]
    assert mine.take_batch(0).run == [Asked(1)]


def test_a_batch_waits_for_more_until_its_oldest_has_waited_long_enough() -> None:
    mine = batcher(max_wait_ms=5)
    mine.add_request(Asked(1), now_ms=100)
    mine.add_request(Asked(2), now_ms=103)
    assert mine.due_in_ms(103) == 2
    assert mine.take_batch(104.9).run == []
    assert mine.due_in_ms(105) == 0
    assert mine.take_batch(105).run == [Asked(1), Asked(2)]


def test_a_full_batch_waits_no_longer() -> None:
    mine = batcher(max_wait_ms=50)
    mine.add_request(Asked(10), now_ms=0)
    assert mine.due_in_ms(0) == 0
    assert mine.take_batch(0).run == [Asked(10)]


def test_what_nobody_waits_for_any_more_is_skipped_and_takes_no_room() -> None:
    mine = batcher()
    mine.add_request(Asked(6, deadline_ms=5), now_ms=0)
    mine.add_request(Asked(8), now_ms=0)
    mine.add_request(Asked(2, deadline_ms=7), now_ms=0)
    batch = mine.take_batch(6)
    assert batch.expired == [Asked(6, 5)]
    assert batch.run == [Asked(8), Asked(2, 7)]


def test_emptied_it_forgets() -> None:
    mine = batcher()
    mine.add_request(Asked(3), now_ms=0)
    mine.add_request(Asked(4), now_ms=0)
    assert mine.take_all() == [Asked(3), Asked(4)]
    assert (len(mine), mine.n_free_rows, mine.due_in_ms(0)) == (0, 10, None)


@given(
    requests=st.lists(st.tuples(st.integers(1, 12), st.sampled_from([3.0, 1e9]))),
    max_batch_size=st.integers(1, 10),
)
def test_every_request_comes_out_once_in_order_in_batches_that_fit(
    requests: list[tuple[int, float]], max_batch_size: int
) -> None:
    mine, run, expired = batcher(max_batch_size), [], []
    offered_requests = [Asked(*request) for request in requests]
    for request in offered_requests:
        mine.add_request(request, now_ms=0)
    while mine:
        batch = mine.take_batch(5)
        assert batch.run or batch.expired
        assert len(batch.run) == 1 or sum(r.n_rows for r in batch.run) <= max_batch_size
        run += batch.run
        expired += batch.expired
    assert run == [request for request in offered_requests if request.deadline_ms > 5]
    assert expired == [request for request in offered_requests if request.deadline_ms <= 5]
    assert mine.n_free_rows == max_batch_size


@pytest.mark.parametrize("max_wait_ms", [0.0, 7.0])
@given(arrivals=st.lists(st.floats(0, 100), min_size=1))
def test_nothing_waits_longer_than_the_longest_wait(
    max_wait_ms: float, arrivals: list[float]
) -> None:
    mine = batcher(max_batch_size=1000, max_wait_ms=max_wait_ms)
    for now_ms in sorted(arrivals):
        mine.add_request(Asked(1), now_ms=now_ms)
    due_in_ms = mine.due_in_ms(max(arrivals))
    assert due_in_ms is not None
    assert mine.take_batch(max(arrivals) + due_in_ms + 1e-6).run
