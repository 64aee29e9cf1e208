"""Episodes on equal seeds: results of two by score, their weight, and mean scores."""

from collections import Counter
from itertools import combinations
from random import Random

import numpy as np
import pytest

from arena.ratings.counts import PairCounts
from arena.ratings.score_means import MOST_BAGS, summarize_scores
from arena.ratings.scores import (
    FORFEITED,
    Episode,
    PairResult,
    ScoreBook,
    compare_scores,
    weigh_blocks,
)
from arena.ratings.settled import settle_ratings

EPISODES = [
    Episode(seed, agent, 10 * seed + agent, float((seed * agent) % 5 + agent))
    for seed in range(1, 9)
    for agent in range(4)
]
# Of agent 0 on seed 1 a second one, planned later, and a forfeit.
MORE = [Episode(1, 0, 900, 99.0), Episode(2, 3, 901, FORFEITED)]


def _count(results: list[PairResult]) -> PairCounts:
    total: Counter[tuple[int, int, int]] = Counter()
    for first, second, kind, n in results:
        total[first, second, kind] += n
    pairs = sorted({key[:2] for key in total})
    return PairCounts.from_rows(
        (i, j, total[i, j, 0], total[i, j, 1], total[i, j, 2]) for i, j in pairs
    )


def _settle(counts: PairCounts) -> bytes:
    return settle_ratings(counts, 4, weight=weigh_blocks(counts)).mu.tobytes()


def test_twenty_orders_with_doubles_and_what_is_taken_back_give_the_same_bits() -> None:
    outcomes = set()
    for turn in range(20):
        rng, book, results = Random(turn), ScoreBook(0.5), []
        coming = EPISODES + MORE + EPISODES[:7]
        rng.shuffle(coming)
        for n, episode in enumerate(coming):
            results += book.add(episode)
            if n == turn:
                for struck in EPISODES[5:9]:
                    results += book.remove(struck)
        for struck in EPISODES[5:9]:
            results += book.remove(struck)
        counts = _count(results)
        outcomes.add((counts.digest, _settle(counts)))
    assert len(outcomes) == 1


def test_the_first_in_planned_order_counts_and_the_next_when_it_is_taken_back() -> None:
    book = ScoreBook()
    assert book.add(Episode(1, 0, 5, 3.0)) == []
    assert book.add(Episode(1, 1, 6, 2.0)) == [PairResult(0, 1, 0, 1)]
    # Planned before it: the earlier episode replaces it.
    assert book.add(Episode(1, 0, 4, 1.0)) == [PairResult(0, 1, 0, -1), PairResult(0, 1, 2, 1)]
    assert book.add(Episode(1, 0, 9, 7.0)) == []
    assert book.add(Episode(1, 0, 9, 7.0)) == []
    assert book.remove(Episode(1, 0, 77, 7.0)) == []
    assert len(book.remove(Episode(1, 0, 4, 1.0))) == 2
    assert book.remove(Episode(1, 1, 6, 2.0)) == [PairResult(0, 1, 0, -1)]


def test_a_copy_of_blocks_leaves_the_book_as_it_is() -> None:
    book = ScoreBook()
    book.add(Episode(1, 0, 5, 3.0))
    copy = book.copy_blocks([1, 2])
    assert copy.add(Episode(1, 1, 6, 2.0)) == [PairResult(0, 1, 0, 1)]
    assert copy.add(Episode(2, 1, 7, 2.0)) == []
    assert book.add(Episode(1, 2, 8, 3.0)) == [PairResult(0, 2, 1, 1)]


@pytest.mark.parametrize(
    ("score", "other", "margin", "better"),
    [
        (2.0, 1.0, 0.0, 1),
        (1.0, 2.0, 0.5, -1),
        (1.0, 1.5, 0.5, 0),
        (FORFEITED, -1e9, 5.0, -1),
        (FORFEITED, FORFEITED, 0.0, 0),
    ],
)
def test_scores_within_the_margin_are_equal_and_a_forfeit_is_below_all(
    score: float, other: float, margin: float, better: int
) -> None:
    assert compare_scores(score, other, margin) == better
    assert compare_scores(other, score, margin) == -better


def _play_seeds(n_seeds: list[int]) -> PairCounts:
    """Return the counts of agents that played the first so many seeds each."""
    pairs = combinations(range(len(n_seeds)), 2)
    return PairCounts.from_rows((i, j, min(n_seeds[i], n_seeds[j]), 0, 0) for i, j in pairs)


@pytest.mark.parametrize("n_seeds", [[10, 10], [10] * 5, [10, 7, 7, 3, 1], [40, 1, 2]])
def test_a_block_of_k_agents_weighs_as_much_as_k_minus_1_results(n_seeds: list[int]) -> None:
    counts = _play_seeds(n_seeds)
    n_in_block = [sum(n > seed for n in n_seeds) for seed in range(max(n_seeds))]
    expected_weight = sum(k - 1 for k in n_in_block)
    assert weigh_blocks(counts) * counts.n_results == pytest.approx(expected_weight)


def test_without_results_a_block_weighs_one() -> None:
    assert weigh_blocks(PairCounts.from_rows([])) == 1.0


def test_agents_that_share_no_seed_weigh_no_more_than_their_own_blocks() -> None:
    counts = PairCounts.from_rows([(0, 1, 5, 0, 0), (2, 3, 0, 5, 0), (1, 0, 0, 0, 2)])
    assert weigh_blocks(counts) == pytest.approx(1.0)


def test_means_are_exact_and_their_intervals_are_of_the_same_draws_in_any_order() -> None:
    rng = np.random.default_rng(3)
    agents, seeds = np.repeat(np.arange(3), 200), np.tile(rng.permutation(200), 3)
    scores = rng.normal(10, 3, 600) + seeds / 10
    one = summarize_scores(agents, seeds, scores)
    mixed = rng.permutation(600)
    other = summarize_scores(agents[mixed], seeds[mixed], scores[mixed])
    for name in ("agents", "n_seeds", "mean", "low", "high"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    error = scores[:200].std(ddof=1) / 200**0.5
    assert one.high[0] - one.low[0] == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_intervals_cover_the_true_mean() -> None:
    rng, n_covered = np.random.default_rng(4), 0
    for turn in range(200):
        scores = rng.binomial(20, 0.3, 30).astype(np.float64)
        seeds = np.arange(30)
        means = summarize_scores(np.zeros(30, np.int64), seeds, scores, seed=turn)
        n_covered += means.low[0] <= 6 <= means.high[0]
    assert 0.91 <= n_covered / 200 <= 0.99


def test_many_seeds_are_resampled_in_bags_and_one_alone_has_no_interval() -> None:
    n = 3 * MOST_BAGS
    rng = np.random.default_rng(5)
    agents, seeds = np.append(np.zeros(n, np.int64), 7), np.append(np.arange(n), 0)
    means = summarize_scores(agents, seeds, rng.normal(0, 1, n + 1))
    assert means.high[0] - means.low[0] == pytest.approx(2 * 1.96 / n**0.5, rel=0.15)
    assert np.isnan(means.low[1])
    assert means.n_seeds.tolist() == [n, 1]


def test_no_scores_have_no_means() -> None:
    none = np.array([], np.int64)
    assert len(summarize_scores(none, none, np.array([])).mean) == 0
