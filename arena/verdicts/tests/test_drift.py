"""Strength that walks: how fast, and what older results say of now."""

import numpy as np
import pytest

from arena.ratings.base import BETA, MU
from arena.ratings.counts import Floats, PairCounts, count_results
from arena.ratings.settled import SettledRatings, settle_ratings
from arena.verdicts import drift
from arena.verdicts.beliefs import Belief
from arena.verdicts.drift import estimate_drift
from arena.verdicts.evidence import ModelChecks, infer_belief
from arena.verdicts.seed_blocks import SeedBlocks
from arena.verdicts.walks import STEPS, weigh_steps

N = 8
PAIRS = np.triu_indices(N, 1)


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


def infer(blocks: SeedBlocks, *, may_change: bool = False) -> tuple[Belief, ModelChecks]:
    return infer_belief(
        count_games(blocks),
        blocks,
        lambda counts, weight: settle_ratings(counts, N, weight=weight),
        may_change=may_change,
    )


def weigh(blocks: SeedBlocks) -> Floats:
    return weigh_steps(blocks, settle(blocks), dispersion=1.0, n_parts=16, steady=0.8)


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
    chances = weigh_steps(none, settle(none), dispersion=1.0, n_parts=8, steady=0.8)
    assert chances.sum() == pytest.approx(1)
    assert chances[0] > 0.5
    assert np.ptp(chances[1:]) < 1e-9


def test_games_that_repeat_each_other_say_less_about_a_walk() -> None:
    blocks = play_along(walk_strengths(300, STEPS[3], seed=3), 3)
    plain, doubled = (
        weigh_steps(blocks, settle(blocks), dispersion=dispersion, n_parts=16, steady=0.8)[0]
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


def test_where_pairs_share_seeds_a_walk_counts_once_it_is_likely() -> None:
    shared = play_round_robins(0, n_rounds=6, liking=BETA / 2, seed=2)
    # As if all blocks, or all but a third of them, had a seed of their own.
    alone = shared._replace(seed=np.arange(len(shared.first)))
    mostly = shared._replace(seed=np.maximum(alone.seed - len(shared.first) // 3, 0))
    for blocks, counts in ((shared, False), (alone, True), (mostly, True)):
        belief, checks = infer(blocks, may_change=True)
        assert 0.01 < checks.drift.chance < 0.5
        assert (belief.other is not None) is counts


@pytest.mark.parametrize(("step", "is_likely"), [(0.0, False), (STEPS[4], True)])
def test_walks_of_large_fields_are_followed_too(step: float, *, is_likely: bool) -> None:
    n = 100
    blocks = play_along(walk_strengths(1_000, step, seed=7, n=n), 7)
    estimate = estimate_drift(blocks, settle(blocks, n), dispersion=1.0)
    assert estimate.is_likely is is_likely


@pytest.mark.parametrize("n", [200, 500])
def test_a_large_field_that_is_far_apart_does_not_walk(n: int) -> None:
    strengths = 100.0 * walk_strengths(1_000, 0.0, seed=3, n=n)
    blocks = play_along(strengths, 3)
    assert not estimate_drift(blocks, settle(blocks, n), dispersion=1.0).is_likely


def test_of_two_of_whom_one_always_wins_nothing_walks() -> None:
    doubts = []
    for n_blocks in (40, 200, 1_000):
        first = np.zeros(n_blocks, np.int64)
        scores = np.ones((n_blocks, 2), np.int64)
        belief, checks = infer(
            SeedBlocks(first, first + 1, scores, np.arange(n_blocks)), may_change=True
        )
        assert np.isnan(checks.drift.chance)
        doubts.append(1 - belief.superiority(np.array([0]), np.array([1]))[0])
    # With each win the winner is surer to be better.
    assert doubts == sorted(doubts, reverse=True)
    assert doubts[-1] < 1e-4


def test_of_very_large_fields_nothing_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "MOST_FOLLOWED", N - 1)
    blocks = play_along(walk_strengths(300, STEPS[4], seed=7), 7)
    unfollowed = estimate_drift(blocks, settle(blocks), dispersion=1.0)
    assert np.isnan(unfollowed.chance)
    assert not unfollowed.is_likely


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


def test_where_agents_may_change_verdicts_are_less_sure_by_what_may_be() -> None:
    blocks = play_along(walk_strengths(60, 0, seed=1), 1)
    alone, checks = infer(blocks)
    belief, checks_of_others = infer(blocks, may_change=True)
    assert 0.01 < checks.drift.chance < checks_of_others.drift.chance < 0.5
    assert alone.other is None
    assert belief.other is not None
    assert belief.other.chance == checks_of_others.drift.chance
    assert belief.expected_leads(*PAIRS) == pytest.approx(alone.expected_leads(*PAIRS))
    # The same results, fewer of them of now: pairs are nearer to being equal.
    surer, shown = (np.abs(one.superiority(*PAIRS) - 0.5) for one in (alone, belief))
    assert shown.mean() < surer.mean()


def test_strength_that_surely_stays_is_believed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "_LEAST_CHANCE", 0.5)
    belief, checks = infer(play_along(walk_strengths(300, 0, seed=1), 1), may_change=True)
    assert checks.drift.chance < 0.5
    assert checks.drift.speeds is None
    assert belief.other is None
