"""Real mode: each window also asks a real model, and its first-token and token times are measured.

What a remote API cannot show (memory, cache, queue) stays simulated and is named so. Such an
episode cannot be replayed, so its score is compared with nobody's.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from openai import OpenAI, OpenAIError

from llmserve_env.episode import Episode
from llmserve_env.errors import UnavailableError
from llmserve_env.simulator.grading import Window
from llmserve_env.simulator.settings import Settings
from llmserve_env.simulator.simulator import Sight
from llmserve_env.simulator.workload import PRIORITY, STANDARD, STEPS_PER_WINDOW, Limits

SIMULATED: Final = (
    "queue_depth",
    "kv_cache_occupancy",
    "mean_prompt_length",
    "gpu_memory_used_gb",
    "estimated_cost_per_1k",
    "request_arrival_rate",
    "spec_acceptance_rate",
    "eviction_events",
)
MOST_REQUESTS: Final = 64
LONGEST_PROMPT: Final = 100_000
TIMEOUT_S: Final = 30.0
P99: Final = 0.99
API_FAILURES: Final = (OpenAIError, ValueError, RecursionError)
"""What the client raises: its own errors, and of a body that is no JSON what its parser says."""


@dataclass(frozen=True)
class RealSettings:
    """Whom real mode asks, and how much in each window."""

    model: str
    api_key: str
    max_requests: int = 4
    max_prompt_tokens: int = 256
    max_completion_tokens: int = 64
    timeout_s: float = TIMEOUT_S

    def __repr__(self) -> str:
        """Name the model and keep the key."""
        return f"RealSettings(model={self.model!r})"


class Answer(NamedTuple):
    """A streamed answer, in seconds from its request: first token, and between two of them."""

    first_s: float
    token_s: float
    n_tokens: int


class Measurement(NamedTuple):
    """The answers of a window by their class, the classes of what failed, and how long it took."""

    answers: tuple[tuple[int, Answer], ...]
    failed: tuple[int, ...]
    took_s: float


def read_real_settings(environment: Mapping[str, str] = os.environ) -> RealSettings | None:
    """Return how real mode runs, None in simulated mode.

    Raises UnavailableError where a variable is wrong or the key is missing.
    """
    mode = environment.get("LLMSERVE_MODE", "sim")
    if mode == "sim":
        return None
    if mode != "real":
        raise UnavailableError(f"LLMSERVE_MODE must be sim or real: {mode!r:.80}")
    provider = environment.get("LLMSERVE_REAL_PROVIDER", "openai")
    if provider != "openai":
        raise UnavailableError(
            f"LLMSERVE_REAL_PROVIDER must be openai, which is any server that speaks its API "
            f"(OPENAI_BASE_URL): {provider!r:.80}"
        )
    return RealSettings(
        model=environment.get("LLMSERVE_REAL_MODEL", "gpt-4.1-mini"),
        api_key=read_key(environment),
        max_requests=_read_count(environment, "MAX_REQUESTS_PER_STEP", 4, MOST_REQUESTS),
        max_prompt_tokens=_read_count(environment, "MAX_PROMPT_TOKENS", 256, LONGEST_PROMPT),
        max_completion_tokens=_read_count(environment, "MAX_COMPLETION_TOKENS", 64, LONGEST_PROMPT),
    )


def read_key(environment: Mapping[str, str] = os.environ) -> str:
    """Return the key of the API. Raises UnavailableError without one."""
    key = environment.get("OPENAI_API_KEY", "").strip()
    if not key:
        raise UnavailableError("OPENAI_API_KEY is not set: a real model cannot be asked without it")
    # The client would raise an error that holds the whole of it.
    if not (key.isascii() and key.isprintable()):
        raise UnavailableError("OPENAI_API_KEY is no key: it has characters that no header takes")
    return key


def make_client(api_key: str, *, timeout_s: float, retries: int) -> OpenAI:
    """Return the API's client, led by OPENAI_BASE_URL to any server that speaks it.

    Raises UnavailableError where that is no address.
    """
    address = os.environ.get("OPENAI_BASE_URL")
    if address and not _is_address(address):
        raise UnavailableError("OPENAI_BASE_URL must be an address: http://HOST:PORT/v1 or https")
    return OpenAI(api_key=api_key, timeout=timeout_s, max_retries=retries)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def describe_failure(error: Exception) -> str:
    """Return what went wrong, without the message, which may hold a part of the key."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__}{f' (HTTP {status})' if status else ''}"


