import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from arena.policies.network_policy import FloatBatch, NetworkOutput
from gameservers.head import gathering
from gameservers.head.gathering import MAX_ROWS, MAX_WAITING, Gatherer
from inference.client import CheckpointRef, QueueFullError, RequestError, UnavailableError

REF, OTHER = CheckpointRef("a" * 64, ""), CheckpointRef("b" * 64, "")
BAD = 13.0


class Network:
    """Answers each row with its own number; fails for a block that holds 13."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.blocks: list[int] = []
        self.is_free = threading.Event()
        self.is_free.set()
        self.failure: Exception | None = None

    def infer(self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch) -> Any:
        self.begun.append(len(observations))
        self.is_free.wait(10)
        self.blocks.append(len(observations))
        if self.failure:
            raise self.failure
        if (observations == BAD).any():
            raise RequestError("13 is no observation")
        return NetworkOutput(observations, observations[:, 0], states)


@pytest.fixture
def network() -> Network:
    return Network()


def made_gatherer(network: Network, note: Callable[..., None] = lambda *_: None) -> Gatherer:
    pool = ThreadPoolExecutor(4)
    return Gatherer(
        network.infer,
        lambda *call: asyncio.get_running_loop().run_in_executor(pool, *call),
        note=note,
        clock=lambda: 0.0,
    )


def rows(*values: float) -> FloatBatch:
    return np.array(values, np.float32)[:, None]


def states(n: int) -> FloatBatch:
    return np.zeros((n, 0), np.float32)


async def ask(gatherer: Gatherer, *values: float, ref: CheckpointRef = REF) -> list[float]:
    output = await gatherer.ask(ref, rows(*values), states(len(values)))
    answers: list[float] = output.values.tolist()
    return answers


async def test_questions_of_one_moment_share_a_block_and_each_gets_its_own_answer(
    network: Network,
) -> None:
    noted: list[tuple[Any, ...]] = []
    gatherer = made_gatherer(network, lambda *block: noted.append(block))
    questions = [ask(gatherer, 10.0 * n, 10.0 * n + 1) for n in range(32)]
    answers = await asyncio.gather(*questions)
    assert answers == [[10.0 * n, 10.0 * n + 1] for n in range(32)]
    assert network.blocks == [64]
    assert noted == [(64, 32, 0.0)]


async def test_what_comes_while_the_network_is_busy_goes_together_when_it_is_free(
    network: Network,
) -> None:
    gatherer = made_gatherer(network)
    network.is_free.clear()
    tasks = []
    for n in range(12):
        tasks.append(asyncio.create_task(ask(gatherer, float(n))))
        await asyncio.sleep(0.01)
    network.is_free.set()
    assert await asyncio.gather(*tasks) == [[float(n)] for n in range(12)]
    assert sorted(network.blocks) == [1, 1, 10]


async def test_those_who_ask_in_quick_succession_while_a_block_is_computed_share_the_next(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "GATHER_S", 0.1)
    gatherer = made_gatherer(network)
    network.is_free.clear()
    tasks = []
    for n in range(4):
        tasks.append(asyncio.create_task(ask(gatherer, float(n))))
        for _ in range(3):
            # Each in a turn of the loop of its own.
            await asyncio.sleep(0)
    while len(network.begun) < 2:
        await asyncio.sleep(0)
    network.is_free.set()
    assert await asyncio.gather(*tasks) == [[float(n)] for n in range(4)]
    assert network.begun == [1, 3]


async def test_networks_do_not_wait_for_each_other(network: Network) -> None:
    gatherer = made_gatherer(network)
    await asyncio.gather(ask(gatherer, 1), ask(gatherer, 2, ref=OTHER))
    assert network.blocks == [1, 1]


async def test_of_a_block_that_fails_only_the_guilty_question_does(network: Network) -> None:
    gatherer = made_gatherer(network)
    answers = await asyncio.gather(
        ask(gatherer, 1), ask(gatherer, BAD), ask(gatherer, 2), return_exceptions=True
    )
    assert answers[0] == [1.0]
    assert isinstance(answers[1], RequestError)
    assert answers[2] == [2.0]


async def test_without_a_server_of_networks_all_are_told_at_once(network: Network) -> None:
    network.failure = UnavailableError("nobody answers")
    gatherer = made_gatherer(network)
    answers = await asyncio.gather(ask(gatherer, 1), ask(gatherer, 2), return_exceptions=True)
    assert all(isinstance(answer, UnavailableError) for answer in answers)
    assert network.blocks == [2]


async def test_blocks_have_a_size_and_the_queue_an_end(network: Network) -> None:
    gatherer = made_gatherer(network)
    many = [0.0] * (MAX_ROWS - 1)
    await asyncio.gather(ask(gatherer, *many), ask(gatherer, 1.0, 2.0))
    assert sorted(network.blocks) == [2, MAX_ROWS - 1]
    with pytest.raises(QueueFullError):
        await ask(gatherer, *[0.0] * (MAX_WAITING + 1))
