# A copy of arena/games/llmserve/agents.py, made by environments/copy_simulator.py: change that one.
"""Yardsticks: who sets the server by rules, always the same, by two settings, or by cheating."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import ceil, log2
from typing import Final, NamedTuple

from llmserve_env.simulator.grading import Window, read_terms
from llmserve_env.simulator.settings import CHOICES, TIERS, Settings
from llmserve_env.simulator.simulator import Server, Sight
from llmserve_env.simulator.sums import add_up

Decide = Callable[[Server, Settings], Settings]
"""Returns the settings of the next window; only lookahead reads more of a server than its sight."""

INT8: Final = 1
_LONG_PROMPT, _SLOW_MS, _CROWDED, _FULL, _QUEUED = 1_024, 50, 64, 0.95, 8
_LEAST_KV, _MOST_KV, _KV_STEP = 0.3, 0.8, 0.1
_DRAFTS: Final = ((16, 0.6, 4), (48, 0.5, 2))
"""Requests that run and acceptance, up to and from which drafts are so deep."""
_CAPS, _SHARES, _DEPTHS = (32, 64, 256), (0.4, 0.9), (0, 2, 3, 4, 5)
_LOADS_EVERY: Final = 3


def decide_by_rules(server: Server, last: Settings) -> Settings:
    """Return what rules of thumb say: batches as Orca's, a cache as vLLM's, priority as Decima's.

    The batch holds all there is, and half of it when tokens come slowly; the cache grows until
    something is evicted; drafts are as deep as few requests and good guesses allow.
    """
    sight = server.sight
    there = sight.queue_depth + sight.active_requests
    cap = 2 ** min(max(ceil(log2(max(there, 1))), 3), 8)
    if sight.p50_itl_ms > _SLOW_MS:
        cap = max(cap // 2, 8)
    kv = last.kv_budget_fraction + (-_KV_STEP if sight.eviction_events else _KV_STEP)
    is_crowded = sight.kv_cache_occupancy > _FULL or sight.queue_depth > _CROWDED
    return Settings(
        batch_cap=cap,
        kv_budget_fraction=round(min(max(kv, _LEAST_KV), _MOST_KV), 1),
        speculation_depth=_choose_depth(sight),
        tier=INT8 if is_crowded else last.tier,
        is_split=sight.mean_prompt_length > _LONG_PROMPT,
        is_prioritised=sight.queue_depth > _QUEUED,
    )


def _choose_depth(sight: Sight) -> int:
    for most_active, least_acceptance, depth in _DRAFTS:
        if sight.active_requests < most_active and sight.spec_acceptance_rate > least_acceptance:
            return depth
    return 0


class Fixed(NamedTuple):
    """Always the same settings."""

    settings: Settings

    def decide(self, server: Server, last: Settings) -> Settings:
        """Return the settings."""
        del server, last
        return self.settings


class Switch(NamedTuple):
    """Two settings and the queue from which on the second one is taken: a clever constant.

    What is taken stays until the queue is shorter than half of that.
    """

    calm: Settings
    crowded: Settings
    queue_depth: float

    def decide(self, server: Server, last: Settings) -> Settings:
        """Return one of the two."""
        queue = server.sight.queue_depth
        if queue >= self.queue_depth:
            return self.crowded
        return last if last == self.crowded and queue >= self.queue_depth / 2 else self.calm


class Lookahead(NamedTuple):
    """Tries settings on a copy of the server, whose requests to come it so knows: it cheats."""

    n_windows: int = 4

    def decide(self, server: Server, last: Settings) -> Settings:
        """Return the settings that serve the next windows best if they are kept.

        Of those that serve them equally well, those that put out most tokens.
        """
        may_load = server.n_windows % _LOADS_EVERY == 0
        candidates = (last, *_list_candidates(last, may_load=may_load))
        return max(candidates, key=lambda settings: self._value(server, settings))

    def _value(self, server: Server, settings: Settings) -> tuple[float, float]:
        windows = _run_ahead(server, settings, self.n_windows)
        return _count_served(windows), add_up(window.tokens for window in windows)


def foresee(server: Server, settings: Settings, n_windows: int) -> float:
    """Return how well the requests that come next are served if these settings are kept.

    In requests, weighted as for the grader; the server itself stays as it is.
    """
    return _count_served(_run_ahead(server, settings, n_windows))


def _run_ahead(server: Server, settings: Settings, n_windows: int) -> list[Window]:
    copy, windows = server.fork(), list[Window]()
    while len(windows) < n_windows and not copy.is_over:
        windows.append(copy.run_window(settings))
    return windows


def _count_served(windows: Sequence[Window]) -> float:
    offered = add_up(window.offered for window in windows)
    pressure = add_up(read_terms(window).pressure for window in windows) / len(windows)
    served = add_up(window.good + window.in_time - window.dropped for window in windows)
    # A window at full pressure costs the score half.
    return served - offered * pressure / 2


def _list_candidates(last: Settings, *, may_load: bool) -> Iterator[Settings]:
    """Yield settings that cost nothing to come to; now and then those, too, that have to load."""
    deployments = [(last.tier, last.is_split)]
    if may_load:
        deployments += [(INT8, not last.is_split), (INT8 + 1, True)]
    for (tier, is_split), cap, kv, depth in product(deployments, _CAPS, _SHARES, _DEPTHS):
        yield Settings(cap, kv, depth, tier, is_split, is_prioritised=True)


def find_choices(settings: Settings) -> list[int]:
    """Return the nearest choice of each setting, as an index into CHOICES."""
    return [
        min(range(len(choices)), key=lambda index: abs(choices[index] - value))
        for choices, value in zip(CHOICES, settings, strict=True)
    ]


def read_settings(text: str) -> Settings:
    """Return settings from a text such as 32/0.6/3/INT8/together/on. Raises ValueError."""
    words = text.split("/")
    tables = ({"together": False, "apart": True}, {"off": False, "on": True})
    try:
        cap, kv, depth, tier, split, priority = words
        settings = Settings(
            int(cap),
            float(kv),
            int(depth),
            TIERS.index(tier),
            tables[0][split],
            tables[1][priority],
        )
    except (ValueError, KeyError):
        settings = None
    if settings is None or not _is_in_range(settings):
        rule = "BATCH/KV/DEPTH/TIER/SPLIT/PRIORITY such as 32/0.6/3/INT8/together/on"
        ranges = "1..512, 0.1..1, 0..8, FP16|INT8|INT4, together|apart, off|on"
        raise ValueError(f"must be {rule} ({ranges}), is {text!r:.80}")
    return settings


def _is_in_range(settings: Settings) -> bool:
    bounds = zip(settings[:3], CHOICES[:3], strict=True)
    return all(choices[0] <= value <= choices[-1] for value, choices in bounds)


def tell_settings(settings: Settings) -> str:
    """Return the text of which `read_settings` makes these settings."""
    split = "apart" if settings.is_split else "together"
    priority = "on" if settings.is_prioritised else "off"
    tier = TIERS[settings.tier]
    first = f"{settings.batch_cap}/{settings.kv_budget_fraction:g}/{settings.speculation_depth}"
    return f"{first}/{tier}/{split}/{priority}"
