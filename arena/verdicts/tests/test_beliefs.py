"""Probabilities of a joint normal belief."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.counts import count_results
from arena.ratings.settled import settle_ratings
from arena.verdicts.beliefs import (
    N_SAMPLES,
    N_TOP,
    Belief,
    count_matches,
    form_belief,
    mix_beliefs,
)
from arena.verdicts.claims import Claim, claim_probability, doubt_leads
from arena.verdicts.tests.made import belief_of


def test_superiority_goes_by_the_joint_covariance() -> None:
    joint = np.array([[4.0, 3.0], [3.0, 4.0]])
    belief = Belief(np.array([26.0, 25.0]), joint, np.array([2.0, 2.0]), np.array([9, 9]))
    above, below = np.array([0]), np.array([1])
    assert belief.superiority(above, below)[0] == pytest.approx(0.7602, abs=1e-4)
    assert belief.superiority(above, below, 1.0)[0] == pytest.approx(0.5)
    apart = replace(belief, covariance=None)
    assert apart.variances(above, below)[0] == pytest.approx(8.0)


def test_chances_of_the_best_add_up_and_follow_the_gap() -> None:
    belief = belief_of([26.0, 25.0, 25.0], 1.0)
    chances = belief.chances_of_best()
    assert chances.sum() == pytest.approx(1.0)
    assert chances[0] > chances[1]
    assert chances[1] == pytest.approx(chances[2], abs=0.02)


def test_two_agents_sampled_agree_with_the_formula() -> None:
    belief = belief_of([26.0, 25.0], 1.0)
    exact = belief.superiority(np.array([0]), np.array([1]))[0]
    assert belief.chances_of_best()[0] == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_what_may_be_true_as_well_counts_by_its_chance(chance: float) -> None:
    first, other = belief_of([26.0, 25.0, 20.0], 1.0), belief_of([25.0, 26.0, 20.0], 2.0)
    mixed = mix_beliefs(first, other, chance)
    likelier = other if chance > 0.5 else first
    assert mixed.mu.tolist() == likelier.mu.tolist()
    pairs = np.triu_indices(3, 1)
    claim = Claim(np.array([0, 1, 2]), [1, 2], 0.5)

    def find_all(belief: Belief) -> list[float]:
        least = np.full(3, 0.1)
        return [
            *belief.superiority(*pairs, 0.3),
            *belief.chances_of_best(),
            *belief.restrict_to(np.array([0, 2])).chances_of_best(),
            claim_probability(belief, claim),
            doubt_leads(belief, *pairs, least),
        ]

    weighed = (1 - chance) * np.array(find_all(first)) + chance * np.array(find_all(other))
    assert find_all(mixed) == pytest.approx(weighed)


def test_a_large_field_is_judged_by_its_top() -> None:
    n = N_TOP + 50
    belief = replace(belief_of(np.linspace(0, 50, n), 0.5), covariance=None)
    assert len(belief.top) == N_TOP
    assert belief.top.min() == 50
    chances = belief.chances_of_best()
    assert chances.sum() == pytest.approx(1.0)
    assert chances.argmax() == n - 1


def test_the_same_belief_draws_the_same_samples() -> None:
    one, two = (belief_of([26.0, 25.0], 1.0).samples for _ in range(2))
    assert one.shape == (N_SAMPLES, 2)
    assert (one == two).all()
    assert one.mean(axis=0) == pytest.approx([26.0, 25.0])


def test_samples_have_the_covariance() -> None:
    joint = np.array([[4.0, 3.0], [3.0, 4.0]])
    belief = Belief(np.array([25.0, 25.0]), joint, np.array([2.0, 2.0]), np.array([9, 9]))
    assert np.cov(belief.samples.T) == pytest.approx(joint, rel=0.05)


def test_a_match_of_several_opponents_is_one_match() -> None:
    counts = count_results([(0, 1, 1), (0, 2, 1), (1, 2, 0)] * 5)
    settled = settle_ratings(counts, 3, weight=0.5)
    assert form_belief(settled, counts, n_opponents=2).n_matches.tolist() == [5, 5, 5]


def test_a_settled_rating_is_believed() -> None:
    counts = count_results([(0, 1, 1), (1, 0, 0), (1, 2, -1)])
    belief = form_belief(settle_ratings(counts, 4), counts)
    assert belief.n_agents == 4
    assert belief.n_matches.tolist() == [2, 3, 1, 0]
    assert belief.order[-1] == 1


def test_matches_are_counted_in_both_seats() -> None:
    assert count_matches(count_results([(0, 1, 1), (1, 0, 1), (2, 0, 0)]), 4).tolist() == [
        3,
        2,
        1,
        0,
    ]
