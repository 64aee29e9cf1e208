"""Pair counts: the same set of results gives the same bytes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.base import RatingError, ScoreError, SelfPlayError
from arena.ratings.counts import PairCounts, count_results
from arena.ratings.tests.simulated import simulated

triples = st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from([-1, 0, 1])).filter(
    lambda triple: triple[0] != triple[1]
)


def rows(counts: PairCounts) -> list[list[int]]:
    columns = (counts.first, counts.second, counts.n_first_wins, counts.n_draws)
    return [[int(n) for n in row] for row in zip(*columns, counts.n_second_wins, strict=True)]


def test_it_counts_by_pair_in_the_order_of_the_seats() -> None:
    results = [(1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 2, -1), (1, 0, 1)]
    assert rows(count_results(results)) == [[0, 1, 1, 0, 0], [0, 2, 0, 0, 1], [1, 0, 2, 1, 0]]
    assert count_results(results).n_results == 5


@given(st.lists(triples), st.randoms(use_true_random=False))
def test_the_order_of_the_results_does_not_matter(
    results: list[tuple[int, int, int]], rng: Any
) -> None:
    shuffled = rng.sample(results, len(results))
    assert rows(count_results(shuffled)) == rows(count_results(results))
    assert count_results(shuffled).digest == count_results(results).digest


@given(st.lists(triples, max_size=30), st.lists(triples, max_size=30))
def test_counts_add_up_whatever_their_grouping(
    some: list[tuple[int, int, int]], others: list[tuple[int, int, int]]
) -> None:
    parts = rows(count_results(others)) + rows(count_results(some)) + [[3, 4, 0, 0, 0]]
    whole = PairCounts.from_rows([(a, b, c, d, e) for a, b, c, d, e in parts])
    assert rows(whole) == rows(count_results(some + others))
    assert whole.digest == count_results(some + others).digest


def test_an_array_counts_as_its_rows_do() -> None:
    field = simulated(30, 2000)
    assert count_results(field.results).digest == count_results(field.triples()).digest
    assert (
        count_results(field.results.astype(np.int16)).digest
        == count_results(field.triples()).digest
    )


def test_another_set_of_results_has_another_digest() -> None:
    assert count_results([(0, 1, 1)]).digest != count_results([(1, 0, -1)]).digest
    assert count_results([]).digest != count_results([(0, 1, 0)]).digest


def test_nothing_is_counted_in_no_results() -> None:
    for empty in (
        count_results([]),
        PairCounts.from_rows([]),
        count_results(np.empty((0, 3), np.int64)),
    ):
        assert (rows(empty), empty.n_results) == ([], 0)


def test_the_columns_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        count_results([(0, 1, 1)]).first[0] = 7


@pytest.mark.parametrize(
    ("results", "error", "words"),
    [
        ([(3, 3, 1)], SelfPlayError, "agent 3"),
        ([(0, 1, 2)], ScoreError, "got 2"),
        ([(0, 1, -2)], ScoreError, "got -2"),
        ([(-1, 0, 1)], RatingError, "first must be .* got -1"),
        ([(0, 2**40, 1)], RatingError, "second must be"),
        ([(0, 1, 0.5)], RatingError, "must have 3 ints"),
        ([(0, 1)], RatingError, "must have 3 ints"),
        ([(0, 1), (0, 1, 1)], RatingError, "differ in length"),
        ([True, False], RatingError, "must have 3 ints"),
    ],
)
def test_it_refuses(results: Any, error: type[RatingError], words: str) -> None:
    with pytest.raises(error, match=words):
        count_results(results)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("n_draws", [1.0], "n_draws must be a column of ints"),
        ("n_draws", [True], "n_draws must be a column of ints"),
        ("n_second_wins", [-1], "n_second_wins must be .* got -1"),
        ("second", [[1]], "second must be a column of ints"),
        ("second", [1, 2], "of one length"),
        ("second", [0], "agent 0 is named twice"),
    ],
)
def test_a_broken_column_is_refused(column: str, values: Any, words: str) -> None:
    columns: dict[str, Any] = {"first": [0], "second": [1], "n_first_wins": [1], "n_draws": [0]}
    columns |= {"n_second_wins": [0], column: values}
    with pytest.raises(RatingError, match=words):
        PairCounts(**{name: np.array(listed) for name, listed in columns.items()})
