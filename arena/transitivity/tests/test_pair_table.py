"""The table of pairs: seats do not matter."""

from arena.ratings.pair_table import tabulate_pairs
from arena.ratings.settled import count_results


def test_both_orders_of_a_pair_are_one_row() -> None:
    met = tabulate_pairs(
        count_results([(2, 0, 1), (0, 2, 1), (0, 2, 0), (2, 0, -1), (1, 2, -1)]), 3
    )
    assert (met.low.tolist(), met.high.tolist()) == ([0, 1], [2, 2])
    assert met.low_wins.tolist() == [2, 0]
    assert met.draws.tolist() == [1, 0]
    assert met.high_wins.tolist() == [1, 1]
    assert met.share.tolist() == [2.5 / 4, 0]
