"""A server of language models, window by window: who is admitted when, and what it costs.

Requests flow: their numbers are floats. docs/llmserve.md says what is left out.
"""

from collections import deque
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final, NamedTuple

from arena.games.llmserve.grading import Window
from arena.games.llmserve.hardware import (
    CHUNK,
    DOLLARS_PER_S,
    KV_BYTES,
    KV_LINK,
    MEMORY,
    N_GPUS,
    OVERHEAD_S,
    Deployment,
    deploy,
    expect_tokens,
)
from arena.games.llmserve.settings import FIRST, Settings
from arena.games.llmserve.sums import add_up
from arena.games.llmserve.workload import (
    N_WINDOWS,
    PRIORITY,
    STANDARD,
    STEP_S,
    STEPS_PER_WINDOW,
    WINDOW_S,
    Arrivals,
    Task,
    Trace,
    draw_trace,
)

PATIENCE_STEPS: Final = 40
"""After 10 seconds without an answer a request is given up."""
RAMP: Final = 0.1
"""A request counts in full up to 90 % of a limit and not at all from 110 %."""
MOST_MS: Final = 10_000.0
DEAREST: Final = 0.05
EVICTED: Final = 2
_NOTHING: Final = 1e-9


class Sight(NamedTuple):
    """What an operator sees of the window before."""

    queue_depth: float
    active_requests: float
    kv_cache_occupancy: float
    mean_prompt_length: float
    p50_ttft_ms: float
    p99_ttft_ms: float
    p50_itl_ms: float
    throughput_tps: float
    slo_compliance_rate: float
    gpu_memory_used_gb: float
    estimated_cost_per_1k: float
    request_arrival_rate: float
    spec_acceptance_rate: float
    eviction_events: float


@dataclass(slots=True)
class Waiting:
    """Requests of a class that came in the same step, or were evicted in it."""

    born: int
    n: float
    prompt: float
    output: float


class Admission(NamedTuple):
    """Requests that are read in a step; kind: their class, or EVICTED; waited: in steps."""

    kind: int
    waited: int
    n: float
    prompt: float
    output: float


class Pace(NamedTuple):
    """The iterations of a step: those that also read prompts, and those that only decode.

    yielded: tokens of each running request by an iteration.
    """

    n_mixed: float
    mixed_s: float
    n_pure: float
    pure_s: float
    yielded: float

    def share_in_time(self, limit_s: float) -> float:
        """Return the share of tokens that come within the limit between two of them."""
        n = self.n_mixed + self.n_pure
        mixed = self.n_mixed * count_within(self.mixed_s / self.yielded, limit_s)
        return (mixed + self.n_pure * count_within(self.pure_s / self.yielded, limit_s)) / n


@dataclass(slots=True)
class Tally:
    """Sums of a window, weighted by class where grading.Window says so."""

    offered: float = 0.0
    good: float = 0.0
    in_time: float = 0.0
    tokens: float = 0.0
    evicted: float = 0.0
    dropped: float = 0.0
    arrived: float = 0.0
    prompt_tokens: float = 0.0
    waits: list[tuple[float, float]] = field(default_factory=list)
    paces: list[tuple[float, float]] = field(default_factory=list)


