"""The examination as a whole, and when the board is warned."""

import numpy as np
import pytest

from arena.ratings.base import RatingError
from arena.ratings.settled import count_results, settle_ratings
from arena.ratings.tests.simulated import simulated
from arena.transitivity.examination import examine_results
from arena.transitivity.tests.fields import played

NAMES = ["rock", "paper", "scissors", "fourth", "fifth", "sixth"]


def test_rock_paper_scissors_is_warned_of_by_name() -> None:
    counts = played("rps", 100)
    examination = examine_results(counts, settle_ratings(counts, 3).mu, seed=0)
    warning = examination.warning(NAMES)
    assert warning == "No single order fits: rock beats scissors beats paper beats rock."
    assert examination.nash.weights.min() > 0.15


def test_a_true_ranking_is_not() -> None:
    counts = count_results(simulated(6, 600, seed=5).results)
    examination = examine_results(counts, settle_ratings(counts, 6).mu, seed=0)
    assert examination.warning(NAMES) is None
    assert (np.abs(examination.shares + examination.shares.T - 1) < 1e-12).all()


def test_shares_of_pairs_that_never_met_are_what_the_ratings_say() -> None:
    counts = count_results([(0, 1, 1), (1, 2, 1)] * 20)
    settled = settle_ratings(counts, 3)
    shares = examine_results(counts, settled.mu, seed=0, n_replicates=9).shares
    assert 0.9 < shares[0, 2] < 1
    assert 0.97 < shares[0, 1] < 1
    assert np.diag(shares).tolist() == [0.5] * 3


def test_a_departure_without_a_sure_cycle_is_said_without_names() -> None:
    # First and last are level, though each step between them is a clear win.
    steps = [(i, i + 1, 1) for i in range(3)] * 60 + [(0, 3, 1), (3, 0, 1)] * 60
    counts = count_results(steps)
    examination = examine_results(counts, settle_ratings(counts, 4).mu, seed=0)
    assert examination.cycles == []
    warning = examination.warning(NAMES)
    assert warning == (
        "No single order fits: the results depart from every ranking by more than chance."
    )


def test_too_large_a_field_is_refused() -> None:
    with pytest.raises(RatingError, match="500 agents at most is examined, got 501"):
        examine_results(count_results([]), np.full(501, 25.0), seed=0)
