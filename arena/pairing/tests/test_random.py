"""Random lineups: every set of agents equally likely, nobody against itself."""

from collections import Counter
from itertools import permutations

import pytest

from arena.pairing.base import Field
from arena.pairing.catalog.random import PAIRING


@pytest.mark.parametrize("n_seats", [2, 3])
def test_every_lineup_is_equally_likely(n_seats: int) -> None:
    lineups = PAIRING.pair(Field(5, n_seats), 60_000, seed=4)
    n_kinds = 20 if n_seats == 2 else 60
    counts = Counter(lineups)
    assert set(counts) == set(permutations(range(5), n_seats))
    expected = 60_000 / n_kinds
    chi_square = sum((n - expected) ** 2 / expected for n in counts.values())
    assert chi_square < n_kinds + 5 * (2 * n_kinds) ** 0.5


@pytest.mark.parametrize("n_blocks", [0, 2, 6, 7, 60])
def test_of_one_seat_all_agents_take_turns(n_blocks: int) -> None:
    agents = [agent for (agent,) in PAIRING.pair(Field(3, 1), n_blocks, seed=4)]
    turns = [agents[at : at + 3] for at in range(0, n_blocks, 3)]
    assert all(sorted(turn) == [0, 1, 2] for turn in turns[: n_blocks // 3])
    assert all(len(set(turn)) == len(turn) for turn in turns)


def test_of_one_seat_each_turn_has_its_own_order_and_more_begin_alike() -> None:
    lineups = PAIRING.pair(Field(3, 1), 60, seed=4)
    assert len({tuple(lineups[at : at + 3]) for at in range(0, 60, 3)}) > 1
    assert PAIRING.pair(Field(3, 1), 7, seed=4) == lineups[:7]


def test_other_seeds_give_other_lineups() -> None:
    drawn = {tuple(PAIRING.pair(Field(8, 2), 10, seed=seed)) for seed in range(20)}
    assert len(drawn) == 20
