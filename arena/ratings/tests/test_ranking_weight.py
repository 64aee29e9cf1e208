"""What a pair of a ranking weighs is the information it claims by the variance of its score."""

from itertools import combinations

import numpy as np
import pytest

from arena.ratings import ranking_weight
from arena.ratings.counts import Floats, PairCounts
from arena.ratings.likelihood import win_terms
from arena.ratings.ranking_weight import count_meetings, weigh_at_strengths
from arena.ratings.rankings import pair_weight


def all_met(n: int) -> Floats:
    return np.ones((n, n)) - np.eye(n)


def simulate_weight(z: Floats, k: int, *, has_order: bool) -> float:
    """Return the same of 40,000 tables that are played."""
    rng = np.random.default_rng(1)
    tables = np.argsort(rng.random((40_000, len(z))), axis=1)[:, :k]
    performed = z[tables] + rng.standard_normal(tables.shape) / np.sqrt(2)
    scores, information = np.zeros((len(tables), k)), 0.0
    for i, j in combinations(range(k), 2):
        is_won = performed[:, i] > performed[:, j]
        best = performed.argmax(axis=1)
        is_told = has_order | (best == i) | (best == j)
        lead = np.where(is_won, 1, -1) * (z[tables[:, i]] - z[tables[:, j]])
        terms = win_terms(lead, 0.0)
        slope = terms.slope * np.where(is_won, 1, -1) * is_told
        scores[:, i] += slope
        scores[:, j] -= slope
        information += 2 * float((terms.curvature * is_told).sum())
    # About the mean of each table, as the strengths there are known.
    by_agent = np.zeros((len(tables), len(z)))
    np.put_along_axis(by_agent, tables, scores, axis=1)
    return information / float(len(tables) * by_agent.var(axis=0).sum())


@pytest.mark.parametrize("k", [3, 4, 6])
def test_among_equals_it_is_that_of_their_number(k: int) -> None:
    for decided in (1.0, 2 / k, 0.9):
        weight = weigh_at_strengths(np.zeros(8), all_met(8), k, decided)
        assert weight == pytest.approx(pair_weight(k, decided), rel=1e-3)


@pytest.mark.parametrize("has_order", [True, False])
def test_among_others_it_is_that_of_tables_that_are_played(has_order: bool) -> None:
    z = np.random.default_rng(3).normal(0, 1.5, 10)
    weight = weigh_at_strengths(z, all_met(10), 4, 1.0 if has_order else 0.5)
    assert weight == pytest.approx(simulate_weight(z, 4, has_order=has_order), rel=0.06)
    assert weight > 1.15 * pair_weight(4, 1.0 if has_order else 0.5)


def test_tables_are_of_those_who_met() -> None:
    # Two groups that never met: within each all are equal, however far apart the groups are.
    met = all_met(8) * (np.arange(8)[:, None] // 4 == np.arange(8) // 4)
    z = np.repeat([0.0, 5.0], 4)
    assert weigh_at_strengths(z, met, 4, 1.0) == pytest.approx(pair_weight(4))
    assert weigh_at_strengths(z, all_met(8), 4, 1.0) > 1.2 * pair_weight(4)


def test_it_is_the_same_however_agents_are_numbered() -> None:
    rng = np.random.default_rng(5)
    z, half = rng.normal(0, 1.5, 12), np.triu(rng.random((12, 12)), 1)
    met: Floats = half + half.T
    turned = rng.permutation(12)
    again = weigh_at_strengths(z[turned], met[np.ix_(turned, turned)], 4, 1.0)
    assert again == pytest.approx(weigh_at_strengths(z, met, 4, 1.0), rel=1e-9)


def test_of_many_sides_few_tables_are_looked_at() -> None:
    z = np.random.default_rng(6).normal(0, 1.5, 70)
    tables = ranking_weight._draw_tables(all_met(70), 32)
    assert tables.shape == (50, 32)
    assert all(len(set(table)) == 32 for table in tables.tolist())
    assert pair_weight(32) < weigh_at_strengths(z, all_met(70), 32, 1.0) < 1
    assert weigh_at_strengths(z, all_met(70), 65, 1.0) == pair_weight(65)


def test_without_whole_tables_it_is_that_of_equals(monkeypatch: pytest.MonkeyPatch) -> None:
    z = np.array([0.0, 1.0, 4.0])
    assert weigh_at_strengths(z, all_met(3), 4, 1.0) == pair_weight(4)
    chain = np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)
    assert weigh_at_strengths(z, chain, 3, 1.0) > pair_weight(3)
    monkeypatch.setattr(ranking_weight, "_MOST_AGENTS", 2)
    assert weigh_at_strengths(z, all_met(3), 3, 1.0) == pair_weight(3)


def test_meetings_are_counted_in_either_seat_and_tied_ones_too() -> None:
    counts = PairCounts.from_rows([(1, 3, 2, 1, 0), (3, 1, 0, 0, 4), (1, 9, 5, 0, 0)])
    assert count_meetings(counts, np.array([1, 3])).tolist() == [[0, 7], [7, 0]]
