"""Cycles: found where they are sure, after correcting for all that were looked for."""

import numpy as np
import pytest

from arena.ratings.pair_table import tabulate_pairs
from arena.ratings.settled import count_results
from arena.ratings.tests.simulated import simulated
from arena.transitivity.cycles import find_cycles
from arena.transitivity.tests.fields import played


@pytest.mark.parametrize(("kinds", "agents"), [("rps", (0, 2, 1)), ("rsp", (0, 1, 2))])
def test_the_cycle_is_named_from_its_lowest_index_in_the_order_of_who_beats_whom(
    kinds: str, agents: tuple[int, int, int]
) -> None:
    (cycle,) = find_cycles(tabulate_pairs(played(kinds, 60), 3))
    assert cycle.agents == agents
    assert min(cycle.shares) > 0.7
    assert cycle.p_value < 0.001


def test_every_copy_makes_a_cycle() -> None:
    met = tabulate_pairs(played("rrrps", 100), 5)
    assert {cycle.agents for cycle in find_cycles(met)} == {(0, 4, 3), (1, 4, 3), (2, 4, 3)}
    assert len(find_cycles(met, limit=2)) == 2
    values = [cycle.p_value for cycle in find_cycles(met)]
    assert values == sorted(values)


def test_chance_alone_makes_none() -> None:
    for seed in range(20):
        met = tabulate_pairs(count_results(simulated(10, 400, spread=0.5, seed=seed).results), 10)
        assert find_cycles(met, level=0.01) == []


def test_few_matches_are_no_proof() -> None:
    assert find_cycles(tabulate_pairs(count_results([(0, 1, 1), (1, 2, 1), (2, 0, 1)]), 3)) == []


def test_a_chain_has_no_triples() -> None:
    assert find_cycles(tabulate_pairs(count_results([(0, 1, 1), (1, 2, 1)] * 99), 3)) == []


def test_more_triples_ask_for_more_proof() -> None:
    alone = find_cycles(tabulate_pairs(played("rps", 60), 3))[0].p_value
    among = [
        c
        for c in find_cycles(tabulate_pairs(played("rps" + "d" * 9, 60), 12))
        if c.agents == (0, 2, 1)
    ]
    assert np.all([cycle.p_value > alone for cycle in among])
