"""Matches of three and more seats."""

from random import Random

import pytest
import trueskill
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.base import (
    MU,
    SIGMA,
    Constants,
    DrawWithoutDrawProbabilityError,
    RatingError,
    SelfPlayError,
    UnknownAgentError,
)
from arena.ratings.live import fold_matches, fold_ranked, update_ranked
from arena.ratings.tests.simulated import simulated
from arena.ratings.trueskill import fold_results, update_pair

seats = st.lists(
    st.tuples(st.floats(-20, 70), st.floats(0.1, 10), st.integers(0, 3)), min_size=2, max_size=6
)


@pytest.mark.parametrize("n_seats", [3, 4, 8])
def test_it_agrees_with_the_package_to_1e_9(n_seats: int) -> None:
    model = trueskill.TrueSkill(tau=0.0, backend="mpmath")
    rng = Random(n_seats)
    for _ in range(10):
        ratings = [(rng.gauss(MU, SIGMA), rng.uniform(0.5, SIGMA)) for _ in range(n_seats)]
        ranks = rng.sample(range(n_seats), n_seats)
        theirs = model.rate([(model.create_rating(*rating),) for rating in ratings], ranks)
        for ours, (expected,) in zip(update_ranked(ratings, ranks), theirs, strict=True):
            assert ours == pytest.approx((expected.mu, expected.sigma), abs=1e-9)


def test_two_seats_are_rated_as_by_the_closed_form() -> None:
    for ranks, score in (([0, 1], 1), ([0, 0], 0), ([1, 0], -1)):
        (mu_1, sigma_1), (mu_2, sigma_2) = update_ranked([(20, 5), (33, 7)], ranks)
        expected = update_pair(20, 5, 33, 7, score)
        assert (mu_1, sigma_1, mu_2, sigma_2) == pytest.approx(expected, abs=1e-9)


@given(seats, st.randoms(use_true_random=False))
def test_the_order_of_the_seats_does_not_change_a_bit(
    seats: list[tuple[float, float, int]], rng: Random
) -> None:
    order = rng.sample(range(len(seats)), len(seats))
    here = update_ranked([seat[:2] for seat in seats], [seat[2] for seat in seats])
    shuffled = [seats[i] for i in order]
    there = update_ranked([seat[:2] for seat in shuffled], [seat[2] for seat in shuffled])
    assert there == [here[i] for i in order]


def test_equals_that_drew_share_alike() -> None:
    after = update_ranked([(MU, SIGMA)] * 4, [0, 1, 1, 1])
    assert after[1] == after[2] == after[3]
    assert after[0][0] > MU > after[1][0]


def test_no_gap_is_too_wide() -> None:
    ratings = [(0.0, SIGMA), (1e4, SIGMA), (1e5, 1.0)]
    (last, _), _, (first, sigma) = update_ranked(ratings, [0, 1, 2])
    assert last > 1e4
    assert first < 1e5
    assert 0 < sigma < 1


def test_a_draw_is_refused_where_there_are_none() -> None:
    without = Constants(draw_probability=0)
    assert update_ranked([(MU, SIGMA)] * 3, [0, 1, 2], without)[0][0] > MU
    with pytest.raises(DrawWithoutDrawProbabilityError):
        update_ranked([(MU, SIGMA)] * 3, [0, 1, 1], without)


@pytest.mark.parametrize(("n_seats", "n_ranks"), [(1, 1), (3, 2)])
def test_each_of_two_or_more_seats_needs_a_rank(n_seats: int, n_ranks: int) -> None:
    with pytest.raises(RatingError, match="need a rank each"):
        update_ranked([(MU, SIGMA)] * n_seats, list(range(n_ranks)))


@pytest.mark.parametrize(
    ("lineup", "error"), [((0, 1, 0), SelfPlayError), ((0, 1, 3), UnknownAgentError)]
)
def test_a_refused_match_changes_nothing(lineup: tuple[int, ...], error: type[RatingError]) -> None:
    mus, sigmas = [MU] * 3, [SIGMA] * 3
    with pytest.raises(error):
        fold_ranked(mus, sigmas, (lineup, (0, 1, 2)))
    assert (mus, sigmas) == ([MU] * 3, [SIGMA] * 3)


def test_matches_of_two_seats_fold_as_their_scores_do() -> None:
    results = simulated(10, 300).triples()
    played = [([i, j], [int(score < 0), int(score > 0)]) for i, j, score in results]
    by_score, by_rank = ([MU] * 10, [SIGMA] * 10), ([MU] * 10, [SIGMA] * 10)
    fold_results(*by_score, results)
    fold_matches(*by_rank, played)
    assert by_rank == by_score


def test_matches_of_several_sizes_fold_in_their_order() -> None:
    mus, sigmas = [MU] * 4, [SIGMA] * 4
    fold_matches(mus, sigmas, [([0, 1, 2], [0, 1, 2]), ([3, 0], [0, 1])])
    first = update_ranked([(MU, SIGMA)] * 3, [0, 1, 2])
    expected = update_pair(MU, SIGMA, *first[0], 1)
    assert (mus[3], sigmas[3], mus[0], sigmas[0]) == expected
    assert mus[1:3] == [mu for mu, _ in first[1:]]


def test_a_match_without_a_rank_for_each_seat_is_refused() -> None:
    with pytest.raises(RatingError, match="a rank for each"):
        fold_matches([MU] * 2, [SIGMA] * 2, [([0, 1], [0, 1, 2])])
