"""The server: replayed to the last bit, bounded whatever is set, and physical."""

import subprocess
import sys
from collections.abc import Callable
from math import isfinite
from random import Random

import pytest

from arena.games.llmserve.grading import Grader, Window, reward
from arena.games.llmserve.settings import CHOICES, Settings, choose
from arena.games.llmserve.simulator import PATIENCE_STEPS, Server, Sight, count_within
from arena.games.llmserve.workload import (
    ADVERSARIAL,
    BURSTY,
    N_STEPS,
    N_WINDOWS,
    STATIC,
    TASKS,
    Arrivals,
    Task,
    Trace,
)

USUAL = Settings(64, 0.6, 3, 1, False, True)
INT8, INT4 = 1, 2


def play(server: Server, act: Callable[[], Settings] = lambda: USUAL) -> list[Window]:
    windows = []
    while not server.is_over:
        windows.append(server.run_window(act()))
    return windows


def steady(
    rate: float, *, prompt: float = 400, output: float = 150, acceptance: float = 0.7, kind: int = 0
) -> Trace:
    """Return a trace of requests that come evenly."""
    n = (rate / 4, 0.0) if kind == 0 else (0.0, rate / 4)
    return (Arrivals(n, (prompt, prompt), (output, output), acceptance),) * N_STEPS


def serve(trace: Trace, settings: Settings, task: Task = BURSTY) -> tuple[Server, list[Window]]:
    server = Server(task, 1)
    server.trace = trace
    return server, play(server, lambda: settings)


def totals(windows: list[Window]) -> Window:
    return Window(*map(sum, zip(*windows, strict=True)))


def random_settings(rng: Random) -> Settings:
    return choose([rng.randrange(len(choices)) for choices in CHOICES])


@pytest.mark.no_cover
@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_whatever_is_set_all_figures_stay_finite_and_within_their_bounds(task: Task) -> None:
    rng = Random(1)
    for seed in range(38):
        server, grader = Server(task, seed), Grader()
        while not server.is_over:
            window = server.run_window(random_settings(rng))
            grader.add(window)
            check_window(window)
            check_sight(server.sight)
        assert 0.0 <= grader.score() <= 1.0
        assert server.n_windows == N_WINDOWS


def check_window(window: Window) -> None:
    assert all(isfinite(number) and number >= 0 for number in window)
    assert window.good <= window.in_time <= window.offered + 1e-9
    assert 0 < window.memory <= 1
    assert -0.65 <= reward(window) <= 1


def check_sight(sight: Sight) -> None:
    assert all(isfinite(number) and number >= 0 for number in sight)
    assert sight.kv_cache_occupancy <= 1
    assert sight.slo_compliance_rate <= 1 + 1e-9
    assert sight.p50_ttft_ms <= sight.p99_ttft_ms <= 10_000
    assert 0 < sight.estimated_cost_per_1k <= 0.05
    assert sight.gpu_memory_used_gb <= 160


CODE = """
from arena.games.llmserve.tests.test_simulator import play_at_random
print(play_at_random(7))
"""


def play_at_random(seed: int) -> list[float]:
    rng = Random(seed)
    windows = play(Server(ADVERSARIAL, seed), lambda: random_settings(rng))
    return [number for window in windows for number in window]


def test_another_process_gets_the_same_numbers_to_the_last_bit() -> None:
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(play_at_random(7))


def test_the_requests_do_not_depend_on_what_is_set() -> None:
    usual = play(Server(BURSTY, 3))
    odd = play(Server(BURSTY, 3), lambda: Settings(1, 0.1, 8, 2, True, False))
    assert [window.arrived for window in usual] == [window.arrived for window in odd]


def test_every_request_is_counted_once_or_still_waits() -> None:
    server, windows = serve(steady(12), Settings(32, 0.6, 0, INT8, False, False))
    total = totals(windows)
    assert total.evicted == 0
    assert total.offered + server.sight.queue_depth == pytest.approx(12 * 180)
    assert 0 < total.dropped < total.offered
    assert server.sight.queue_depth <= 12 * (PATIENCE_STEPS + 1) / 4 + 1e-9


