"""What is believed of agents whose strength walks: of now, and as sure as it is right."""

from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.base import MU
from arena.ratings.counts import Floats
from arena.ratings.pair_variance import LikelyVariances
from arena.verdicts.beliefs import Belief
from arena.verdicts.lead_effects import LeadEffects, find_effects
from arena.verdicts.lead_filter import EffectBelief
from arena.verdicts.seed_blocks import SeedBlocks
from arena.verdicts.tests.made import belief_of
from arena.verdicts.tests.test_drift import PAIRS, infer, play_along, walk_strengths
from arena.verdicts.walking_belief import believe_walk
from arena.verdicts.walks import STEPS, Walked

NEAR, PAIR_VARIANCE, N_STOPPED = 12.0, 4.0, 3
STEADY = replace(belief_of([0.0] * 4, 1.0), spread=3.0, is_checked=True)


def make_effects() -> LeadEffects:
    """Return the effects of four agents, of which two pairs met twice."""
    first, second = np.array([0, 1, 3, 2, 0]), np.array([1, 0, 2, 3, 3])
    blocks = SeedBlocks(first, second, np.ones((5, 2), np.int64), np.arange(5))
    return find_effects(blocks, 4, spread=6.0, pair_variance=PAIR_VARIANCE)


def make_belief(n_effects: int, n_steps: int) -> EffectBelief:
    rng = np.random.default_rng(8)
    factors = rng.normal(0, 1, (n_steps, n_effects, n_effects + 2))
    return EffectBelief(rng.normal(0, 3, (n_steps, n_effects)), factors @ factors.swapaxes(1, 2))


def believe(belief: EffectBelief, likely: Floats) -> Belief:
    walked = Walked(np.zeros(len(likely)), make_effects(), belief)
    return believe_walk(walked, likely, PAIR_VARIANCE, STEADY)


def test_leads_are_sums_of_the_effects() -> None:
    effects, belief = make_effects(), make_belief(6, 1)
    assert list(zip(effects.low, effects.high, strict=True)) == [(0, 1), (2, 3)]
    believed, mu, joint = believe(belief, np.ones(1)), belief.mu[0], belief.covariance[0]
    lead, gap = np.zeros(6), np.zeros(6)
    lead[[3, 2, 5]] = 1, -1, -1  # of agent 3 over agent 2: its own effect is that of the lower one
    gap[[3, 2]] = 1, -1
    pair = np.array([3]), np.array([2])
    assert believed.mu == pytest.approx(MU + mu[:4])
    assert believed.expected_leads(*pair)[0] == pytest.approx(lead @ mu)
    assert believed.variances(*pair)[0] == pytest.approx(lead @ joint @ lead)
    assert believed.leads is not None
    share = believed.leads.share[3, 2]
    assert share * (gap @ joint @ gap) == pytest.approx(lead @ joint @ gap)


def test_a_pair_that_met_once_or_never_goes_by_the_agents_and_its_own_doubt() -> None:
    belief = make_belief(6, 1)
    believed, joint = believe(belief, np.ones(1)), belief.covariance[0]
    for pair in ((0, 3), (1, 2)):
        above, below = (np.array([one]) for one in pair)
        of_gap = joint[pair[0], pair[0]] + joint[pair[1], pair[1]] - 2 * joint[pair]
        assert believed.variances(above, below)[0] == pytest.approx(of_gap + PAIR_VARIANCE)


def test_how_far_pairs_depart_from_ratings_that_stay_is_not_believed_of_a_walk() -> None:
    likely = LikelyVariances(np.array([1.0, 100.0]), np.array([0.9, 0.1]), np.array([0.0, 1.0]))
    walked = Walked(np.zeros(1), make_effects(), make_belief(6, 1))
    steady = replace(STEADY, pair_variances=likely)
    assert believe_walk(walked, np.ones(1), PAIR_VARIANCE, steady).pair_variances is None


def test_of_several_speeds_it_is_the_mean_and_the_covariance_of_the_mixture() -> None:
    belief, likely = make_belief(6, 2), np.array([0.1, 0.3])
    believed = believe(belief, likely)
    first, second = belief.mu[:, :4]
    assert believed.mu == pytest.approx(MU + 0.25 * first + 0.75 * second)
    within = 0.25 * belief.covariance[0] + 0.75 * belief.covariance[1]
    apart = 0.25 * 0.75 * np.outer(first - second, first - second)
    assert believed.covariance == pytest.approx(within[:4, :4] + apart)
    assert believed.sd == pytest.approx(np.sqrt(np.diag(within[:4, :4] + apart)))
    assert (believed.spread, believed.is_checked) == (STEADY.spread, True)
    assert believed.n_matches.tolist() == STEADY.n_matches.tolist()


def stop_some(strengths: Floats, seed: int) -> SeedBlocks:
    """Return blocks of random pairs, in which some agents play no more from two fifths on."""
    blocks = play_along(strengths, seed)
    is_late = np.arange(len(strengths)) > 0.4 * len(strengths)
    are_others = np.minimum(blocks.first, blocks.second) >= N_STOPPED
    return blocks.take(np.flatnonzero(~is_late | are_others))


@pytest.mark.parametrize("is_stopped", [False, True])
def test_what_is_believed_of_now_is_as_far_off_as_it_says(*, is_stopped: bool) -> None:
    off = []
    for seed in range(8):
        strengths = walk_strengths(400, STEPS[3], seed=seed)
        blocks = (stop_some if is_stopped else play_along)(strengths, seed)
        belief, checks = infer(blocks)
        assert checks.drift.is_likely
        leads = strengths[-1, PAIRS[0]] - strengths[-1, PAIRS[1]]
        missed = belief.expected_leads(*PAIRS) - leads
        # How far two are apart of whom one wins always, results do not tell.
        is_near = np.abs(leads) < NEAR
        off.append(np.mean((missed**2 / belief.variances(*PAIRS))[is_near]))
    # By ratings that stay the same it is 30.
    assert 0.5 < np.mean(off) < 1.5