class RealEpisode(Episode):
    """An episode whose latencies are those of a real model."""

    def __init__(
        self,
        settings: RealSettings,
        task_id: str,
        seed: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Take whom to ask; nothing is asked before the first window."""
        super().__init__(task_id, seed)
        self._settings = settings
        self._clock = clock
        self._client = make_client(settings.api_key, timeout_s=settings.timeout_s, retries=0)
        self._measurement = Measurement((), (), 0.0)
        self._measured: dict[str, float] = {}

    @property
    def sight(self) -> Sight:
        """The window before, with what was measured in the place of what is simulated."""
        return self.server.sight._replace(**self._measured)

    def describe(self) -> dict[str, Any]:
        """Return what an observation's metadata says about this mode."""
        return {
            "comparable": False,
            "model": self._settings.model,
            "simulated_fields": list(SIMULATED),
            "n_requests": len(self._measurement.answers) + len(self._measurement.failed),
            "n_failed": len(self._measurement.failed),
        }

    def run_window(self, settings: Settings) -> Window:
        """Ask the model, then put what was measured in the place of what is simulated.

        Raises UnavailableError where no request was answered; the window has not run then.
        """
        self._measurement = measurement = self._measure(settings)
        window = super().run_window(settings)
        limits = self.server.task.limits
        in_time = sum(
            limits[kind].weight
            for kind, answer in measurement.answers
            if _is_in_time(answer, limits[kind])
        )
        dropped = sum((limits[kind].weight for kind in measurement.failed), 0.0)
        offered = sum(limits[kind].weight for kind, _ in measurement.answers) + dropped
        first_ms = sorted(1_000 * answer.first_s for _, answer in measurement.answers)
        n_tokens = sum(answer.n_tokens for _, answer in measurement.answers)
        self._measured = {
            "active_requests": len(measurement.answers),
            "p50_ttft_ms": median(first_ms),
            "p99_ttft_ms": first_ms[int(P99 * len(first_ms))],
            "p50_itl_ms": median(1_000 * answer.token_s for _, answer in measurement.answers),
            "throughput_tps": n_tokens / measurement.took_s,
            "slo_compliance_rate": in_time / offered,
        }
        return window._replace(
            offered=offered,
            good=in_time,
            in_time=in_time,
            dropped=dropped,
            arrived=offered,
        )

    def _measure(self, settings: Settings) -> Measurement:
        kinds, n_prompt = self._plan_requests(settings)
        began = self._clock()
        with ThreadPoolExecutor(len(kinds)) as pool:
            results = list(pool.map(lambda _: self._ask(n_prompt), kinds))
        took_s = self._clock() - began
        answers = tuple(
            (kind, one) for kind, one in zip(kinds, results, strict=True) if isinstance(one, Answer)
        )
        if not answers:
            raise UnavailableError(
                f"the model answered none of {len(kinds)} requests: {results[0]}"
            )
        failed = tuple(
            kind for kind, one in zip(kinds, results, strict=True) if isinstance(one, str)
        )
        return Measurement(answers, failed, took_s)

    def _plan_requests(self, settings: Settings) -> tuple[list[int], int]:
        """Return the class of each request, and how many tokens its prompt has."""
        begin = self.n_windows * STEPS_PER_WINDOW
        rows = self.server.trace[begin : begin + STEPS_PER_WINDOW]
        n_standard, n_priority = (sum(row.n_requests[kind] for row in rows) for kind in (0, 1))
        n = min(settings.batch_cap, self._settings.max_requests)
        share = n_priority / max(n_standard + n_priority, 1)
        n_dear = round(n * share)
        n_prompt = min(int(rows[0].prompt[STANDARD]), self._settings.max_prompt_tokens)
        return [PRIORITY] * n_dear + [STANDARD] * (n - n_dear), n_prompt

    def _ask(self, n_prompt: int) -> Answer | str:
        """Return a streamed answer with its times, or what went wrong."""
        began = self._clock()
        try:
            stream = self._client.chat.completions.create(
                model=self._settings.model,
                messages=[{"role": "user", "content": "Tell a long story." + " more" * n_prompt}],
                max_completion_tokens=self._settings.max_completion_tokens,
                stream=True,
                stream_options={"include_usage": True},
            )
            with stream:
                return _time_tokens(stream, began, self._clock, self._settings.timeout_s)
        except API_FAILURES as error:
            return describe_failure(error)


def _time_tokens(
    stream: Iterable[Any], began: float, clock: Callable[[], float], limit_s: float
) -> Answer | str:
    times: list[float] = []
    n_tokens = 0
    for chunk in stream:
        took_s = clock() - began
        if _has_content(chunk):
            times.append(took_s)
        n_tokens = _read_count_of_tokens(chunk) or n_tokens
        # The client's own limit is for the next chunk, which a stream without end always has.
        if took_s > limit_s:
            break
    if not times:
        return "an answer without a token"
    # A chunk may hold several tokens: the count of the server is the better one.
    n_tokens = max(n_tokens, len(times))
    token_s = (times[-1] - times[0]) / (n_tokens - 1) if n_tokens > 1 else 0.0
    return Answer(times[0], token_s, n_tokens)


def _has_content(chunk: Any) -> bool:
    """Say whether a chunk holds a part of the answer; a server may leave out any part of it."""
    choices = getattr(chunk, "choices", None)
    first = choices[0] if isinstance(choices, list) and choices else None
    return bool(getattr(getattr(first, "delta", None), "content", None))


def _read_count_of_tokens(chunk: Any) -> int:
    """Return how many tokens the answer has, 0 where the chunk does not say."""
    count = getattr(getattr(chunk, "usage", None), "completion_tokens", None)
    return count if type(count) is int and 0 < count <= LONGEST_PROMPT else 0


def _is_in_time(answer: Answer, limits: Limits) -> bool:
    return answer.first_s <= limits.first_token_s and answer.token_s <= limits.token_s


def _read_count(environment: Mapping[str, str], name: str, default: int, most: int) -> int:
    variable = f"LLMSERVE_REAL_{name}"
    text = environment.get(variable, str(default))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= most):
        raise UnavailableError(f"{variable} must be a whole number of 1..{most}: {text!r:.80}")
    return int(text)
