"""Chunks on their way: none is lost, none is sent as another, and the server says how many."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from requests import Response

from evalsite_client import Retries
from evalsite_client.errors import ProblemError, UnreachableError
from evalsite_client.experience.chunks import Chunk
from evalsite_client.experience.stopping import Stop
from evalsite_client.experience.uploading import Uploader
from evalsite_client.retries import NEVER
from evalsite_client.tests import fakes
from evalsite_client.tests.fakes import FakeTime, answer, broken, in_turn, problem

Told = Callable[[], Response]


def _accept(n_steps: int = 100, **other: Any) -> Told:
    fields = {
        "accepted": n_steps,
        "duplicate": False,
        "latest_policy_version": 4,
        "keep_fraction": 1.0,
    }
    return lambda: answer(fields | other, 202)


def _uploader(
    *answers: Told, stop: Stop | None = None, retries: Retries = NEVER, seed: int = 0
) -> tuple[Uploader, fakes.FakeServer, FakeTime, list[str]]:
    time, lines = FakeTime(), list[str]()
    client, server = fakes.client(in_turn(*answers), token="t", time=time, retries=retries)
    uploader = Uploader(
        client.experience.upload_chunk,
        clock=client.clock,
        rng=np.random.default_rng(seed),
        stop=stop or Stop(),
        say=lines.append,
    )
    return uploader, server, time, lines


def _chunk(number: int) -> Chunk:
    return Chunk(f"{number:032x}", 100, b"chunk %d" % number)


def _offer(uploader: Uploader, n_chunks: int) -> None:
    for number in range(n_chunks):
        uploader.offer(_chunk(number))


def test_chunks_are_sent_in_their_order_as_messagepack() -> None:
    uploader, server, _, _ = _uploader(_accept(), _accept(latest_policy_version=7))
    _offer(uploader, 2)
    assert uploader.n_waiting == 200
    uploader.send_all()
    assert [request.body for request in server.requests] == [b"chunk 0", b"chunk 1"]
    assert server.requests[0].headers["Content-Type"] == "application/msgpack"
    assert server.requests[0].headers["Authorization"] == "Token t"
    assert uploader.latest_version == 7
    assert (uploader.n_waiting, uploader.counts.n_chunks, uploader.counts.n_sent) == (0, 2, 200)


@pytest.mark.parametrize("status", [429, 503])
def test_the_same_chunk_is_sent_again_after_the_wait_that_is_asked_for(status: int) -> None:
    busy = [lambda: problem(status, "too much", Retry_After="7")] * 2
    uploader, server, time, lines = _uploader(*busy, _accept())
    _offer(uploader, 1)
    uploader.send_all()
    assert [request.body for request in server.requests] == [b"chunk 0"] * 3
    assert time.slept == [7, 7]
    assert lines == ["waits 7 s with 100 steps: too much"] * 2
    assert (uploader.counts.waited_s, uploader.counts.n_sent) == (14, 100)


def test_the_end_of_a_quota_is_waited_for_though_it_is_an_hour_away() -> None:
    uploader, _, time, _ = _uploader(
        lambda: problem(429, Retry_After="3600"), _accept(), retries=Retries()
    )
    _offer(uploader, 1)
    uploader.send_all()
    assert time.slept == [3_600]


def test_a_server_that_asks_again_and_again_is_given_up() -> None:
    uploader, _, time, _ = _uploader(*[lambda: problem(503, Retry_After="100")] * 99)
    _offer(uploader, 1)
    with pytest.raises(ProblemError):
        uploader.send_all()
    assert time.now_s == 3_700
    assert uploader.n_waiting == 100


@pytest.mark.parametrize("failing", [broken, lambda: problem(502), lambda: problem(500)])
def test_a_server_that_is_away_is_waited_for_two_minutes(failing: Told) -> None:
    uploader, server, _, _ = _uploader(failing, failing, _accept(duplicate=True, accepted=0))
    _offer(uploader, 1)
    uploader.send_all()
    assert {request.body for request in server.requests} == {b"chunk 0"}
    # The answer to the first attempt was lost: it is stored, once.
    assert (uploader.counts.n_sent, uploader.counts.n_duplicates) == (100, 1)
    uploader, _, time, _ = _uploader(*[failing] * 200)
    _offer(uploader, 1)
    with pytest.raises((ProblemError, UnreachableError)):
        uploader.send_all()
    assert time.now_s == 120


def test_a_refusal_ends_it_and_the_chunk_stays() -> None:
    refusal = [{"field": "rewards.7", "message": "is nan"}]
    uploader, server, time, _ = _uploader(lambda: problem(400, errors=refusal))
    _offer(uploader, 2)
    with pytest.raises(ProblemError, match=r"rewards\.7: is nan"):
        uploader.send_all()
    assert (len(server.requests), time.slept, uploader.n_waiting) == (1, [], 200)


def test_of_what_follows_the_share_is_sent_that_the_server_wants() -> None:
    uploader, _, _, _ = _uploader(*[_accept(keep_fraction=0.25)] * 500)
    _offer(uploader, 1)
    uploader.send_all()
    _offer(uploader, 400)
    assert 60 <= uploader.n_waiting / 100 <= 140
    assert uploader.n_waiting + uploader.counts.n_left_out == 40_000
    uploader.send_all()
    assert uploader.counts.n_sent + uploader.counts.n_left_out == 40_100


def test_which_chunks_are_left_out_follows_from_the_seed() -> None:
    def keep(seed: int) -> list[bytes]:
        uploader, server, _, _ = _uploader(*[_accept(keep_fraction=0.5)] * 50, seed=seed)
        _offer(uploader, 1)
        uploader.send_all()
        _offer(uploader, 40)
        uploader.send_all()
        return [request.body for request in server.requests]

    assert keep(3) == keep(3)
    assert keep(3) != keep(4)


def test_stopped_in_a_wait_the_chunk_stays_and_is_sent_at_the_end() -> None:
    stop = Stop()

    def stop_while_asked() -> Response:
        stop.take_signal()
        raise AssertionError

    uploader, server, _, _ = _uploader(stop_while_asked, _accept(), stop=stop)
    _offer(uploader, 1)
    with pytest.raises(KeyboardInterrupt):
        uploader.send_all()
    assert uploader.n_waiting == 100
    stop.begin_end()
    uploader.send_all()
    assert [request.body for request in server.requests] == [b"chunk 0"] * 2
    assert uploader.n_waiting == 0
