"""V-trace and GAE against values that were worked out by hand, and what cuts a trace."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from training.returns import Bools, Floats, Steps, make_gae, make_vtrace

NONE = np.zeros(3, bool)
LAST = np.array([False, False, True])
FIRST = np.array([True, False, True])
REWARDS, VALUES, NEXT = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0]), np.array([1.0, 2, 4])
HALF, NEARLY = 0.5, 0.9


def make_steps(terminated: Bools = NONE, is_cut: Bools = LAST) -> Steps:
    return Steps(REWARDS, VALUES, NEXT, terminated, is_cut)


def test_gae_is_that_of_three_steps_by_hand() -> None:
    targets, advantages = make_gae(make_steps(), discount=HALF, decay=NEARLY)
    # Errors: 1 + .5 * 1 - .5 = 1; 2 + .5 * 2 - 1 = 2; 3 + .5 * 4 - 2 = 3; each later one by .45.
    third = 3.0
    second = 2 + 0.45 * third
    first = 1 + 0.45 * second
    assert advantages == pytest.approx([first, second, third])
    assert targets == pytest.approx([0.5 + first, 1 + second, 2 + third])


def test_vtrace_is_that_of_three_steps_by_hand() -> None:
    log_ratios = np.log([0.5, 4.0, 0.25])  # the second weight is cut off at 1
    targets, advantages = make_vtrace(make_steps(), log_ratios, discount=HALF, decay=NEARLY)
    third = 0.25 * 3.0
    second = 1.0 * 2.0 + 0.45 * 1.0 * third
    first = 0.5 * 1.0 + 0.45 * 0.5 * second
    assert targets == pytest.approx([0.5 + first, 1 + second, 2 + third])
    # r + .5 * the target of what follows - v; after the last step follows its value alone.
    expected = [1 + 0.5 * (1 + second) - 0.5, 2 + 0.5 * (2 + third) - 1, 3 + 0.5 * 4 - 2]
    assert advantages == pytest.approx(expected)


def test_termination_takes_the_value_of_the_successor_away_and_truncation_does_not() -> None:
    for terminated, first in ((FIRST & ~LAST, 1 - 0.5), (NONE, 1 + 0.5 * 1 - 0.5)):
        steps = make_steps(terminated, FIRST)
        (_, gae), (targets, advantages) = (
            make_gae(steps, discount=HALF, decay=NEARLY),
            make_vtrace(steps, np.zeros(3), discount=HALF, decay=NEARLY),
        )
        assert gae[0] == pytest.approx(first)
        assert (targets[0], advantages[0]) == pytest.approx((0.5 + first, first))


numbers = arrays(np.float64, 8, elements=st.floats(-10, 10))
flags = arrays(np.bool_, 8)


@given(numbers, numbers, numbers, flags, flags, st.floats(0, 1), st.floats(0, 1))
def test_vtrace_with_nothing_to_correct_has_the_targets_of_the_lambda_return(
    rewards: Floats, values: Floats, ends: Floats, terminated: Bools, truncated: Bools,
    discount: float, decay: float,
) -> None:  # fmt: skip
    is_cut = terminated | truncated
    is_cut[-1] = True
    next_values = np.where(is_cut, ends, np.append(values[1:], 0.0))
    steps = Steps(rewards, values, next_values, terminated, is_cut)
    targets, _ = make_vtrace(steps, np.zeros(8), discount=discount, decay=decay)
    expected, later = np.empty(8), 0.0
    for t in reversed(range(8)):
        # The lambda return by its recursion: G = r + discount * ((1 - decay) * v' + decay * G').
        mixed = ends[t] if is_cut[t] else (1 - decay) * next_values[t] + decay * later
        later = rewards[t] + discount * (not terminated[t]) * mixed
        expected[t] = later
    assert targets == pytest.approx(expected, abs=1e-9)


@given(numbers, flags, numbers)
def test_no_step_changes_what_comes_before_a_cut(
    rewards: Floats, is_cut: Bools, log_ratios: Floats
) -> None:
    is_cut[3] = is_cut[-1] = True
    zeros = np.zeros(8)
    changed = rewards.copy()
    changed[4:] += 1
    first, second = (
        make_vtrace(
            Steps(each, zeros, zeros, np.zeros(8, bool), is_cut), log_ratios,
            discount=0.99, decay=0.95,
        )
        for each in (rewards, changed)
    )  # fmt: skip
    for one, other in zip(first, second, strict=True):
        assert one[:4].tolist() == other[:4].tolist()
