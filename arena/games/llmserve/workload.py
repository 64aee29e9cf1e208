"""Who asks the server for what: a trace of an episode, made whole from its seed.

No action changes it, so agents on equal seeds meet the same requests. docs/llmserve.md has the
sources of its numbers.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.seeding import derive

N_WINDOWS: Final = 90
STEPS_PER_WINDOW: Final = 8
STEP_S: Final = 0.25
N_STEPS: Final = N_WINDOWS * STEPS_PER_WINDOW
WINDOW_S: Final = STEPS_PER_WINDOW * STEP_S
STANDARD, PRIORITY = 0, 1

Floats = NDArray[np.float64]


class Limits(NamedTuple):
    """A service level: a request counts in so far as both are kept; weight: of each request."""

    first_token_s: float
    token_s: float
    weight: float = 1.0


class Arrivals(NamedTuple):
    """What comes in one step: by class, requests and their mean prompt and output in tokens.

    acceptance: how likely a draft token is right.
    """

    n_requests: tuple[float, float]
    prompt: tuple[float, float]
    output: tuple[float, float]
    acceptance: float


Trace = tuple[Arrivals, ...]

CHAT: Final = Limits(0.45, 0.040)
OFFLINE: Final = Limits(2.0, 0.200)


@dataclass(frozen=True)
class Task:
    """A kind of load, and what its two classes of requests are promised."""

    id: str
    title: str
    difficulty: str
    description: str
    limits: tuple[Limits, Limits]
    prompt: float


STATIC: Final = Task(
    "static_workload",
    "static workload",
    "easy",
    "Chats with short prompts at a steady rate.",
    (CHAT, CHAT),
    180,
)
BURSTY: Final = Task(
    "bursty_workload",
    "bursty workload",
    "medium",
    "Chats that come in bursts of uneven height; a seventh of them counts twice.",
    (CHAT, CHAT._replace(weight=2.0)),
    380,
)
ADVERSARIAL: Final = Task(
    "adversarial_multitenant",
    "adversarial multitenant",
    "hard",
    "Tenants with patient requests, some with prompts of thousands of tokens, beside chats that count three times; spikes.",
    (OFFLINE, CHAT._replace(weight=3.0)),
    600,
)
TASKS: Final = {task.id: task for task in (STATIC, BURSTY, ADVERSARIAL)}
