"""What results of blocks tell of agents and pairs, part by part."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from arena.ratings.base import BETA
from arena.ratings.counts import Floats
from arena.ratings.settled import settle_ratings
from arena.verdicts import lead_filter
from arena.verdicts.lead_effects import LeadEffects, find_effects
from arena.verdicts.lead_filter import EffectBelief, LeadFilter
from arena.verdicts.seed_blocks import SeedBlocks
from arena.verdicts.tests.test_drift import count_games
from arena.verdicts.walks import weigh_steps

N, SPREAD, PAIR_VARIANCE = 4, 6.0, 9.0
PAIRS = [(0, 1), (1, 0), (2, 1), (1, 2), (3, 0), (2, 3)]
# The last two pairs meet once.
N_AGAIN = 2


def play(seed: int = 1) -> SeedBlocks:
    rng = np.random.default_rng(seed)
    first, second = np.array(PAIRS).T
    return SeedBlocks(first, second, rng.choice([-1, 1], (len(PAIRS), 2)), np.arange(len(PAIRS)))


def learn(blocks: SeedBlocks, effects: LeadEffects) -> tuple[Floats, EffectBelief]:
    """Return what is learnt of two beliefs that are the same."""
    mu = np.zeros((2, len(effects.variance)))
    prior = EffectBelief(mu, np.tile(np.diag(effects.variance), (2, 1, 1)))
    return LeadFilter(settle_ratings(count_games(blocks), N), 1.0).learn(
        prior, effects, blocks.scores
    )


def find(blocks: SeedBlocks, pair_variance: float) -> LeadEffects:
    return find_effects(blocks, N, spread=SPREAD, pair_variance=pair_variance)


def test_pairs_that_meet_again_have_an_effect_whoever_is_first_and_others_are_noise() -> None:
    effects = find(play(), PAIR_VARIANCE)
    assert effects.signs.shape == (len(PAIRS), N + N_AGAIN)
    assert effects.signs[:, N:].tolist() == [[1, 0], [-1, 0], [0, -1], [0, 1], [0, 0], [0, 0]]
    assert effects.variance.tolist() == [SPREAD**2] * N + [PAIR_VARIANCE] * N_AGAIN
    assert list(zip(effects.low, effects.high, strict=True)) == [(0, 1), (1, 2)]
    assert effects.noise.tolist() == [0.0] * 4 + [PAIR_VARIANCE] * 2
    assert find(play(), 0.0).signs.shape == (len(PAIRS), N)


def test_noise_is_as_good_as_an_effect_that_no_other_block_shares() -> None:
    blocks = play()
    effects = find(blocks, PAIR_VARIANCE)
    alone = np.eye(len(PAIRS))[:, 4:]
    with_all = effects._replace(
        signs=np.hstack([effects.signs, alone]),
        variance=np.concatenate([effects.variance, np.full(2, PAIR_VARIANCE)]),
        noise=np.zeros(len(PAIRS)),
    )
    (evidence, belief), (other_evidence, other) = learn(blocks, effects), learn(blocks, with_all)
    assert evidence == pytest.approx(other_evidence)
    n = N + N_AGAIN
    assert belief.mu == pytest.approx(other.mu[:, :n], abs=1e-6)
    assert belief.covariance == pytest.approx(other.covariance[:, :n, :n], abs=1e-6)


def test_the_evidence_of_a_block_is_its_probability_beforehand() -> None:
    blocks = play().take(slice(0, 1))._replace(scores=np.array([[1, -1]]))
    evidence, _ = learn(blocks, find(blocks, PAIR_VARIANCE))
    sd = np.sqrt(2 * SPREAD**2 + PAIR_VARIANCE)

    def density(lead: float) -> float:
        chance = ndtr(lead / (np.sqrt(2) * BETA))
        return float(chance * (1 - chance) * norm.pdf(lead, 0, sd))

    probability, _ = quad(density, -10 * sd, 10 * sd)
    # The last few thousandths are Laplace's approximation, and draws.
    assert evidence == pytest.approx(np.log(probability), abs=0.3)


def test_of_a_pair_that_always_wins_more_is_believed_of_both_and_it_is_surer() -> None:
    blocks = play()
    won = blocks._replace(scores=np.where(blocks.first < blocks.second, 1, -1)[:, None] * [1, 1])
    _, belief = learn(won, find(won, PAIR_VARIANCE))
    mu, covariance = belief.mu[0], belief.covariance[0]
    assert mu[0] > mu[1] > mu[2] > mu[3]
    assert (mu[N:] > 0).all()
    assert (np.diag(covariance) < find(won, PAIR_VARIANCE).variance).all()


def test_fields_that_are_far_apart_are_followed_to_the_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n, n_parts, rng = 50, 8, np.random.default_rng(3)
    strengths = rng.normal(0, 25 * BETA, n)
    first, second = np.array([rng.permutation(n)[:2] for _ in range(1_000)]).T
    scores = np.sign(strengths[first] - strengths[second]).astype(np.int64)
    blocks = SeedBlocks(first, second, np.stack([scores, scores], axis=1), np.arange(1_000))
    settled = settle_ratings(count_games(blocks), n)
    likely = weigh_steps(blocks, settled, dispersion=1.0, n_parts=n_parts, steady=0.8)
    monkeypatch.setattr(lead_filter, "_N_NEWTON", 100)
    exact = weigh_steps(blocks, settled, dispersion=1.0, n_parts=n_parts, steady=0.8)
    assert likely == pytest.approx(exact, abs=1e-3)
