"""Order information: open orders first, everybody at the start, matches in flight in mind."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from arena.conformance.standings import standing
from arena.pairing.base import Field, PairingError
from arena.pairing.catalog import order_information
from arena.pairing.catalog.order_information import PAIRING
from arena.ratings.tests.simulated import simulated


@pytest.mark.parametrize("n_agents", [2, 6, 9])
def test_before_any_result_all_play_alike_and_nobody_twice(n_agents: int) -> None:
    n_blocks = n_agents * (n_agents - 1) // 2
    lineups = PAIRING.choose(standing(Field(n_agents, 2)), n_blocks, seed=1)
    pairs = Counter(frozenset(lineup) for lineup in lineups)
    assert max(pairs.values()) <= 2
    played = Counter(agent for lineup in lineups for agent in lineup)
    assert max(played.values()) - min(played.values()) <= 2


def test_the_order_that_is_open_is_played_first() -> None:
    results = [(0, 1, 1)] * 30 + [(1, 2, 1), (2, 1, 1)] * 3 + [(2, 3, 1)] * 30
    here = standing(Field(4, 2), np.array(results))
    assert PAIRING.choose(here, 1, seed=0) == [(1, 2)]


def test_nobody_plays_only_because_all_others_are_taken() -> None:
    results = [(0, 1, 1)] * 30 + [(1, 2, 1), (2, 1, 1)] * 3 + [(2, 3, 1)] * 30
    here = standing(Field(4, 2), np.array(results))
    assert PAIRING.choose(here, 2, seed=0) == [(1, 2), (1, 2)]


def test_a_match_that_tells_about_many_orders_comes_first() -> None:
    """Two groups of four, whose members are known to be close, and two agents alone."""
    group = np.arange(10) // 4
    joint = np.where((group[:, None] == group) & (group < 2), 3.9, 0.0)
    np.fill_diagonal(joint, 4.0)
    here = replace(standing(Field(10, 2)), covariance=joint, sd=np.full(10, 2.0))
    first, second = PAIRING.choose(here, 1, seed=0)[0]
    assert {group[first], group[second]} == {0, 1}


def test_a_pair_alone_is_never_surer_than_its_own_departure_allows() -> None:
    """Two agents of whom nothing else is known: variance 1 / J becomes 1 / J + t^2."""
    information = np.array([[0.0, 8.0], [8.0, 0.0]])
    joint = np.array([[1.0, -1.0], [-1.0, 1.0]]) / (4 * 8.0)
    widened = order_information._widen_covariance(joint, information, 2.0)
    spread = widened[0, 0] + widened[1, 1] - 2 * widened[0, 1]
    assert spread == pytest.approx(1 / 8 + 2.0)
    assert 1 / order_information._discount_repeats(information, 2.0)[0, 1] == pytest.approx(spread)


def test_agents_that_are_close_do_not_meet_for_ever() -> None:
    """Three that beat each other in a circle, and one far below whom all have met."""
    circle = [(0, 1, 1), (1, 2, 1), (2, 0, 1)] * 400 + [(0, 1, -1), (1, 2, -1), (2, 0, -1)] * 100
    below = [(i, 3, score) for i in range(3) for score in (1, 1, 1, -1)] * 3
    here = standing(Field(4, 2), np.array(circle + below))
    assert 3 in PAIRING.choose(here, 1, seed=0)[0]


def test_an_edge_is_played_by_those_who_may_cross_it() -> None:
    """Six agents, three of which are known to be above the others; all neighbours are open."""
    results = [(i, j, 1) for i in range(3) for j in range(3, 6) for _ in range(20)]
    results += [(i, i + 1, score) for i in (0, 1, 3, 4) for score in (1, -1) for _ in range(4)]
    here = standing(Field(6, 2), np.array(results))
    best, third = PAIRING.configured({"edge": 1}), PAIRING.configured({"edge": 4})
    for seed in range(5):
        assert all(set(pair) <= {0, 1, 2} for pair in best.choose(here, 3, seed=seed))
        assert all(set(pair) <= {3, 4, 5} for pair in third.choose(here, 3, seed=seed))


def test_of_two_agents_the_matches_come_first_that_narrow_their_difference() -> None:
    """Ten agents of whom all are open; 3 and 7 are as good as sure to be far apart."""
    of_two = PAIRING.configured({"a": 3, "b": 7})
    lineups = of_two.choose(standing(Field(10, 2)), 4, seed=0)
    assert [set(lineup) for lineup in lineups] == [{3, 7}] * 4
    mu = np.full(10, 25.0)
    mu[[3, 7]] = 45.0, 5.0
    apart = replace(standing(Field(10, 2)), mu=mu)
    assert all(len({3, 7} & set(pair)) == 1 for pair in of_two.choose(apart, 4, seed=0))
    others = PAIRING.configured({"a": 3, "b": 12}).choose(standing(Field(10, 2)), 9, seed=0)
    assert len({agent for pair in others for agent in pair}) > 2


def test_who_is_equal_far_from_a_sure_edge_does_not_play_for_it() -> None:
    """Two far above four equals: no sample has one of these among the first two."""
    mu = np.array([27.0, 26.0, 20.0, 20.0, 20.0, 20.0])
    here = replace(standing(Field(6, 2)), mu=mu, covariance=np.eye(6), sd=np.ones(6))
    edge = PAIRING.configured({"edge": 2})
    for seed in range(5):
        assert {len({0, 1} & set(pair)) for pair in edge.choose(here, 8, seed=seed)[6:]} == {1}


def test_where_the_first_seat_decides_equals_tell_nothing_of_each_other() -> None:
    """Two agents that are close, and one by as much below them as sitting first is worth."""
    here = replace(standing(Field(3, 2)), mu=np.array([30.0, 29.0, 9.0]), seat_advantage=20.0)
    assert all(2 in PAIRING.choose(here, 1, seed=seed)[0] for seed in range(5))
    without = replace(here, seat_advantage=0.0)
    assert all(2 not in PAIRING.choose(without, 1, seed=seed)[0] for seed in range(5))


def test_a_pair_in_flight_makes_place_for_another() -> None:
    here = standing(Field(8, 2), simulated(8, 100, seed=2).results)
    best = PAIRING.choose(here, 1, seed=0)[0]
    waiting = replace(here, n_in_flight={(min(best), max(best)): 40})
    assert PAIRING.choose(waiting, 1, seed=0) != [best]


def test_many_in_flight_are_as_good_as_none() -> None:
    """Choosing 40 blocks at once spreads them as choosing 4 ten times with the rest in flight."""
    here = standing(Field(8, 2), simulated(8, 60, seed=4).results)
    at_once = Counter(PAIRING.choose(here, 40, seed=0))
    in_parts, flying = Counter[tuple[int, ...]](), Counter[tuple[int, int]]()
    for _ in range(10):
        part = PAIRING.choose(replace(here, n_in_flight=dict(flying)), 4, seed=0)
        in_parts.update(part)
        flying.update({(min(pair), max(pair)): 2 * n for pair, n in Counter(part).items()})
    assert sum((at_once & in_parts).values()) >= 36


def test_a_field_without_a_covariance_is_refused() -> None:
    with pytest.raises(PairingError, match=r"5 agents are too many .* posterior_sample"):
        PAIRING.choose(replace(standing(Field(5, 2)), covariance=None), 1, seed=0)


def test_lineups_of_four_are_of_agents_that_are_close() -> None:
    results = [(i, j, 1) for i in range(4) for j in range(4, 8) for _ in range(20)]
    here = standing(Field(8, 4), np.array(results))
    first, second = PAIRING.choose(here, 2, seed=0)
    assert {frozenset(first), frozenset(second)} == {frozenset(range(4)), frozenset(range(4, 8))}
