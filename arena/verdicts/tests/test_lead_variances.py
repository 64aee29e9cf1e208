"""How far pairs depart, in many cases at once, against the joint normal density of all results."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from arena.ratings.counts import Floats
from arena.ratings.pair_leads import PairLeads
from arena.verdicts.beliefs import Belief
from arena.verdicts.lead_states import LeadStates
from arena.verdicts.lead_variances import change_variance, complete_skills, weigh_variances

N = 4
PAIRS = np.triu_indices(N, 1)


def believe_nothing_of_pairs(variance: float) -> Belief:
    """Return a belief in dependent skills whose pairs have not met."""
    root = np.random.default_rng(1).normal(size=(N, N))
    joint, ones = root @ root.T + np.eye(N), np.ones((N, N))
    leads = PairLeads(ones, 0 * ones, variance * ones)
    mu = np.array([1.0, 0.0, -2.0, 0.5])
    return Belief(mu, joint, np.sqrt(np.diag(joint)), np.full(N, 10), leads=leads)


def play(seed: int) -> tuple[Floats, Floats]:
    """Return what two cases bring: the information of all pairs but one, and their evidence."""
    rng = np.random.default_rng(seed)
    information = np.triu(rng.uniform(0.2, 1, (2, N, N)), 1)
    information[:, 0, 1] = 0.0
    return information, information * rng.normal(0, 2, information.shape)


def test_results_are_as_likely_as_their_joint_density_says() -> None:
    belief, (information, evidence) = believe_nothing_of_pairs(2.0), play(2)
    states = LeadStates.repeat(belief, 2).learn(information, evidence)
    variances = np.array([0.1, 2.0, 9.0])
    likelihood = weigh_variances(states, variances)
    low, high = (side[1:] for side in PAIRS)  # the first pair did not meet
    design = np.eye(N)[low] - np.eye(N)[high]
    for case in range(2):
        noise, mean = 1 / information[case][low, high], evidence[case][low, high]
        densities = [
            multivariate_normal.logpdf(
                mean * noise,
                design @ belief.mu,
                design @ np.asarray(belief.covariance) @ design.T
                + np.diag(noise[: len(low)] + variance),
            )
            for variance in variances
        ]
        assert likelihood[case] - likelihood[case, 0] == pytest.approx(
            np.array(densities) - densities[0]
        )


def test_another_variance_is_as_if_it_had_been_thought_of_from_the_start() -> None:
    information, evidence = play(3)
    first, then = (LeadStates.repeat(believe_nothing_of_pairs(v), 2) for v in (2.0, 5.0))
    changed = change_variance(first.learn(information, evidence), np.array([5.0, 5.0]))
    for one, other in zip(changed, then.learn(information, evidence), strict=True):
        assert one == pytest.approx(other)


def test_skills_are_known_less_than_not_at_all_by_no_rounding() -> None:
    """A fit that weighs pairs less than they tell leaves skills without them less than nothing."""
    belief = believe_nothing_of_pairs(2.0)
    share = np.where(np.eye(N), 1.0, 0.1)
    leads = PairLeads(share, np.zeros((N, N)), 2 * share)
    wide = Belief(belief.mu, 30 * np.eye(N), belief.sd, belief.n_matches, leads=leads)
    states = change_variance(complete_skills(LeadStates.repeat(wide, 1)), np.array([50.0]))
    assert (np.linalg.eigvalsh(states.precision[0]) > 0).all()
    assert np.isfinite(weigh_variances(states, np.array([0.1, 50.0]))).all()


@pytest.mark.parametrize(("joint", "share"), [(30 * np.eye(N), 0.1), (100 + np.eye(N), 1.0)])
def test_skills_stay_where_they_are_while_leads_keep_their_variance(
    joint: Floats, share: float
) -> None:
    """Where the fit weighs pairs less than they tell, and of a lineage that hardly anybody met."""
    belief, shares = believe_nothing_of_pairs(2.0), np.where(np.eye(N), 1.0, share)
    leads = PairLeads(shares, np.zeros((N, N)), 2 * shares)
    field = Belief(25 + belief.mu, joint, np.sqrt(np.diag(joint)), belief.n_matches, leads=leads)
    states = complete_skills(LeadStates.repeat(field, 1))
    mu, covariance = change_variance(states, states.before).find_skills()
    assert mu[0] == pytest.approx(field.mu)
    if share == 1:
        assert covariance[0] == pytest.approx(joint)
