# A copy of arena/games/llmserve/features.py, made by environments/copy_simulator.py: change that one.
"""The numbers by which an agent decides, from what an operator sees and what has been chosen."""

from collections.abc import Sequence
from math import log1p
from typing import Final

import numpy as np
from numpy.typing import NDArray

from llmserve_env.simulator.settings import CHOICES
from llmserve_env.simulator.simulator import Sight
from llmserve_env.simulator.workload import N_WINDOWS

SIGHT: Final = (
    "requests in the queue",
    "requests that run",
    "share of the KV cache in use",
    "mean prompt of those that came",
    "median time to the first token",
    "its 99th percentile",
    "median time between tokens",
    "tokens per second",
    "share within both limits",
    "share of the memory in use",
    "dollars for 1,000 tokens",
    "requests per second",
    "acceptance of drafts",
    "evicted requests",
)
N_FIELDS: Final = len(CHOICES)
SIZE: Final = len(SIGHT) + 1 + 3 * N_FIELDS


def observe(
    sight: Sight, n_windows: int, last: Sequence[int], chosen: Sequence[int]
) -> NDArray[np.float32]:
    """Return what an agent sees before a decision: float32 [SIZE], most of it in 0..1."""
    numbers = (
        log1p(sight.queue_depth) / 5,
        log1p(sight.active_requests) / 5,
        sight.kv_cache_occupancy,
        log1p(sight.mean_prompt_length) / 8,
        log1p(sight.p50_ttft_ms) / 9,
        log1p(sight.p99_ttft_ms) / 9,
        log1p(sight.p50_itl_ms) / 6,
        sight.throughput_tps / 4_000,
        sight.slo_compliance_rate,
        sight.gpu_memory_used_gb / 160,
        sight.estimated_cost_per_1k / 0.05,
        log1p(sight.request_arrival_rate) / 4,
        sight.spec_acceptance_rate,
        log1p(sight.eviction_events) / 5,
        n_windows / N_WINDOWS,
    )
    observation = np.zeros(SIZE, np.float32)
    observation[: len(numbers)] = numbers
    first, second = len(numbers), len(numbers) + N_FIELDS
    for offset, choices in ((first, last), (second, chosen)):
        for index, choice in enumerate(choices):
            observation[offset + index] = choice / (len(CHOICES[index]) - 1)
    observation[second + N_FIELDS + len(chosen)] = 1.0
    return observation
