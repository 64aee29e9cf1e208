# A copy of arena/games/llmserve/workload.py, made by environments/copy_simulator.py: change that one.
"""Who asks the server for what: a trace of an episode, made whole from its seed.

No action changes it, so agents on equal seeds meet the same requests. docs/llmserve.md has the
sources of its numbers.
"""

from dataclasses import dataclass
from math import exp, sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    "Patient tenants, some with very long prompts, beside chats that count three times.",
    (OFFLINE, CHAT._replace(weight=3.0)),
    600,
)
TASKS: Final = {task.id: task for task in (STATIC, BURSTY, ADVERSARIAL)}


def draw_trace(task: Task, seed: int) -> Trace:
    """Return what comes in each of the N_STEPS steps of an episode."""
    number = list(TASKS).index(task.id)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, number])))
    return _DRAWN[task.id](rng)


def _drift(rng: np.random.Generator, mean: float, spread: float, memory: float) -> Floats:
    """Return a stationary autoregressive series of order 1, [N_STEPS]."""
    value, *kicks = rng.standard_normal(N_STEPS + 1).tolist()
    series = []
    for kick in kicks:
        value = memory * value + sqrt(1 - memory**2) * kick
        series.append(mean + spread * value)
    return np.array(series)


def _swing(rng: np.random.Generator, spread: float, memory: float) -> Floats:
    """Return factors around 1 that drift, [N_STEPS]."""
    # By libm and not by numpy, whose exp differs between processors in the last bit.
    return np.array([exp(value) for value in _drift(rng, 0, spread, memory).tolist()])


def _draw_static(rng: np.random.Generator) -> Trace:
    rate = np.full(N_STEPS, 5.0)
    return _tell(
        rng,
        rates=(rate, np.zeros(N_STEPS)),
        prompts=(_drift(rng, STATIC.prompt, 15, 0.98), np.full(N_STEPS, STATIC.prompt)),
        outputs=(_drift(rng, 140, 8, 0.98), np.full(N_STEPS, 140.0)),
        acceptance=_drift(rng, 0.74, 0.03, 0.99),
    )


def _draw_bursty(rng: np.random.Generator) -> Trace:
    """Draw calm spells and bursts; each has a height, a length of prompts and an acceptance."""
    rate, prompt, acceptance = np.empty(N_STEPS), np.empty(N_STEPS), np.empty(N_STEPS)
    step, is_burst = 0, bool(rng.integers(2))
    while step < N_STEPS:
        n_steps = int(rng.integers(60, 160) if is_burst else rng.integers(80, 200))
        spell = slice(step, step + n_steps)
        rate[spell] = 1.6 * (rng.uniform(2, 7) if is_burst else 1.0)
        prompt[spell] = BURSTY.prompt * rng.uniform(0.8, 1.5)
        acceptance[spell] = rng.uniform(0.45, 0.80)
        step, is_burst = step + n_steps, not is_burst
    rate *= _swing(rng, 0.15, 0.95)
    prompt += _drift(rng, 0, 40, 0.98)
    output = _drift(rng, 190, 15, 0.98)
    return _tell(
        rng,
        rates=(rate * 6 / 7, rate / 7),
        prompts=(prompt, prompt),
        outputs=(output, output),
        acceptance=acceptance + _drift(rng, 0, 0.02, 0.98),
    )


def _draw_adversarial(rng: np.random.Generator) -> Trace:
    """Draw a drifting load with sharp spikes of chats, and spells of very long prompts."""
    rate = 2.0 * _swing(rng, 0.25, 0.97)
    share, acceptance = np.full(N_STEPS, 0.20), np.full(N_STEPS, 0.72)
    prompt, output = _drift(rng, ADVERSARIAL.prompt, 100, 0.97), np.full(N_STEPS, 220.0)
    for spell in _draw_spells(rng, int(rng.integers(3, 6)), 32, 80):
        rate[spell] *= 0.7
        prompt[spell] *= rng.uniform(4, 6)
        output[spell], acceptance[spell] = 120.0, 0.60
    for spell in _draw_spells(rng, int(rng.integers(5, 9)), 16, 48):
        rate[spell] *= rng.uniform(2, 5)
        share[spell], acceptance[spell] = 0.35, 0.45
    return _tell(
        rng,
        rates=(rate * (1 - share), rate * share),
        prompts=(prompt, _drift(rng, 250, 20, 0.97)),
        outputs=(output, np.full(N_STEPS, 160.0)),
        acceptance=acceptance + _drift(rng, 0, 0.02, 0.98),
    )


_DRAWN: Final = {
    STATIC.id: _draw_static,
    BURSTY.id: _draw_bursty,
    ADVERSARIAL.id: _draw_adversarial,
}


def _draw_spells(rng: np.random.Generator, n: int, shortest: int, longest: int) -> list[slice]:
    begins = rng.integers(0, N_STEPS, n)
    return [slice(begin, begin + int(rng.integers(shortest, longest))) for begin in begins]


def _tell(
    rng: np.random.Generator,
    *,
    rates: tuple[Floats, Floats],
    prompts: tuple[Floats, Floats],
    outputs: tuple[Floats, Floats],
    acceptance: Floats,
) -> Trace:
    """Return the steps; requests come one by one (Poisson), lengths and acceptance are bounded."""
    columns = [
        *(rng.poisson(np.maximum(rate, 0) * STEP_S).astype(np.float64) for rate in rates),
        *(np.clip(prompt, 16, 6_000) for prompt in prompts),
        *(np.clip(output, 8, 1_024) for output in outputs),
        np.clip(acceptance, 0.05, 0.92),
    ]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(Arrivals((a, b), (c, d), (e, f), g) for a, b, c, d, e, f, g in rows)
