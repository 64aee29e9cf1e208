"""Budgets and prices."""

import pytest

from arena.verdicts.base import VerdictError
from arena.verdicts.budget import Amounts, count_matches_left, find_exhausted, price_seconds


def test_money_is_hours_by_price() -> None:
    assert price_seconds(
        {"cpu": 7_200.0, "gpu": 1_800.0}, {"cpu": 0.04, "gpu": 2.0}
    ) == pytest.approx(1.08)


def test_a_class_without_a_price_is_named() -> None:
    with pytest.raises(VerdictError, match="a price of an hour for gpu"):
        price_seconds({"gpu": 1.0, "cpu": 1.0}, {"cpu": 0.04})


def test_a_limit_that_is_reached_is_named() -> None:
    budget = Amounts(matches=100, money=1.0)
    assert find_exhausted(budget, Amounts(99, 1e9, 0.5)) is None
    assert find_exhausted(budget, Amounts(100, 0.0, 0.5)) == "matches"
    assert find_exhausted(budget, Amounts(99, 0.0, 1.0)) == "money"
    assert find_exhausted(Amounts(), Amounts(1e9, 1e9, 1e9)) is None
    assert find_exhausted(Amounts(core_seconds=0), Amounts()) == "core_seconds"


def test_the_scarcest_amount_decides_the_matches_left() -> None:
    budget, spent = Amounts(100, 1_000.0, 2.0), Amounts(40, 400.0, 1.5)
    assert count_matches_left(budget, spent, Amounts(core_seconds=10.0, money=0.1)) == 5
    assert count_matches_left(budget, spent, Amounts(core_seconds=20.0)) == 30
    assert count_matches_left(budget, Amounts(200), Amounts()) == 0
    assert count_matches_left(Amounts(), spent, Amounts()) is None
    assert count_matches_left(Amounts(money=1.0), Amounts(), Amounts(money=0.0)) is None


@pytest.mark.parametrize("amount", [-1.0, float("inf"), float("nan")])
def test_what_is_no_amount_is_refused(amount: float) -> None:
    with pytest.raises(VerdictError, match="core_seconds must be finite and 0 or more"):
        Amounts(core_seconds=amount)
