"""Parents: the prior of an agent that goes on from another."""

import numpy as np
import pytest

from arena.ratings.base import MU, SIGMA, Z95, RatingError
from arena.ratings.lineage import LINK_SPREAD, check_parents
from arena.ratings.settled import FittedTerms, count_results, settle_ratings
from arena.ratings.tests.simulated import simulated

RESULTS = simulated(6, 200, seed=2).results


def test_a_new_version_begins_where_its_parent_stands() -> None:
    settled = settle_ratings(count_results(RESULTS), 7, parents=[-1] * 6 + [2])
    alone = settle_ratings(count_results(RESULTS), 7)
    assert settled.covariance is not None
    assert settled.mu[6] == pytest.approx(settled.mu[2])
    assert alone.mu[6] == MU
    apart = settled.covariance[6, 6] + settled.covariance[2, 2] - 2 * settled.covariance[6, 2]
    assert apart == pytest.approx(LINK_SPREAD**2)
    assert settled.mu[:6] == pytest.approx(alone.mu[:6], abs=0.01)
    assert settled.spread == pytest.approx(alone.spread, rel=0.02)


def test_results_move_it_away() -> None:
    lost = [(0, 6, 1)] * 30
    settled = settle_ratings(
        count_results([*map(tuple, RESULTS.tolist()), *lost]), 7, parents=[-1] * 6 + [2]
    )
    assert settled.mu[6] < settled.mu[0]
    assert settled.sd[6] < LINK_SPREAD


def test_without_any_result_versions_are_thought_alike() -> None:
    settled = settle_ratings(count_results([]), 4, parents=[-1, 0, 1, -1])
    assert settled.mu.tolist() == [MU] * 4
    assert settled.superiority(0, 1) == 0.5
    assert settled.spread == pytest.approx(SIGMA)
    assert settled.sd[3] == pytest.approx(SIGMA)


def test_a_family_without_results_leaves_the_doubt_about_others_alone() -> None:
    terms = FittedTerms(is_shown=True)
    alone = settle_ratings(count_results(RESULTS), 6, terms=terms)
    beside = settle_ratings(
        count_results(RESULTS), 12, parents=[-1] * 7 + list(range(6, 11)), terms=terms
    )
    assert beside.sd[:6].tobytes() == alone.sd.tobytes()
    assert beside.low[:6].tobytes() == alone.low.tobytes()
    assert beside.high[:6].tobytes() == alone.high.tobytes()


@pytest.mark.parametrize("n_results", [0, len(RESULTS)])
def test_a_family_without_results_is_thought_alike(n_results: int) -> None:
    settled = settle_ratings(count_results(RESULTS[:n_results]), 9, parents=[-1] * 7 + [6, 7])
    covariance = settled.covariance
    assert covariance is not None
    apart = covariance[6, 6] + covariance[8, 8] - 2 * covariance[6, 8]
    assert apart == pytest.approx(2 * LINK_SPREAD**2)
    assert covariance[8, :6] == pytest.approx(0)
    assert settled.sd[6] == pytest.approx(settled.spread)


@pytest.mark.parametrize("terms", [FittedTerms(), FittedTerms(is_shown=True)])
@pytest.mark.parametrize("n_results", [0, len(RESULTS)])
def test_intervals_of_a_family_without_results_are_as_wide_as_its_covariance(
    n_results: int, terms: FittedTerms
) -> None:
    parents = [-1] * 6 + [8, 6, -1, 7]
    settled = settle_ratings(count_results(RESULTS[:n_results]), 10, parents=parents, terms=terms)
    assert settled.covariance is not None
    joint_sd = np.sqrt(np.diag(settled.covariance)[6:])
    assert (settled.high - settled.low)[6:] == pytest.approx(2 * Z95 * joint_sd)
    assert settled.sd[6:] == pytest.approx(
        np.sqrt(settled.spread**2 + LINK_SPREAD**2 * np.array([1, 2, 0, 3]))
    )


def test_one_root_keeps_the_usual_spread() -> None:
    assert settle_ratings(count_results([(0, 1, 1)]), 2, parents=[-1, 0]).spread == pytest.approx(
        SIGMA
    )


def test_no_parents_change_nothing() -> None:
    here, there = (
        settle_ratings(count_results(RESULTS), 6),
        settle_ratings(count_results(RESULTS), 6, parents=[-1] * 6),
    )
    assert here.mu.tobytes() == there.mu.tobytes()


def test_a_lineage_of_little_evidence_is_rated_better_by_its_links() -> None:
    rng = np.random.default_rng(0)
    errors: list[tuple[float, float]] = []
    for _ in range(20):
        skill = np.concatenate([rng.normal(MU, 8, 6), MU + np.cumsum(rng.normal(0.8, 0.5, 10))])
        parents = [-1] * 7 + list(range(6, 15))
        first = rng.integers(0, 6, 60)
        second = rng.integers(6, 16, 60)
        lead = skill[first] - skill[second] + rng.normal(0, 5.9, 60)
        results = np.stack([first, second, np.sign(lead).astype(np.int64)], axis=1)
        linked, alone = (
            settle_ratings(count_results(results), 16, parents=parents),
            settle_ratings(count_results(results), 16),
        )
        errors.append(
            tuple(  # type: ignore[arg-type]
                float(np.abs((s.mu - s.mu.mean()) - (skill - skill.mean()))[6:].mean())
                for s in (linked, alone)
            )
        )
    linked_error, alone_error = np.mean(errors, axis=0)
    assert linked_error < alone_error


@pytest.mark.parametrize(
    ("parents", "words"),
    [
        ([-1, 0], "parents must be 3 ints"),
        ([-1.0, 0.0, 0.0], "parents must be 3 ints"),
        ([-1, 3, 0], r"3 of agent 1 is not -1\.\.2"),
        ([-2, 0, 0], r"-2 of agent 0 is not -1\.\.2"),
        ([1, 2, 0], "agent 0 is among its own ancestors"),
        ([-1, 1, 0], "agent 1 is among its own ancestors"),
    ],
)
def test_parents_that_are_none_are_refused(parents: list[int], words: str) -> None:
    with pytest.raises(RatingError, match=words):
        settle_ratings(count_results([]), 3, parents=parents)


def test_an_empty_field_has_no_parents() -> None:
    assert check_parents([], 0).tolist() == []
