"""Blocks of seeds in other orders."""

import numpy as np

from arena.verdicts.seed_blocks import SeedBlocks, shuffle_seeds


def list_blocks(*seeds: int) -> SeedBlocks:
    number = np.arange(len(seeds))
    return SeedBlocks(number, number + 1, np.stack([number, number], axis=1), np.array(seeds))


def test_those_of_a_seed_stay_together_and_in_their_order() -> None:
    blocks = list_blocks(7, 7, 3, 3, 3, 9, 7)
    orders = shuffle_seeds(blocks, 20)
    assert len({tuple(order.first) for order in orders}) > 3
    for order in orders:
        assert sorted(order.first) == sorted(blocks.first)
        changes = np.count_nonzero(np.diff(order.seed))
        assert changes == 2
        assert (np.diff(order.first[order.seed == 7]) > 0).all()
        assert (order.scores[:, 0] == order.first).all()


def test_where_no_two_blocks_or_all_share_a_seed_there_is_no_other_order() -> None:
    assert shuffle_seeds(list_blocks(1, 2, 3), 4) == []
    assert shuffle_seeds(list_blocks(5, 5, 5), 4) == []
    assert shuffle_seeds(list_blocks(), 4) == []


def test_the_same_blocks_have_the_same_orders() -> None:
    blocks = list_blocks(1, 1, 2, 2, 3)
    one, other = shuffle_seeds(blocks, 3), shuffle_seeds(blocks, 3)
    assert all((a.first == b.first).all() for a, b in zip(one, other, strict=True))
