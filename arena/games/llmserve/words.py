"""An episode in words: what is set, what an operator sees, what comes next."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from arena.games.llmserve.settings import CHOICES, TIERS, Settings
from arena.games.llmserve.simulator import Sight
from arena.games.llmserve.workload import N_WINDOWS

FIELDS: Final = (
    "batch cap",
    "KV cache",
    "speculation",
    "precision",
    "prefill and decode",
    "priority",
)


class Played(NamedTuple):
    """A window that has run: as it was set, as an operator saw it, and what it earned."""

    settings: Settings
    sight: Sight
    reward: float


def name_choice(field: int, choice: int) -> str:
    """Return a setting and the value of a choice: batch cap 64."""
    return f"{FIELDS[field]} {name_value(field, CHOICES[field][choice])}"


def name_value(field: int, value: float) -> str:
    """Return the value of a setting as an operator would say it."""
    match FIELDS[field]:
        case "KV cache":
            return f"{value:.0%}"
        case "precision":
            return TIERS[int(value)]
        case "prefill and decode":
            return "apart" if value else "together"
        case "priority":
            return "on" if value else "off"
    return f"{value:g}"


def describe(played: Sequence[Played], chosen: Sequence[int], score: float) -> str:
    """Return how far it is, what the last window looked like, and what is chosen."""
    n = len(played)
    if n == N_WINDOWS:
        sentences = [f"The episode is over: the score is {score:.3f}."]
    else:
        sentences = [f"{n} of {N_WINDOWS} windows have run."]
    if played:
        sentences += _tell_window(played[-1], score)
    if chosen:
        named = ", ".join(name_choice(i, choice) for i, choice in enumerate(chosen))
        sentences.append(f"Chosen for the next one: {named}.")
    return " ".join(sentences)


def _tell_window(window: Played, score: float) -> list[str]:
    sight = window.sight
    settings = (name_value(i, value) for i, value in enumerate(window.settings))
    named = ", ".join(f"{field} {value}" for field, value in zip(FIELDS, settings, strict=True))
    return [
        f"In the last one {sight.request_arrival_rate:.1f} requests a second came, "
        f"{sight.queue_depth:.0f} wait and {sight.active_requests:.0f} run, "
        f"the first token took {sight.p50_ttft_ms:.0f} ms in the median and "
        f"{sight.p99_ttft_ms:.0f} ms at the 99th percentile, each later one "
        f"{sight.p50_itl_ms:.0f} ms; {sight.slo_compliance_rate:.0%} kept both limits, "
        f"{sight.gpu_memory_used_gb:.0f} GB were in use.",
        f"It was set to {named}.",
        f"It earned {window.reward:.2f}; the score so far is {score:.3f}.",
    ]
