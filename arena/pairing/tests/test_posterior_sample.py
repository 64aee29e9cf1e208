"""Posterior sample: neighbours in what may be true, the top alone, and fields of any size."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from arena.conformance.standings import standing
from arena.pairing.base import Field
from arena.pairing.catalog.posterior_sample import PAIRING
from arena.ratings.tests.simulated import simulated

KNOWN = standing(Field(20, 2), simulated(20, 4000, seed=5).results)
ORDER = np.argsort(-KNOWN.mu).tolist()


def test_neighbours_meet() -> None:
    place = {agent: at for at, agent in enumerate(ORDER)}
    lineups = PAIRING.choose(KNOWN, 100, seed=1)
    assert np.mean([abs(place[i] - place[j]) for i, j in lineups]) < 3


def test_only_the_top_of_each_sample_is_paired() -> None:
    lineups = PAIRING.configured({"top": 4}).choose(KNOWN, 200, seed=1)
    played = Counter(agent for lineup in lineups for agent in lineup)
    assert {agent for agent, _ in played.most_common(2)} <= set(ORDER[:5])
    assert played[ORDER[-1]] == 0


def test_only_the_ranks_at_the_edge_of_each_sample_are_paired() -> None:
    lineups = PAIRING.configured({"edge": 3}).choose(KNOWN, 200, seed=1)
    played = Counter(agent for lineup in lineups for agent in lineup)
    assert {agent for agent, _ in played.most_common(2)} <= set(ORDER[1:6])
    assert played[ORDER[-1]] == 0


@pytest.mark.parametrize(
    ("edge", "n_seats", "first_rank"), [(1, 2, 0), (1, 3, 0), (4, 2, 3), (9, 3, 2)]
)
def test_an_edge_near_an_end_of_the_field_takes_the_ranks_there(
    edge: int, n_seats: int, first_rank: int
) -> None:
    results = [(i, j, 1) for i in range(5) for j in range(i + 1, 5) for _ in range(4_000)]
    here = standing(Field(5, n_seats), np.array(results))
    lineups = PAIRING.configured({"edge": edge}).choose(here, 3, seed=1)
    assert lineups == [tuple(range(first_rank, first_rank + n_seats))] * 3


def test_one_of_an_odd_field_sits_out_now_and_then() -> None:
    here = standing(Field(5, 2), simulated(5, 5000, seed=1).results)
    lineups = PAIRING.choose(here, 60, seed=3)
    assert {agent for lineup in lineups for agent in lineup} == set(range(5))


def test_a_large_field_needs_no_covariance() -> None:
    here = replace(KNOWN, covariance=None)
    place = {agent: at for at, agent in enumerate(ORDER)}
    lineups = PAIRING.choose(here, 100, seed=1)
    assert np.mean([abs(place[i] - place[j]) for i, j in lineups]) < 3
    top = PAIRING.configured({"top": 4}).choose(here, 100, seed=1)
    assert np.mean([max(place[i], place[j]) for i, j in top]) < 5
    fresh = replace(standing(Field(30, 3)), covariance=None)
    assert len(PAIRING.choose(fresh, 25, seed=0)) == 25


def test_pairs_in_flight_are_mostly_left_alone() -> None:
    flying = dict.fromkeys([(i, j) for i in range(20) for j in range(i + 1, 20) if i % 2], 5000)
    lineups = PAIRING.choose(replace(KNOWN, n_in_flight=flying), 100, seed=1)
    again = sum(tuple(sorted(lineup)) in flying for lineup in lineups)
    free = sum(tuple(sorted(lineup)) in flying for lineup in PAIRING.choose(KNOWN, 100, seed=1))
    assert again < free / 2


@pytest.mark.parametrize("n_seats", [2, 3])
def test_it_does_not_stall_when_all_are_in_flight(n_seats: int) -> None:
    flying = {(i, j): 10**9 for i in range(4) for j in range(i + 1, 4)}
    here = standing(Field(4, n_seats), n_in_flight=flying)
    assert len(PAIRING.choose(here, 7, seed=0)) == 7
