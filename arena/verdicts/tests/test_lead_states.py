"""What is believed of skills and leads after results, against one normal belief in both."""

from dataclasses import replace
from math import exp, pi, sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from arena.ratings.counts import Floats
from arena.ratings.departures import Departures
from arena.ratings.pair_leads import PairLeads
from arena.verdicts.beliefs import Belief
from arena.verdicts.lead_states import LeadStates

N, SHARE = 4, 0.7


def make_belief(rng: np.random.Generator) -> Belief:
    """Return a belief in dependent skills, and in leads that are partly of their own."""
    root = rng.normal(size=(N, N))
    joint = root @ root.T + np.eye(N)
    own = np.triu(rng.normal(size=(N, N)), 1)
    variance = rng.uniform(1, 3, (N, N))
    leads = PairLeads(np.full((N, N), SHARE), own - own.T, (variance + variance.T) / 2)
    played = np.full(N, 10)
    return Belief(rng.normal(size=N), joint, np.sqrt(np.diag(joint)), played, leads=leads)


def infer_jointly(belief: Belief, information: Floats, evidence: Floats) -> tuple[Floats, Floats]:
    """Return means and variances of the leads of all pairs: skills and leads in one belief."""
    assert belief.covariance is not None
    assert belief.leads is not None
    low, high = np.triu_indices(N, 1)
    pairs, own = (low, high), belief.leads.own[low, high]
    n_pairs = len(low)
    design = np.zeros((n_pairs, N + n_pairs))
    design[np.arange(n_pairs), low], design[np.arange(n_pairs), high] = SHARE, -SHARE
    design[:, N:] = np.eye(n_pairs)
    precision = np.zeros((N + n_pairs, N + n_pairs))
    precision[:N, :N] = np.linalg.inv(belief.covariance)
    precision[N:, N:] = np.diag(1 / belief.leads.variance[pairs])
    pull = precision @ np.concatenate([belief.mu, np.zeros(n_pairs)])
    precision += design.T @ (information[pairs][:, None] * design)
    pull += design.T @ (evidence[pairs] - information[pairs] * own)
    covariance = np.linalg.inv(precision)
    leads = design @ covariance @ pull + own
    return leads, np.diag(design @ covariance @ design.T)


def test_results_tell_of_skills_and_leads_as_one_normal_belief_does() -> None:
    rng = np.random.default_rng(1)
    belief = make_belief(rng)
    information, evidence = np.triu(rng.uniform(0, 1, (2, N, N)), 1)
    information[0, 1] = evidence[0, 1] = 0.0  # a pair that did not meet
    states = LeadStates.repeat(belief, 2).learn(information[None], evidence[None])
    lead, variance = states.find_leads()
    expected_lead, expected_variance = infer_jointly(belief, information, evidence)
    pairs = np.triu_indices(N, 1)
    for case in range(2):
        assert lead[case][pairs] == pytest.approx(expected_lead)
        assert variance[case][pairs] == pytest.approx(expected_variance)
    assert lead == pytest.approx(-lead.transpose(0, 2, 1))


def test_in_two_steps_as_much_is_learnt_as_in_one() -> None:
    rng = np.random.default_rng(2)
    first = LeadStates.repeat(make_belief(rng), 1)
    some, more = np.triu(rng.uniform(0, 1, (2, 1, N, N)), 1)
    twice = first.learn(some, some / 2).learn(more, more / 3)
    at_once = first.learn(some + more, some / 2 + more / 3)
    for one, other in zip(twice, at_once, strict=True):
        assert one == pytest.approx(other)


def normal_density(value: float, mean: float, variance: float) -> float:
    return exp(-((value - mean) ** 2) / (2 * variance)) / sqrt(2 * pi * variance)


def test_a_pair_departs_as_probably_as_bayes_rule_says() -> None:
    ones = np.ones((2, 2)) - np.eye(2)
    lead = np.array([[0.0, -6.0], [6.0, 0.0]])
    belief = Belief(np.array([30.0, 20.0]), np.eye(2), np.ones(2), np.full(2, 10))
    departures = Departures(0.1 * ones, lead, 4 * ones + np.eye(2))
    first = LeadStates.repeat(replace(belief, departures=departures), 1)
    lost = ndtr(10 / sqrt(2)) - ndtr(-6 / 2)
    assert first.doubt_upsets()[0] == pytest.approx(np.array([[0, 0.1 * lost], [0, 0]]), abs=1e-12)
    # Its results say that it leads by -2, give or take 2.
    information = np.array([[[0.0, 0.25], [0.0, 0.0]]])
    states = first.learn(information, -2 * information)
    by_ratings = 0.9 * normal_density(-2, 10, 2 + 4)
    by_itself = 0.1 * normal_density(-2, -6, 4 + 4)
    chance = by_itself / (by_itself + by_ratings)
    assert states.chance[0] == pytest.approx(chance * ones)
    assert states.apart[0] == pytest.approx(lead * 4 / 6)
    assert states.apart_variance[0, 0, 1] == pytest.approx(2)


def test_without_leads_and_departures_nothing_of_a_pair_is_its_own() -> None:
    skills = Belief(np.array([30.0, 20.0]), None, np.ones(2), np.full(2, 10))
    information = np.array([[[0.0, 0.5], [0.0, 0.0]]])
    states = LeadStates.repeat(skills, 1).learn(information, 6 * information)
    lead, variance = states.find_leads()
    assert lead[0, 0, 1] == pytest.approx((10 / 2 + 6 * 0.5) / (1 / 2 + 0.5))
    assert variance[0, 0, 1] == pytest.approx(1)
    assert not states.doubt_upsets().any()
