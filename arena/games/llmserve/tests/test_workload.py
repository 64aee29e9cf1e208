"""Traces: the same from the same seed everywhere, and what the tasks promise of them."""

from hashlib import sha256
from struct import pack

import pytest

from arena.games.llmserve.workload import (
    ADVERSARIAL,
    BURSTY,
    N_STEPS,
    STATIC,
    STEP_S,
    TASKS,
    Task,
    Trace,
    draw_trace,
)

GOLDEN = {
    STATIC.id: "a84f1b2634ea691c",
    BURSTY.id: "4444b72189b7b956",
    ADVERSARIAL.id: "7ef386c368ad91a9",
}


def digest(trace: Trace) -> str:
    flat = [
        number
        for row in trace
        for number in (*row.n_requests, *row.prompt, *row.output, row.acceptance)
    ]
    return sha256(pack(f"<{len(flat)}d", *flat)).hexdigest()[:16]


def mean_rate(trace: Trace) -> float:
    return sum(sum(row.n_requests) for row in trace) / (len(trace) * STEP_S)


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_a_seed_gives_the_same_requests_on_every_machine(task: Task) -> None:
    assert digest(draw_trace(task, 42)) == GOLDEN[task.id]


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_seeds_and_tasks_give_requests_of_their_own(task: Task) -> None:
    others = {digest(draw_trace(other, seed)) for other in TASKS.values() for seed in (1, 2**62)}
    assert len(others) == 2 * len(TASKS)
    assert digest(draw_trace(task, 1)) in others


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_lengths_and_acceptance_stay_within_their_bounds(task: Task) -> None:
    for seed in range(5):
        trace = draw_trace(task, seed)
        assert len(trace) == N_STEPS
        for row in trace:
            assert all(n >= 0 and n == int(n) for n in row.n_requests)
            assert all(16 <= length <= 6_000 for length in row.prompt)
            assert all(8 <= length <= 1_024 for length in row.output)
            assert 0.05 <= row.acceptance <= 0.92


def test_loads_are_as_the_tasks_say() -> None:
    static, bursty, adversarial = (
        [row for seed in range(30) for row in draw_trace(task, seed)] for task in TASKS.values()
    )
    assert 4.8 < mean_rate(tuple(static)) < 5.2
    assert 3.0 < mean_rate(tuple(bursty)) < 4.6
    assert 3.4 < mean_rate(tuple(adversarial)) < 4.3
    assert all(row.n_requests[1] == 0 for row in static)
    assert max(sum(row.n_requests) for row in bursty) > 10 * STEP_S
    longest = max(row.prompt[0] for row in adversarial)
    assert longest > 3_000
