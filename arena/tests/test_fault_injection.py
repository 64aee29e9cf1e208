"""Faults: drawn at their rates, the same for the same attempt, and struck where the plan says."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import EmulatedFaultError, InvalidReturnsError, ParameterError
from arena.fault_injection import (
    INVALID_VALUES,
    Charge,
    Fault,
    FaultKind,
    FaultPlan,
    draw_fault,
    inject_into_action,
    inject_into_state,
)
from arena.games import registry
from arena.games.base import OVER, State, ranks

PLAN = FaultPlan(error_rate=0.1, invalid_rate=0.2, hang_rate=0.3)
SKILL = registry.get("skill_game")


def test_faults_come_at_their_rates() -> None:
    n = 5000
    drawn = [draw_fault(PLAN, seed, 1, 3) for seed in range(n)]
    kinds = Counter(fault.kind for fault in drawn if fault)
    assert kinds[FaultKind.ERROR] / n == pytest.approx(0.1, abs=0.02)
    assert kinds[FaultKind.INVALID] / n == pytest.approx(0.2, abs=0.025)
    assert kinds[FaultKind.HANG] / n == pytest.approx(0.3, abs=0.03)
    assert {fault.seat for fault in drawn if fault} == {0, 1, 2}


def test_every_invalid_value_comes_and_only_with_an_invalid_fault() -> None:
    drawn = [draw_fault(PLAN, seed, 1, 2) for seed in range(2000)]
    values = {repr(fault.value) for fault in drawn if fault and fault.kind is FaultKind.INVALID}
    assert values == {repr(value) for value in INVALID_VALUES}
    assert all(f.value is None for f in drawn if f and f.kind is not FaultKind.INVALID)


@given(st.integers(0, 2**63 - 1), st.integers(0, 100), st.integers(1, 8))
def test_the_same_attempt_has_the_same_fault(seed: int, attempt: int, n_seats: int) -> None:
    assert repr(draw_fault(PLAN, seed, attempt, n_seats)) == repr(
        draw_fault(PLAN, seed, attempt, n_seats)
    )


def test_a_retry_draws_anew() -> None:
    always = replace(PLAN, error_rate=0.5, hang_rate=0.0, invalid_rate=0.0)
    for seed in range(20):
        assert len({draw_fault(always, seed, attempt, 2) is None for attempt in range(1, 30)}) == 2


def test_a_plan_without_rates_never_strikes() -> None:
    assert not any(draw_fault(FaultPlan(), seed, 1, 2) for seed in range(100))


def test_rates_of_one_in_all_always_strike() -> None:
    full = FaultPlan(error_rate=0.7, invalid_rate=0.2, hang_rate=0.1)
    assert all(draw_fault(full, seed, 1, 2) for seed in range(1000))


@pytest.mark.parametrize(
    ("field", "value", "refusal"),
    [
        ("error_rate", -0.1, r"'error_rate' must be 0\.\.1, got -0\.1"),
        ("invalid_rate", 1.5, r"'invalid_rate' must be 0\.\.1, got 1\.5"),
        ("hang_rate", float("nan"), r"'hang_rate' must be 0\.\.1, got nan"),
        ("hang_rate", 0.75, r"'error_rate \+ invalid_rate \+ hang_rate' must be at most 1, got"),
        ("hang_s", -1.0, r"'hang_s' must be 0 or more, got -1\.0"),
        ("hang_s", float("inf"), r"'hang_s' must be 0 or more, got inf"),
        ("charge", "me", r"'charge' must be of platform, agent, got 'me'"),
    ],
)
def test_an_impossible_plan_is_refused(field: str, value: object, refusal: str) -> None:
    with pytest.raises(ParameterError, match=refusal):
        FaultPlan(**{**vars(PLAN), field: value})


def test_a_charge_may_be_its_text() -> None:
    assert replace(PLAN, charge="agent").charge == Charge.AGENT  # type: ignore[arg-type]


def struck(kind: FaultKind, value: object = None) -> tuple[State, list[float]]:
    slept: list[float] = []
    fault = Fault(kind, 0, value)
    state = SKILL.start(1, opening_plies=0)
    return inject_into_state(state, fault, hang_s=30.0, sleep=slept.append), slept


def test_an_error_of_the_platform_is_raised_at_the_first_step() -> None:
    state, _ = struck(FaultKind.ERROR)
    with pytest.raises(EmulatedFaultError):
        state.apply(5)
    assert state.actions == []


def test_a_hang_of_the_platform_sleeps_once_and_goes_on() -> None:
    state, slept = struck(FaultKind.HANG)
    state.apply(99)
    state.apply(0)
    assert slept == [30.0]
    assert (state.to_move(), list(state.returns())) == (OVER, [1.0, -1.0])


@pytest.mark.parametrize("value", INVALID_VALUES, ids=repr)
def test_an_invalid_result_of_the_platform_is_no_valid_returns(value: object) -> None:
    state, slept = struck(FaultKind.INVALID, value)
    state.apply(99)
    state.apply(0)
    with pytest.raises(InvalidReturnsError):
        ranks(state.returns(), 2)
    assert slept == []


def test_a_struck_state_shows_what_the_state_shows() -> None:
    state, _ = struck(FaultKind.HANG)
    plain = SKILL.start(1, opening_plies=0)
    assert state.legal_actions() == plain.legal_actions()
    assert (state.legal_mask() == plain.legal_mask()).all()
    assert (state.observation(1) == plain.observation(1)).all()
    assert list(state.opening) == []


def test_an_error_of_an_agent_is_raised_in_its_place() -> None:
    with pytest.raises(EmulatedFaultError, match="seat 1"):
        inject_into_action(Fault(FaultKind.ERROR, 1), hang_s=1, sleep=never, act=lambda: 3)


def test_an_invalid_action_of_an_agent_takes_the_place_of_its_own() -> None:
    fault = Fault(FaultKind.INVALID, 1, {})
    assert inject_into_action(fault, hang_s=1, sleep=never, act=lambda: 3) == {}


def test_a_hanging_agent_sleeps_and_then_acts() -> None:
    slept: list[float] = []
    fault = Fault(FaultKind.HANG, 1)
    assert inject_into_action(fault, hang_s=9.5, sleep=slept.append, act=lambda: 3) == 3
    assert slept == [9.5]


def never(_: float) -> None:
    raise AssertionError("slept")