class Server:
    """One episode."""

    def __init__(self, task: Task, seed: int) -> None:
        """Draw the requests of an episode; nothing has come yet."""
        self.task = task
        self.trace: Trace = draw_trace(task, seed)
        self.n_windows = 0
        self.deployment: Deployment = deploy(FIRST)
        first = self.trace[:STEPS_PER_WINDOW]
        self._sight = Sight(
            0, 0, 0, 0, 0, 0, 0, 0, 1.0, 0, DEAREST, _mean_rate(first), _mean_acceptance(first), 0
        )
        # By class, and those that were evicted.
        self._queues: tuple[deque[Waiting], ...] = (deque(), deque(), deque())
        # Of the last window, until somebody looks: most copies of a server are never looked at.
        self._unseen: Tally | None = None
        self._stall_s = 0.0
        # What decodes: requests, tokens that are kept for them, and tokens that they will put out.
        self._n, self._context, self._output = 0.0, 0.0, 0.0

    @property
    def is_over(self) -> bool:
        """Whether all windows have run."""
        return self.n_windows == N_WINDOWS

    @property
    def sight(self) -> Sight:
        """What an operator sees of the window before."""
        if self._unseen:
            self._sight, self._unseen = self._look(self._unseen), None
        return self._sight

    def fork(self) -> "Server":
        """Return a copy that goes on by itself; it shares the trace, which nobody changes."""
        other = copy(self)
        other._queues = tuple(deque(map(replace, queue)) for queue in self._queues)
        return other

    def run_window(self, settings: Settings) -> Window:
        """Run the next window with these settings."""
        deployment = deploy(settings)
        self._stall_s += deployment.change_s(self.deployment)
        self.deployment = deployment
        begin = self.n_windows * STEPS_PER_WINDOW
        tally = Tally()
        for step, row in enumerate(self.trace[begin : begin + STEPS_PER_WINDOW], begin):
            self._take_arrivals(step, row, tally)
            self._serve(step, row.acceptance, tally)
        self.n_windows += 1
        self._unseen = tally
        return self._sum_up(tally)

    def _take_arrivals(self, step: int, row: Arrivals, tally: Tally) -> None:
        for kind, limits in enumerate(self.task.limits):
            queue = self._queues[kind]
            while queue and step - queue[0].born > PATIENCE_STEPS:
                lost = queue.popleft()
                tally.dropped += limits.weight * lost.n
                tally.offered += limits.weight * lost.n
            n = row.n_requests[kind]
            if n:
                queue.append(Waiting(step, n, row.prompt[kind], row.output[kind]))
                tally.arrived += limits.weight * n
                tally.prompt_tokens += n * row.prompt[kind]

    def _serve(self, step: int, acceptance: float, tally: Tally) -> None:
        """Run the iterations of one step: read prompts, decode, evict what does not fit."""
        stalled_s = min(self._stall_s, STEP_S)
        self._stall_s -= stalled_s
        left_s = STEP_S - stalled_s
        deployment = self.deployment
        pure_s = deployment.iteration_s(self._n, self._context)
        full_s = self._full_s()
        capacity = left_s / full_s * CHUNK
        admitted, n_read = self._admit(step, capacity)
        n_mixed, mixed_s = 0.0, full_s
        if n_read and not deployment.settings.is_split:
            n_mixed, mixed_s = self._mix(admitted, n_read, left_s, pure_s)
        n_pure = max(left_s - n_mixed * mixed_s, 0.0) / pure_s
        yielded = expect_tokens(acceptance, deployment.settings.speculation_depth)
        pace = Pace(n_mixed, mixed_s, n_pure, pure_s, yielded)
        if n_read:
            # Half of those that are read in a step wait for the other half.
            delay_s = stalled_s + 0.5 * left_s * n_read / capacity
            self._judge(admitted, pace, delay_s, tally)
        self._decode(pace, tally)
        self._join(admitted)
        self._evict(step, tally)

    def _full_s(self) -> float:
        """Return how long an iteration with a full chunk of prompts lasts."""
        deployment = self.deployment
        if deployment.settings.is_split:
            return CHUNK * deployment.token_s + OVERHEAD_S
        return deployment.iteration_s(self._n, self._context, CHUNK)

    def _admit(self, step: int, capacity: float) -> tuple[list[Admission], float]:
        """Take from the queues what the step can read, the batch and the KV cache can hold."""
        settings = self.deployment.settings
        slots = settings.batch_cap - self._n
        tokens = min(capacity, self.deployment.pool - self._context)
        admitted: list[Admission] = []
        n_read = 0.0
        while slots > _NOTHING and (kind := self._next_kind()) is not None:
            head = self._queues[kind][0]
            n = min(head.n, slots, (tokens - n_read) / head.prompt)
            if n <= _NOTHING:
                break
            admitted.append(Admission(kind, step - head.born, n, head.prompt, head.output))
            n_read += n * head.prompt
            slots -= n
            head.n -= n
            if head.n <= _NOTHING:
                self._queues[kind].popleft()
        return admitted, n_read

    def _next_kind(self) -> int | None:
        """Return who is read next: the evicted, the dearer class by priority, or who came first."""
        standard, priority, evicted = self._queues
        if evicted:
            return EVICTED
        if not priority:
            return STANDARD if standard else None
        if not standard or self.deployment.settings.is_prioritised:
            return PRIORITY
        return PRIORITY if priority[0].born <= standard[0].born else STANDARD

    def _mix(
        self, admitted: list[Admission], n_read: float, left_s: float, pure_s: float
    ) -> tuple[float, float]:
        """Return how many iterations read the prompts, and how long each of them lasts."""
        n_prompts = add_up(one.n for one in admitted)
        # At least one prompt, or what comes in while another iteration lasts.
        chunk = min(max(n_read / n_prompts, n_read * pure_s / left_s), CHUNK)
        n_mixed = n_read / chunk
        mixed_s = self.deployment.iteration_s(self._n, self._context, chunk)
        if n_mixed * mixed_s > left_s:
            mixed_s = self.deployment.iteration_s(self._n, self._context, CHUNK)
            n_mixed = n_read / CHUNK
        return n_mixed, mixed_s

    def _judge(self, admitted: list[Admission], pace: Pace, delay_s: float, tally: Tally) -> None:
        """Count what is admitted in so far as both limits are kept; once, whatever comes later."""
        deployment = self.deployment
        is_split, quality = deployment.settings.is_split, deployment.quality
        even = [pace.share_in_time(limits.token_s) for limits in self.task.limits]
        for one in admitted:
            if one.kind == EVICTED:
                continue
            limits = self.task.limits[one.kind]
            if is_split:
                own_s = one.prompt * (deployment.token_s + KV_BYTES / KV_LINK) + OVERHEAD_S
            else:
                own_s = max(one.prompt / CHUNK, 1.0) * pace.mixed_s
            first_s = one.waited * STEP_S + delay_s + own_s
            weight = limits.weight * one.n
            served = weight * count_within(first_s, limits.first_token_s) * even[one.kind]
            tally.offered += weight
            tally.in_time += served
            tally.good += served * quality
            tally.waits.append((first_s, weight))

    def _decode(self, pace: Pace, tally: Tally) -> None:
        """Let every running request put out its tokens; those that are done leave."""
        n = self._n
        if n <= _NOTHING:
            return
        each = (pace.n_mixed + pace.n_pure) * pace.yielded
        mean_output = self._output / n
        written = min(each, mean_output)
        going_on = 1.0 - written / mean_output
        tally.tokens += n * written
        tally.paces.append((pace.pure_s / pace.yielded, pace.n_pure * n))
        tally.paces.append((pace.mixed_s / pace.yielded, pace.n_mixed * n))
        self._n = n * going_on
        self._context = (self._context + n * written) * going_on
        self._output *= going_on

    def _join(self, admitted: list[Admission]) -> None:
        for one in admitted:
            self._n += one.n
            self._context += one.n * one.prompt
            self._output += one.n * one.output

    def _evict(self, step: int, tally: Tally) -> None:
        """Send back what the KV cache cannot hold; it is read again before anything else."""
        excess = self._context - self.deployment.pool
        if excess <= _NOTHING or self._n <= _NOTHING:
            return
        share = min(excess / self._context, 1.0)
        n = self._n * share
        waiting = Waiting(step, n, self._context / self._n, self._output / self._n)
        self._queues[EVICTED].append(waiting)
        tally.evicted += n
        self._n -= n
        self._context *= 1 - share
        self._output *= 1 - share

    def _sum_up(self, tally: Tally) -> Window:
        return Window(
            offered=tally.offered,
            good=tally.good,
            in_time=tally.in_time,
            tokens=tally.tokens,
            dollars=DOLLARS_PER_S * WINDOW_S,
            memory=min(self.deployment.memory, 1.0),
            evicted=tally.evicted,
            active=self._n,
            dropped=tally.dropped,
            arrived=tally.arrived,
        )

    def _look(self, tally: Tally) -> Sight:
        deployment = self.deployment
        end = self.n_windows * STEPS_PER_WINDOW
        rows = self.trace[end - STEPS_PER_WINDOW : end]
        queued = add_up(waiting.n for queue in self._queues for waiting in queue)
        n_arrived = add_up(n for row in rows for n in row.n_requests)
        dollars = DOLLARS_PER_S * WINDOW_S
        cost = min(1_000 * dollars / tally.tokens, DEAREST) if tally.tokens > 0 else DEAREST
        late_ms = MOST_MS if queued and not tally.waits else 0.0
        return Sight(
            queue_depth=queued,
            active_requests=self._n,
            kv_cache_occupancy=min(self._context / deployment.pool, 1.0),
            mean_prompt_length=tally.prompt_tokens / n_arrived if n_arrived else 0.0,
            p50_ttft_ms=_quantile_ms(tally.waits, 0.50, late_ms),
            p99_ttft_ms=_quantile_ms(tally.waits, 0.99, late_ms),
            p50_itl_ms=_quantile_ms(tally.paces, 0.50, 0.0),
            throughput_tps=tally.tokens / WINDOW_S,
            slo_compliance_rate=tally.in_time / tally.offered if tally.offered else 1.0,
            gpu_memory_used_gb=min(deployment.memory, 1.0) * N_GPUS * MEMORY / 1e9,
            estimated_cost_per_1k=cost,
            request_arrival_rate=_mean_rate(rows),
            spec_acceptance_rate=_mean_acceptance(rows),
            eviction_events=tally.evicted,
        )


def count_within(value: float, limit: float) -> float:
    """Return 1 well below a limit, 0 well above, and between the two in proportion."""
    return min(max((limit * (1 + RAMP) - value) / (2 * RAMP * limit), 0.0), 1.0)


def _mean_rate(rows: Trace) -> float:
    return add_up(n for row in rows for n in row.n_requests) / (len(rows) * STEP_S)


def _mean_acceptance(rows: Trace) -> float:
    return add_up(row.acceptance for row in rows) / len(rows)


def _quantile_ms(samples: list[tuple[float, float]], share: float, otherwise: float) -> float:
    """Return the weighted quantile of seconds, in milliseconds; what is given where none is."""
    target = share * add_up(weight for _, weight in samples)
    if target <= 0:
        return otherwise
    ordered = sorted(samples)
    so_far = accumulate(weight for _, weight in ordered)
    index = next(i for i, weight in enumerate(so_far) if weight >= target * (1 - 1e-12))
    return min(1_000 * ordered[index][0], MOST_MS)
