"""What counts towards a limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.current_call import CurrentCall, Phase
from workers.watchdog import Activity, CallTimer, Ticker, Usage

CALL = CurrentCall(1, 0, 0, Phase.POLICY)
NEXT = CurrentCall(2, 0, 0, Phase.POLICY)


def watched(activity: Activity, cpu_s: list[float], *, counted_s: float = 0.1) -> CallTimer:
    watch = CallTimer()
    for used_s in cpu_s:
        watch.add_tick(CALL, Usage(used_s, activity), counted_s)
    return watch


def test_a_call_that_computes_is_charged_its_cpu_time() -> None:
    assert watched(Activity.COMPUTING, [5.0, 5.03, 5.06]).call_s == pytest.approx(0.06)


def test_cpu_time_of_several_threads_is_charged_as_one() -> None:
    assert watched(Activity.COMPUTING, [0, 0.4, 0.8]).call_s == pytest.approx(0.2)


def test_a_call_that_sleeps_is_charged_the_wall_time() -> None:
    assert watched(Activity.SLEEPING, [5.0] * 6).call_s == pytest.approx(0.5)


def test_a_player_that_is_held_is_charged_nothing_but_the_wall_goes_on() -> None:
    watch = watched(Activity.HELD, [5.0] * 6)
    assert watch.call_s == 0
    assert watch.wall_s == pytest.approx(0.5)


def test_a_starved_player_is_charged_what_it_got() -> None:
    assert watched(Activity.COMPUTING, [5.0] * 6).call_s == 0


def test_a_new_call_starts_from_nothing() -> None:
    watch = watched(Activity.SLEEPING, [0.0] * 5)
    assert watch.add_tick(NEXT, Usage(0.0, Activity.SLEEPING), 0.1) == 0.1
    assert watch.call_s == watch.wall_s == 0
    watch.add_tick(NEXT, Usage(0.0, Activity.SLEEPING), 0.1)
    assert watch.call_s == 0.1


def test_waiting_is_charged_to_nobody_but_its_wall_time_is_known() -> None:
    watch = CallTimer()
    waiting = CurrentCall(3, 0, 0, Phase.WAIT)
    charged = [watch.add_tick(waiting, Usage(0.0, Activity.SLEEPING), 0.1) for _ in range(4)]
    assert charged == [0.0] * 4
    assert watch.wall_s == pytest.approx(0.3)


def test_no_call_is_charged_nothing() -> None:
    watch = CallTimer()
    for _ in range(3):
        watch.add_tick(CurrentCall(0, 0, 0, Phase.IDLE), Usage(0, Activity.SLEEPING), 0.1)
    assert watch.call_s == 0


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_no_gap_counts_more_than_two_ticks(gaps_s: list[float]) -> None:
    now, ticker = 7.0, Ticker(0.05, now=7.0)
    for gap_s in gaps_s:
        now += gap_s
        assert ticker.count_seconds(now) == pytest.approx(min(gap_s, 0.1))


def test_a_tick_is_due_after_its_time() -> None:
    ticker = Ticker(0.05, now=1.0)
    assert not ticker.is_due(1.04)
    assert ticker.is_due(1.06)
