"""What rankings of more than two sides say: no more and no less than the ratings make of them."""

from itertools import combinations, permutations

import numpy as np
import pytest

from arena.ratings.base import BETA, MU, SIGMA, Z95, DrawWithoutDrawProbabilityError
from arena.ratings.counts import Ints
from arena.ratings.gap_variance import gap_variance
from arena.ratings.rankings import pair_weight, weigh_rankings
from arena.ratings.samples import Sampler
from arena.ratings.settled import (
    FittedTerms,
    PairCounts,
    SettledRatings,
    TeamCounts,
    count_results,
    settle_ratings,
)

SHOWN = FittedTerms(draws=True, is_shown=True)


def compare_all(lineups: Ints, ranks: Ints) -> PairCounts:
    seats = range(lineups.shape[1])
    return count_results(
        np.concatenate(
            [
                np.stack([lineups[:, i], lineups[:, j], np.sign(ranks[:, j] - ranks[:, i])], 1)
                for i, j in combinations(seats, 2)
            ]
        )
    )


def weigh_exactly(rankings: list[tuple[int, ...]]) -> float:
    """Return the information claimed by the variance of the score, if all are as likely."""
    ranks = np.array(rankings)
    below = (ranks[:, :, None] < ranks[:, None, :]).sum(axis=2)
    above = (ranks[:, :, None] > ranks[:, None, :]).sum(axis=2)
    return float(2 * below.sum() / ((below - above) ** 2).sum())


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_a_pair_weighs_what_its_part_of_the_ranking_tells(k: int) -> None:
    complete = list(permutations(range(k)))
    one_winner = [tuple(int(seat != first) for seat in range(k)) for first in range(k)]
    one_loser = [tuple(int(seat == last) for seat in range(k)) for last in range(k)]
    for rankings in (complete, one_winner, one_loser):
        pairs = [(a, b) for ranks in rankings for a, b in combinations(ranks, 2)]
        decided = sum(a != b for a, b in pairs) / len(pairs)
        assert pair_weight(k, decided) == pytest.approx(weigh_exactly(rankings))
    assert pair_weight(2) == 1.0


@pytest.mark.parametrize(
    "ranks",
    [(0, 0, 1, 1), (0, 1, 1, 2), (0, 0, 1, 2), (0, 0, 0, 1, 1, 1), (0, 0, 1, 1, 2, 2), (0, 1) * 5],
)
def test_between_one_winner_and_a_whole_order_it_is_right_to_a_sixth(
    ranks: tuple[int, ...],
) -> None:
    pairs = list(combinations(ranks, 2))
    decided = sum(a != b for a, b in pairs) / len(pairs)
    assert pair_weight(len(ranks), decided) == pytest.approx(weigh_exactly([ranks]), rel=0.17)


