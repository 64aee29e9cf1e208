"""The deterministic baseline: rules of known servers, each by its own measure.

`make_baseline` is the one place that says which rules these are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from llmserve_env.models import ServeAction, ServeObservation

Policy = Callable[[ServeObservation], ServeAction]

FP16_SHARE, INT8_SHARE = 0.84, 0.87
"""Of the memory beside the weights, so that nine tenths of the whole are in use, as in vLLM."""
LEAST_SHARE: Final = 0.5
SMALLEST_BATCH, LARGEST_BATCH = 8, 256
SLOW_MS: Final = 50.0
CROWDED, LONG_QUEUE, SHORT_QUEUE = 0.95, 64, 8
LONG_PROMPT: Final = 1_024.0
DRAFTS: Final = ((16, 0.6, 4), (48, 0.5, 2))
"""Requests that run at most, acceptance at least, and draft tokens that pay then."""


@dataclass
class Rules:
    """What the rules remember from window to window."""

    is_quantised: bool = False
    share: float = FP16_SHARE

    def __call__(self, observation: ServeObservation) -> ServeAction:
        """Return the settings for the next window."""
        is_full = observation.kv_cache_occupancy > CROWDED
        if not self.is_quantised and (is_full or observation.queue_depth > LONG_QUEUE):
            # For good: going back would load the weights again.
            self.is_quantised, self.share = True, INT8_SHARE
        highest = INT8_SHARE if self.is_quantised else FP16_SHARE
        change = -0.1 if observation.eviction_events else 0.02
        self.share = min(max(self.share + change, LEAST_SHARE), highest)
        return ServeAction(
            batch_cap=_choose_batch(observation),
            kv_budget_fraction=self.share,
            speculation_depth=_choose_depth(observation),
            quantization_tier="INT8" if self.is_quantised else "FP16",
            prefill_decode_split=observation.mean_prompt_length > LONG_PROMPT,
            priority_routing=observation.queue_depth > SHORT_QUEUE,
        )


def make_baseline() -> Policy:
    """Return the deterministic baseline for one episode."""
    return Rules()


def _choose_batch(observation: ServeObservation) -> int:
    """As Orca: all that ask, and half of them when tokens come slowly."""
    n_asking = observation.queue_depth + observation.active_requests
    batch = SMALLEST_BATCH
    while batch < min(n_asking, LARGEST_BATCH):
        batch *= 2
    return batch // 2 if observation.p50_itl_ms > SLOW_MS else batch


def _choose_depth(observation: ServeObservation) -> int:
    for n_requests, acceptance, depth in DRAFTS:
        is_quiet = observation.active_requests < n_requests
        if is_quiet and observation.spec_acceptance_rate > acceptance:
            return depth
    return 0
