"""What counts as an action, and how faults are told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.fault_injection import INVALID_VALUES
from arena.messages import MAX_DETAIL, Ending, Reason
from inference.errors import NoArchitectureError
from workers.failures import (
    Failure,
    describe_error,
    describe_value,
    failure_of_network,
    failure_of_policy,
    one_line,
    read_action,
)


@given(st.integers())
def test_an_int_is_an_action(value: int) -> None:
    assert read_action(value) == value


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint16])
def test_an_integer_of_numpy_becomes_an_int(kind: type) -> None:
    action = read_action(kind(5))
    assert (action, type(action)) == (5, int)


@pytest.mark.parametrize(
    "value",
    [v for v in INVALID_VALUES if v != -10]
    + [None, np.float64(1), np.bool_(True), np.array([1, 2]), "3", [3], 1 + 0j],
)
def test_nothing_else_is_an_action(value: object) -> None:
    assert read_action(value) is None


@given(st.text(), st.integers(1, 600))
def test_a_line_is_short_and_printable(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.isprintable()


def test_a_reason_names_error_and_place_in_one_line() -> None:
    with pytest.raises(ValueError, match="two") as raised:
        raise ValueError("two\nlines")
    assert describe_error(raised.value).startswith("ValueError: two lines (test_failures.py:")


def test_a_network_that_cannot_be_built_here_is_the_platforms_fault_by_its_name() -> None:
    judged = failure_of_network(NoArchitectureError("unknown architecture 'own'"))
    assert judged == Failure(Ending.FAILED, Reason.NO_ARCHITECTURE, "unknown architecture 'own'")
    assert judged.is_platform_fault


def test_memory_that_is_missing_is_no_proof_yet() -> None:
    assert failure_of_policy(MemoryError()).ending is Ending.FAILED
    assert failure_of_policy(MemoryError()).reason is Reason.CRASH


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


def test_an_error_that_cannot_be_printed_has_a_reason_too() -> None:
    assert "Hostile" in describe_error(HostileError())
    assert "Hostile" in describe_value(HostileError())


def test_a_huge_error_is_cut() -> None:
    assert len(describe_error(ValueError("x" * 10_000))) == MAX_DETAIL
    assert len(describe_value("x" * 10_000)) < 200
    assert len(describe_value(10**6000)) < 200
