"""Every set of agents once per cycle, in an order that treats all alike."""

from collections import Counter
from itertools import combinations, islice
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.pairing.base import Field, rotate_seats
from arena.pairing.catalog.double_round_robin import PAIRING


@given(st.integers(2, 9), st.data())
def test_every_set_of_agents_meets_once_per_cycle(n_agents: int, data: st.DataObject) -> None:
    n_seats = data.draw(st.integers(1, n_agents))
    size = comb(n_agents, n_seats)
    lineups = PAIRING.pair(Field(n_agents, n_seats), 3 * size, seed=data.draw(st.integers(0, 99)))
    for cycle in range(3):
        met = [tuple(sorted(lineup)) for lineup in lineups[cycle * size : (cycle + 1) * size]]
        assert sorted(met) == list(combinations(range(n_agents), n_seats))


@given(st.integers(2, 40), st.integers(0, 99))
def test_in_each_round_every_agent_plays_once_or_has_the_bye(n_agents: int, seed: int) -> None:
    n_pairs = n_agents // 2
    lineups = iter(PAIRING.pair(Field(n_agents, 2), comb(n_agents, 2), seed=seed))
    byes = Counter[int]()
    while group := list(islice(lineups, n_pairs)):
        playing = {agent for lineup in group for agent in lineup}
        assert len(playing) == 2 * n_pairs
        byes.update(set(range(n_agents)) - playing)
    assert byes == (dict.fromkeys(range(n_agents), 1) if n_agents % 2 else {})


@given(st.integers(2, 12), st.data())
def test_at_any_time_all_have_played_nearly_alike(n_agents: int, data: st.DataObject) -> None:
    n_seats = data.draw(st.integers(1, min(n_agents, 5)))
    played = dict.fromkeys(range(n_agents), 0)
    for lineup in PAIRING.pair(Field(n_agents, n_seats), 200, seed=1):
        for agent in lineup:
            played[agent] += 1
        assert max(played.values()) - min(played.values()) <= n_seats


def test_both_ways_round_three_seats_are_played_in_turn() -> None:
    first, second = PAIRING.pair(Field(3, 3), 2, seed=5)
    assert set(rotate_seats(second)) == set(rotate_seats(first[::-1])) != set(rotate_seats(first))


def test_other_seeds_give_other_orders() -> None:
    orders = {tuple(PAIRING.pair(Field(8, 2), 10, seed=seed)) for seed in range(20)}
    assert len(orders) == 20


@pytest.mark.parametrize("n_seats", [2, 4, 8])
def test_a_huge_field_is_never_listed(n_seats: int) -> None:
    lineups = PAIRING.pair(Field(100_000, n_seats), 1000, seed=0)
    assert len({frozenset(lineup) for lineup in lineups}) == 1000
