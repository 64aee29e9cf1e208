"""How far beyond a field its first and its last may be, further than a normal one has them."""

from math import exp

import numpy as np
import pytest

from arena.ratings.base import BETA, MU, SIGMA, unit_draw_margin
from arena.ratings.counts import Floats, Ints, count_results
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.lineage import parent_prior
from arena.ratings.model_evidence import weigh_mode
from arena.ratings.posterior import NO_LINKS, Objective, Prior, find_mode
from arena.ratings.settled import FittedTerms, settle_ratings
from arena.ratings.tail_doubt import list_scales

N_AGENTS = 10
SHOWN = FittedTerms(is_shown=True)


def play_rounds(gap: float, rng: np.random.Generator) -> Ints:
    """Return rounds of a close field of which agent 0 is that far above all others."""
    return play_field(
        np.where(np.arange(N_AGENTS) == 0, gap, 0.0) + rng.normal(0, 4, N_AGENTS), rng
    )


def play_field(skill: Floats, rng: np.random.Generator) -> Ints:
    pairs = [rng.permutation(N_AGENTS).reshape(-1, 2) for _ in range(40)]
    first, second = np.concatenate(pairs).T
    lead = skill[first] - skill[second] + BETA * np.sqrt(2) * rng.normal(size=len(first))
    return np.stack([first, second, np.sign(lead).astype(int)], axis=1)


def make_objective(results: Ints, prior: Prior = NO_LINKS) -> Objective:
    margin = unit_draw_margin(0.1)
    return Objective(
        PairLikelihood(count_results(results), N_AGENTS, margin=margin, weight=1.0), prior
    )


def test_who_always_wins_may_be_far_above_a_field_that_is_close() -> None:
    counts = count_results(play_rounds(60, np.random.default_rng(1)))
    settled = settle_ratings(counts, N_AGENTS, terms=SHOWN)
    low, high = settled.gap_ends(np.zeros(9, int), np.arange(1, 10))
    # By a normal spread of the whole field alone none ended above 38.
    assert (low > 5).all()
    assert (high > 40).all()
    assert settled.high[0] - settled.mu[0] > 2 * (settled.mu[0] - settled.low[0]) > 0
    # It moves the mean of the field, about which intervals are; not how far others are apart.
    apart = settled.gap_ends(np.array([1]), np.array([2]))
    assert float((apart[1] - apart[0])[0]) < 7


def test_a_field_with_agents_far_from_all_others_lies_within_its_intervals() -> None:
    """By a normal spread alone they held 86 %, as nobody is where the far one moves the mean."""
    held = list[float]()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        skill = MU + SIGMA * rng.standard_t(2.5, N_AGENTS)
        settled = settle_ratings(count_results(play_field(skill, rng)), N_AGENTS, terms=SHOWN)
        truth = skill - skill.mean() + settled.mu.mean()
        held.append(float(np.mean((settled.low < truth) & (truth < settled.high))))
    assert np.mean(held) > 0.92


def test_whose_results_say_where_it_is_is_of_the_spread_of_the_field() -> None:
    objective = make_objective(play_rounds(6, np.random.default_rng(2)))
    (scales,) = list_scales(objective, find_mode(objective, 1.4, np.zeros(N_AGENTS)))
    assert scales is not None
    assert scales.of_agents.tolist() == [1] * N_AGENTS
    assert scales.log_share == 0


def test_scales_of_who_always_wins_are_as_likely_as_all_together_beforehand() -> None:
    objective = make_objective(play_rounds(60, np.random.default_rng(3)))
    posterior = find_mode(objective, 1.4, np.zeros(N_AGENTS))
    thought = [one for one in list_scales(objective, posterior) if one is not None]
    assert [one.of_agents[0] for one in thought] == [1, 3, 9]
    assert all((one.of_agents[1:] == 1).all() for one in thought)
    assert sum(exp(one.log_share) for one in thought) == pytest.approx(1)
    # Far above all others it is likelier to be of another spread than theirs.
    narrow, wide = (
        weigh_mode(one, find_mode(one, 0.7, posterior.z))
        for one in map(objective.with_scales, thought[:2])
    )
    assert wide > narrow


def test_scales_are_of_agents_without_a_parent_and_of_three_or_more() -> None:
    results = play_rounds(60, np.random.default_rng(3))
    parents = np.where(np.arange(N_AGENTS) == 0, 1, -1)
    for parent_of in (parents, np.maximum(np.arange(N_AGENTS) - 1, -1)):
        objective = make_objective(results, parent_prior(parent_of, np.arange(N_AGENTS)))
        posterior = find_mode(objective, 1.4, np.zeros(N_AGENTS))
        of_first = {one.of_agents[0] if one else None for one in list_scales(objective, posterior)}
        assert of_first <= {1, None}
