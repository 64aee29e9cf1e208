"""Strength that walks: how fast, and what older results say of now."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.base import BETA, MU
from arena.ratings.counts import Floats, PairCounts, count_results
from arena.ratings.settled import SettledRatings, settle_ratings
from arena.verdicts import drift
from arena.verdicts.drift import estimate_drift, weigh_parts
from arena.verdicts.evidence import infer_belief
from arena.verdicts.seed_blocks import SeedBlocks
from arena.verdicts.walks import STEPS, weigh_steps

N, NEAR = 8, 12.0


def walk_strengths(n_blocks: int, step: float, *, seed: int, n: int = N) -> Floats:
    """Return strengths float64 [blocks, n] that walk by steps of this variance."""
    rng = np.random.default_rng([seed, 1])
    walk = np.cumsum(rng.normal(0, np.sqrt(step), (n_blocks, n)), axis=0)
    return rng.normal(MU, 6, n) + walk


def play_along(strengths: Floats, seed: int) -> SeedBlocks:
    """Return blocks of random pairs of agents that are so strong, block by block."""
    n_blocks, n = len(strengths), len(strengths[0])
    rng = np.random.default_rng([seed, 2])
    first = rng.integers(0, n, n_blocks)
    second = (first + rng.integers(1, n, n_blocks)) % n
    row = np.arange(n_blocks)
    lead = strengths[row, first] - strengths[row, second]
    scores = np.sign(lead[:, None] + rng.normal(0, np.sqrt(2) * BETA, (n_blocks, 2)))
    return SeedBlocks(first, second, scores.astype(np.int64), row)


def count_games(blocks: SeedBlocks) -> PairCounts:
    first, second, scores, _ = blocks
    games = ([first, second, scores[:, 0]], [second, first, -scores[:, 1]])
    return count_results(np.concatenate([np.stack(game, axis=1) for game in games]))


def settle(blocks: SeedBlocks, n: int = N) -> SettledRatings:
    return settle_ratings(count_games(blocks), n)


def weigh(blocks: SeedBlocks) -> Floats:
    return weigh_steps(blocks, settle(blocks), dispersion=1.0, n_parts=16)


def test_a_walk_is_told_from_strength_that_stays_and_so_is_its_speed() -> None:
    stays = np.mean(
        [weigh(play_along(walk_strengths(300, 0, seed=s), s)) for s in range(3)], axis=0
    )
    assert stays[0] > 0.8
    assert stays[-2:].sum() < 0.01
    walk = STEPS[3]
    walks = [weigh(play_along(walk_strengths(300, walk, seed=s), s)) for s in range(3)]
    assert np.mean(walks, axis=0)[0] < 0.01
    assert np.mean(walks, axis=0)[3] > 0.5


def test_without_results_it_is_thought_of_walks_as_beforehand() -> None:
    none = SeedBlocks(*(np.zeros((0, *shape), np.int64) for shape in ((), (), (2,), ())))
    chances = weigh_steps(none, settle(none), dispersion=1.0, n_parts=8)
    assert chances.sum() == pytest.approx(1)
    assert chances[0] > 0.5
    assert np.ptp(chances[1:]) < 1e-9


def test_games_that_repeat_each_other_say_less_about_a_walk() -> None:
    blocks = play_along(walk_strengths(300, STEPS[3], seed=3), 3)
    plain, doubled = (
        weigh_steps(blocks, settle(blocks), dispersion=dispersion, n_parts=16)[0]
        for dispersion in (1.0, 2.0)
    )
    assert 10 * plain < doubled < 0.5


def play_round_robins(step: float, *, n_rounds: int, liking: float, seed: int) -> SeedBlocks:
    """Return rounds in which all pairs play one seed, which each agent likes more or less."""
    rng = np.random.default_rng([seed, 3])
    first, second = (np.tile(column, n_rounds) for column in np.triu_indices(N, 1))
    round_number = np.arange(len(first)) // (N * (N - 1) // 2)
    likes = rng.normal(0, liking, (n_rounds, N))[round_number]
    strengths = walk_strengths(len(first), step, seed=seed) + likes
    row = np.arange(len(first))
    lead = strengths[row, first] - strengths[row, second]
    scores = np.sign(lead[:, None] + rng.normal(0, np.sqrt(2) * BETA, (len(first), 2)))
    return SeedBlocks(first, second, scores.astype(np.int64), round_number)


def find_chance(blocks: SeedBlocks) -> float:
    return estimate_drift(blocks, settle(blocks), dispersion=1.0).chance


def test_seeds_that_agents_like_are_no_walk_though_all_pairs_play_them_in_turn() -> None:
    played = [play_round_robins(0, n_rounds=20, liking=BETA, seed=seed) for seed in range(12)]
    assert np.mean([find_chance(blocks) > 0.5 for blocks in played]) <= 0.2
    # As if each block had a seed of its own: all are taken for walks.
    alone = [blocks._replace(seed=np.arange(len(blocks.first))) for blocks in played]
    assert min(find_chance(blocks) for blocks in alone) > 0.99


def test_a_walk_is_told_though_pairs_share_seeds() -> None:
    walks = [play_round_robins(STEPS[3], n_rounds=20, liking=0, seed=seed) for seed in range(4)]
    assert np.median([find_chance(blocks) for blocks in walks]) > 0.9


@given(ratio=st.floats(0, 100), n_parts=st.integers(1, 32))
def test_older_parts_say_less_of_now(ratio: float, n_parts: int) -> None:
    weights = weigh_parts(np.array([ratio]), np.ones(1), n_parts)
    assert weights[0] <= 1 + 1e-9
    assert (np.diff(weights) <= 0).all()
    assert weights[-1] >= 0
    if not ratio:
        assert weights == pytest.approx(np.ones(n_parts))
    mixed = weigh_parts(np.array([0.0, ratio]), np.array([0.5, 0.5]), n_parts)
    assert 1e-9 + mixed.sum() >= weights.sum()


@pytest.mark.parametrize("ratio", [0.02, 0.3])
def test_a_mean_by_these_weights_is_from_now_by_what_they_say(ratio: float) -> None:
    """Simulated: a walk of 50 small steps a part, each part told with a variance of 1."""
    rng, n_parts, n_steps = np.random.default_rng(5), 8, 50
    steps = rng.normal(0, np.sqrt(ratio / n_steps), (10_000, n_parts * n_steps))
    walk = np.cumsum(steps, axis=1)
    part_means = walk.reshape(-1, n_parts, n_steps).mean(axis=2) + rng.normal(
        0, 1, (10_000, n_parts)
    )
    weights = weigh_parts(np.array([ratio]), np.ones(1), n_parts)[::-1]

    def miss(by: Floats) -> float:
        return float(np.mean((part_means @ by / by.sum() - walk[:, -1]) ** 2))

    assert miss(weights) == pytest.approx(1 / weights.sum(), rel=0.05)
    assert miss(weights) < miss(np.ones(n_parts))


def test_what_is_believed_of_now_is_as_far_off_as_it_says() -> None:
    off = []
    for seed in range(6):
        strengths = walk_strengths(400, STEPS[3], seed=seed)
        blocks = play_along(strengths, seed)
        belief, checks = infer_belief(
            count_games(blocks),
            blocks,
            lambda counts, weight: settle_ratings(counts, N, weight=weight),
        )
        assert checks.drift.is_discounting
        first, second = np.triu_indices(N, 1)
        leads = strengths[-1, first] - strengths[-1, second]
        missed = belief.expected_leads(first, second) - leads
        # How far two are apart of whom one wins always, results do not tell.
        is_near = np.abs(leads) < NEAR
        off.append(np.mean((missed**2 / belief.variances(first, second))[is_near]))
    # By ratings that stay the same it is 30.
    assert np.mean(off) < 2


@pytest.mark.parametrize(("step", "is_discounting"), [(0.0, False), (STEPS[4], True)])
def test_walks_of_large_fields_are_followed_too(step: float, *, is_discounting: bool) -> None:
    n = 100
    blocks = play_along(walk_strengths(1_000, step, seed=7, n=n), 7)
    estimate = estimate_drift(blocks, settle(blocks, n), dispersion=1.0)
    assert estimate.is_discounting is is_discounting


@pytest.mark.parametrize("n", [200, 500])
def test_a_large_field_that_is_far_apart_does_not_walk(n: int) -> None:
    strengths = 100.0 * walk_strengths(1_000, 0.0, seed=3, n=n)
    blocks = play_along(strengths, 3)
    assert not estimate_drift(blocks, settle(blocks, n), dispersion=1.0).is_discounting


def test_of_very_large_fields_nothing_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "MOST_FOLLOWED", N - 1)
    blocks = play_along(walk_strengths(300, STEPS[4], seed=7), 7)
    unfollowed = estimate_drift(blocks, settle(blocks), dispersion=1.0)
    assert np.isnan(unfollowed.chance)
    assert not unfollowed.is_discounting


def change_opponents(step: float, deviation: float, seed: int) -> SeedBlocks:
    """Return blocks of pairs that depart from the ratings, and of which others meet later."""
    rng = np.random.default_rng([seed, 4])
    above = np.triu(rng.normal(0, deviation, (N, N)), 1)
    pairs = rng.permutation(np.stack(np.triu_indices(N, 1), axis=1))
    met = np.concatenate([rng.choice(part, 100) for part in np.array_split(pairs, 4)])
    strengths, row = walk_strengths(len(met), step, seed=seed), np.arange(len(met))
    lead = strengths[row, met[:, 0]] - strengths[row, met[:, 1]] + above[met[:, 0], met[:, 1]]
    scores = np.sign(lead[:, None] + rng.normal(0, np.sqrt(2) * BETA, (len(met), 2)))
    return SeedBlocks(met[:, 0], met[:, 1], scores.astype(np.int64), row)


def find_chances(step: float, pair_variance: float) -> list[float]:
    """Return the chances of a walk, of a few fields whose pairs depart by a standard deviation."""
    played = [change_opponents(step, BETA, seed) for seed in range(10)]
    return [
        estimate_drift(blocks, settle(blocks), dispersion=1.0, pair_variance=pair_variance).chance
        for blocks in played
    ]


def test_pairs_that_depart_are_no_walk_while_it_changes_who_meets_whom() -> None:
    assert np.mean(np.array(find_chances(0, BETA**2)) > 0.5) <= 0.1
    # As if none departed: they are taken for walks.
    assert np.mean(np.array(find_chances(0, 0)) > 0.5) >= 0.7


def test_a_walk_is_told_where_pairs_depart() -> None:
    assert np.median(find_chances(STEPS[3], BETA**2)) > 0.9


def test_a_walk_that_is_thought_possible_alone_discounts_nothing() -> None:
    blocks = play_along(walk_strengths(60, 0, seed=1), 1)
    estimate = estimate_drift(blocks, settle(blocks), dispersion=1.0)
    assert 0.01 < estimate.chance < 0.5
    assert not estimate.is_discounting