def play_field(
    n: int, n_each: int, k: int, *, has_order: bool, seed: int
) -> tuple[np.ndarray, PairCounts]:
    rng = np.random.default_rng(seed)
    skill = rng.normal(MU, 2 * BETA, n)
    lineups = np.argsort(rng.random((n * n_each // k, n)), axis=1)[:, :k]
    performed = skill[lineups] + BETA * rng.standard_normal(lineups.shape)
    ranks = np.argsort(np.argsort(-performed, axis=1), axis=1)
    return skill, compare_all(lineups, ranks if has_order else np.minimum(ranks, 1))


def count_within(settled: SettledRatings, skill: np.ndarray) -> float:
    error = settled.mu - settled.mu.mean() - (skill - skill.mean())
    return float((np.abs(error) <= 1.96 * settled.sd).mean())


@pytest.mark.no_cover
@pytest.mark.parametrize("has_order", [True, False])
def test_intervals_hold_where_the_order_of_the_losers_has_order_and_where_it_is_not(
    has_order: bool,
) -> None:
    fields = [play_field(20, 32, 4, has_order=has_order, seed=seed) for seed in range(12)]
    fits = [settle_ratings(counts, 20, n_sides=4, terms=SHOWN) for _, counts in fields]
    skills = [skill for skill, _ in fields]
    within = [count_within(fit, skill) for fit, skill in zip(fits, skills, strict=True)]
    assert np.mean(within) >= 0.92
    # What is rated is the scale of the skills themselves.
    slopes = [np.polyfit(fit.mu, skill, 1)[0] for fit, skill in zip(fits, skills, strict=True)]
    assert np.mean(slopes) == pytest.approx(1.0, abs=0.15)
    # And who is surer to be better is so more often, as often as is claimed.
    above = np.concatenate([fit.superiorities()[np.triu_indices(20, 1)] for fit in fits])
    is_above = np.concatenate([(s[:, None] > s)[np.triu_indices(20, 1)] for s in skills])
    right = np.where(above > 0.5, is_above, ~is_above).mean()
    assert np.maximum(above, 1 - above).mean() == pytest.approx(right, abs=0.03)


def test_a_shared_rank_says_that_two_are_close_in_games_of_two_sides_only() -> None:
    counts = PairCounts.from_rows([(0, 1, 3, 20, 1), (1, 2, 2, 5, 2)])
    decided = PairCounts.from_rows([(0, 1, 3, 0, 1), (1, 2, 2, 0, 2)])
    of_three = settle_ratings(counts, 3, n_sides=3)
    assert (
        of_three.mu.tolist()
        == settle_ratings(decided, 3, draw_probability=0, weight=2 / 3).mu.tolist()
    )
    # The digest is of all results, so that it still says which these are.
    assert of_three.results_hash == counts.digest
    assert of_three.n_results == counts.n_results
    assert weigh_rankings(counts, 2, 0.1).counts is counts


def test_ties_of_three_need_no_draw_probability() -> None:
    counts = PairCounts.from_rows([(0, 1, 3, 2, 1)])
    settle_ratings(counts, 2, n_sides=3, draw_probability=0)
    with pytest.raises(DrawWithoutDrawProbabilityError):
        settle_ratings(counts, 2, draw_probability=0)


def test_ties_of_three_say_nothing_of_anybody() -> None:
    ties = PairCounts.from_rows([(0, 1, 0, 9, 0), (1, 2, 0, 9, 0)])
    settled = settle_ratings(ties, 3, n_sides=3, terms=SHOWN)
    assert (settled.mu.tolist(), settled.sd.tolist()) == ([MU] * 3, [SIGMA] * 3)
    assert settled.superiority(0, 1) == 0.5
    rows = [(0, 1, 30, 0, 20), (1, 2, 30, 0, 20), (0, 2, 35, 0, 15)]
    before = settle_ratings(PairCounts.from_rows(rows), 4, n_sides=3, terms=SHOWN)
    with_newcomer = PairCounts.from_rows([*rows, (2, 3, 0, 1, 0)])
    again = settle_ratings(with_newcomer, 4, n_sides=3, terms=SHOWN)
    assert again.sd == pytest.approx(before.sd, rel=0.01)
    assert again.high[3] - again.low[3] > 2 * Z95 * before.spread


def test_teams_of_more_than_two_sides_count_alike() -> None:
    rows = [((0, 1), (2, 3), (4, 7, 1)), ((0, 1), (4, 5), (2, 3, 2)), ((2, 3), (4, 5), (1, 1, 3))]
    decided = [(one, two, (won, 0, lost)) for one, two, (won, _, lost) in rows]
    counts, plain = TeamCounts.from_rows(rows, 2), TeamCounts.from_rows(decided, 2)
    share = plain.n_results / counts.n_results
    expected = settle_ratings(plain, 6, draw_probability=0, weight=pair_weight(3, share))
    assert settle_ratings(counts, 6, n_sides=3).mu == pytest.approx(expected.mu, abs=1e-9)


def test_samples_and_gaps_of_large_fields_know_it() -> None:
    _, counts = play_field(30, 60, 3, has_order=False, seed=1)
    settled = settle_ratings(counts, 30, n_sides=3)
    sampler = Sampler.of_field(
        counts, settled.mu, None, settled.spread, draw_probability=0.1, n_sides=3
    )
    drawn = sampler.draw(np.random.default_rng(1), 4_000)
    about_mean = drawn - drawn.mean(axis=1, keepdims=True)
    assert about_mean.std(axis=0) == pytest.approx(settled.sd, rel=0.15)
    own = np.minimum(counts.first, counts.second) < 2
    columns = (counts.first, counts.second, counts.n_first_wins, counts.n_draws)
    near = PairCounts(*(column[own] for column in (*columns, counts.n_second_wins)))
    variance = gap_variance(
        near, settled.mu, settled.sd, spread=settled.spread, draw_probability=0.1, n_sides=3
    )
    joint = settled.covariance
    assert joint is not None
    assert variance == pytest.approx(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1], rel=0.15)
