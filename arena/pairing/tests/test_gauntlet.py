"""Gauntlet: newcomers meet the field, nobody else does."""

from collections import Counter

import numpy as np
import pytest

from arena.conformance.standings import standing
from arena.errors import ParameterError
from arena.pairing.base import Field, PairingError
from arena.pairing.catalog.gauntlet import PAIRING
from arena.ratings.tests.simulated import simulated

KNOWN = standing(Field(10, 2), simulated(8, 400, seed=1).results)


def test_those_with_few_results_are_the_newcomers() -> None:
    lineups = PAIRING.choose(KNOWN, 40, seed=1)
    assert {newcomer for newcomer, _ in lineups} == {8, 9}
    assert {other for _, other in lineups} <= set(range(8))


def test_without_newcomers_the_one_with_fewest_results_plays() -> None:
    results = [(i, j, 1) for i in range(4) for j in range(4) if i != j] * 2 + [(1, 2, 0)]
    lineups = PAIRING.choose(standing(Field(4, 2), np.array(results)), 9, seed=1)
    assert {newcomer for newcomer, _ in lineups} in ({0}, {3})


def test_given_newcomers_play_alike_against_those_who_say_most() -> None:
    pairing = PAIRING.configured({"newcomers": "3, 5"})
    lineups = pairing.choose(KNOWN, 40, seed=1)
    assert Counter(newcomer for newcomer, _ in lineups) == {3: 20, 5: 20}
    assert {other for _, other in lineups}.isdisjoint({3, 5})


def test_matches_in_flight_are_not_asked_for_again() -> None:
    pairing = PAIRING.configured({"newcomers": "9"})
    ((_, favourite),) = pairing.choose(KNOWN, 1, seed=1)
    here = standing(
        Field(10, 2), simulated(8, 400, seed=1).results, n_in_flight={(favourite, 9): 99, (1, 2): 5}
    )
    assert favourite not in {other for _, other in pairing.choose(here, 5, seed=1)}


def test_three_seats_have_one_newcomer_and_two_others() -> None:
    pairing = PAIRING.configured({"newcomers": "4"})
    lineups = pairing.choose(standing(Field(6, 3)), 9, seed=1)
    assert all(lineup[0] == 4 and 4 not in lineup[1:] for lineup in lineups)


@pytest.mark.parametrize("text", ["a", "1,-2", "1.5", "1;2"])
def test_places_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"newcomers.*places from 0 with commas"):
        PAIRING.configured({"newcomers": text})


@pytest.mark.parametrize(
    ("newcomers", "words"),
    [("12", r"newcomers \[12\] are not in 0..9"), ("0,1,2,3,4,5,6,7,8,9", "leave no 1 to meet")],
)
def test_newcomers_that_do_not_fit_the_field_are_refused(newcomers: str, words: str) -> None:
    with pytest.raises(PairingError, match=words):
        PAIRING.configured({"newcomers": newcomers}).choose(KNOWN, 1, seed=1)


def test_too_many_with_few_results_are_refused() -> None:
    results = np.array([(0, 1, 1)] * 40 + [(2, 0, 1), (3, 1, 1)] * 3)
    with pytest.raises(PairingError, match="2 newcomers leave nobody to meet"):
        PAIRING.choose(standing(Field(4, 4), results), 1, seed=1)