def test_a_light_load_is_served_in_time_and_an_impossible_one_is_not() -> None:
    light, heavy = (totals(serve(steady(rate), USUAL)[1]) for rate in (1, 40))
    assert light.in_time > 0.95 * light.offered
    assert heavy.in_time < 0.10 * heavy.offered


def test_a_batch_of_one_lets_the_queue_grow() -> None:
    server, _ = serve(steady(4), USUAL._replace(batch_cap=1))
    assert server.sight.queue_depth > 30
    assert server.sight.active_requests <= 1 + 1e-9


def test_a_small_cache_under_long_prompts_holds_requests_back_or_evicts_them() -> None:
    trace = steady(6, prompt=300, output=1_000)
    server, windows = serve(trace, Settings(256, 0.1, 0, INT8, False, False))
    assert totals(windows).evicted > 0
    assert server.sight.queue_depth > 5


def test_a_larger_cap_serves_more_and_slows_each_answer() -> None:
    trace = steady(9, prompt=100, output=600)
    (small, of_small), (large, of_large) = (
        serve(trace, Settings(cap, 0.9, 0, INT8, False, False)) for cap in (32, 256)
    )
    assert totals(of_large).tokens > 1.5 * totals(of_small).tokens
    assert large.sight.p50_itl_ms > small.sight.p50_itl_ms


def test_a_split_pays_with_long_prompts_and_ruins_a_burst() -> None:
    apart = USUAL._replace(is_split=True, kv_budget_fraction=0.8)
    long, burst = steady(2.5, prompt=800, acceptance=0.5), steady(11, prompt=400)
    for trace, pays in ((long, True), (burst, False)):
        together_in_time, apart_in_time = (
            totals(serve(trace, settings)[1]).in_time for settings in (USUAL, apart)
        )
        assert (apart_in_time > together_in_time) == pays


def test_speculation_pays_for_few_and_costs_with_many() -> None:
    for rate, pays in ((0.5, True), (12, False)):
        trace = steady(rate, prompt=60, output=400, acceptance=0.5)
        plain, drafted = (
            serve(trace, Settings(256, 0.9, depth, INT8, False, False))[0].sight.p50_itl_ms
            for depth in (0, 5)
        )
        assert (drafted < plain) == pays


def test_useless_drafts_never_bring_more_tokens() -> None:
    trace = steady(9, prompt=60, output=400, acceptance=0.05)
    plain, drafted = (
        totals(serve(trace, Settings(256, 0.9, depth, INT8, False, False))[1]).tokens
        for depth in (0, 4)
    )
    assert drafted <= plain


def test_priority_lets_the_dearer_class_go_first() -> None:
    mixed = tuple(Arrivals((2.5, 0.5), (400.0, 400.0), (150.0, 150.0), 0.7) for _ in range(N_STEPS))
    served = [
        totals(serve(mixed, USUAL._replace(is_prioritised=first), BURSTY)[1]).in_time
        for first in (False, True)
    ]
    assert served[1] > served[0]


def test_switching_back_and_forth_stands_still() -> None:
    tiers = iter([INT8, INT4] * N_WINDOWS)
    server = Server(STATIC, 1)
    flapping = totals(play(server, lambda: USUAL._replace(tier=next(tiers))))
    kept = totals(play(Server(STATIC, 1)))
    assert flapping.in_time < 0.7 * kept.in_time


def test_who_waits_longest_goes_first_without_priority_and_a_tie_goes_to_the_dearer() -> None:
    both = Arrivals((1.0, 1.0), (5_000.0, 5_000.0), (100.0, 100.0), 0.7)
    none = Arrivals((0.0, 0.0), (400.0, 400.0), (150.0, 150.0), 0.7)
    server, windows = serve((both,) + (none,) * (N_STEPS - 1), USUAL._replace(is_prioritised=False))
    assert totals(windows).offered == pytest.approx(3.0)
    assert server.sight == server.sight._replace(queue_depth=0, p50_ttft_ms=0, p99_ttft_ms=0)


@pytest.mark.parametrize(("value", "share"), [(0.0, 1.0), (0.9, 1.0), (1.0, 0.5), (1.2, 0.0)])
def test_limits_are_no_cliffs(value: float, share: float) -> None:
    assert count_within(value, 1.0) == pytest.approx(share)
