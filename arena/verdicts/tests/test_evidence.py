"""Beliefs by results that need not be as the rating model has them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from arena.ratings.base import BETA, MU
from arena.ratings.counts import Floats, Ints, PairCounts, count_results
from arena.ratings.pair_leads import infer_pair_leads
from arena.ratings.pair_variance import EXPECTED, estimate_pair_variance
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from arena.verdicts import registry as questions
from arena.verdicts.base import StopReason, Terms
from arena.verdicts.beliefs import Belief
from arena.verdicts.circles import group_by_circles, rank_agents
from arena.verdicts.drift import estimate_drift
from arena.verdicts.evidence import ModelChecks, infer_belief
from arena.verdicts.seed_blocks import SeedBlocks

N = 8
NOISE = np.sqrt(2) * BETA
LeadOf = Callable[[Ints, Ints, Ints], Floats]


def play_blocks(
    n_blocks: int, seed: int, lead_of: LeadOf, *, repeats: bool = False, seat: float = 0.0
) -> SeedBlocks:
    """Return blocks of random pairs; lead_of: of pairs and block numbers."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, N, n_blocks)
    second = (first + rng.integers(1, N, n_blocks)) % N
    noise = rng.normal(0, NOISE, (n_blocks, 2))
    if repeats:
        noise[:, 1] = noise[:, 0]
    lead = lead_of(first, second, np.arange(n_blocks))[:, None] + noise + [seat, -seat]
    return SeedBlocks(first, second, np.sign(lead).astype(np.int64), np.arange(n_blocks))


def count_games(blocks: SeedBlocks) -> PairCounts:
    first, second, scores, _ = blocks
    games = ([first, second, scores[:, 0]], [second, first, -scores[:, 1]])
    return count_results(np.concatenate([np.stack(game, axis=1) for game in games]))


def settle(counts: PairCounts, weight: float | Floats) -> SettledRatings:
    return settle_ratings(counts, N, weight=weight, terms=FittedTerms(seat=True, draws=True))


def infer(blocks: SeedBlocks) -> tuple[Belief, ModelChecks]:
    return infer_belief(count_games(blocks), blocks, settle)


def skills_of(seed: int, spread: float = 6.0) -> Floats:
    return np.random.default_rng([seed, 9]).normal(MU, spread, N)


def as_ranked(skill: Floats) -> LeadOf:
    return lambda first, second, _: skill[first] - skill[second]


@pytest.mark.no_cover
def test_in_its_own_world_little_is_found_and_little_is_lost() -> None:
    excesses, wider = list[float](), list[float]()
    for seed in range(12):
        blocks = play_blocks(200, seed, as_ranked(skills_of(seed)))
        belief, checks = infer(blocks)
        excesses += [checks.pairs.excess, checks.drift.excess]
        wider.append(float((belief.sd / settle(count_games(blocks), 1.0).sd).mean()))
    assert abs(np.mean(excesses)) < 1
    assert max(excesses) < 3.5
    assert 1.0 <= np.median(wider) < 1.1


def test_games_that_repeat_each_other_count_less() -> None:
    _, checks = infer(play_blocks(400, 1, as_ranked(skills_of(1, 2.0)), repeats=True))
    assert checks.dispersion == pytest.approx(2.0, abs=0.25)


def rock_paper_scissors(skill: Floats) -> LeadOf:
    """Let the first three beat each other in a circle, far above all others."""
    deviation = np.zeros((N, N))
    for winner, loser in ((0, 1), (1, 2), (2, 0)):
        deviation[winner, loser], deviation[loser, winner] = 10, -10
    level = skill.copy()
    level[:3] = MU + 14
    return lambda first, second, _: level[first] - level[second] + deviation[first, second]


def test_pairs_that_depart_from_a_ranking_are_found_and_believed() -> None:
    blocks = play_blocks(600, 2, rock_paper_scissors(skills_of(2, 4.0)))
    belief, checks = infer(blocks)
    assert checks.pairs.excess > 4
    assert 5 < checks.pairs.variance < 60
    winners, losers = np.array([0, 1, 2]), np.array([1, 2, 0])
    assert (belief.superiority(winners, losers) > 0.99).all()
    assert (belief.superiority(losers, winners) < 0.01).all()
    groups = group_by_circles(belief)
    assert set(groups[0].tolist()) == {0, 1, 2}
    assert rank_agents(belief).tolist() == np.concatenate(groups).tolist()


@pytest.mark.parametrize("question", ["best", "top_k", "rank_all"])
def test_a_circle_ends_with_no_order_and_names_who_is_in_it(question: str) -> None:
    skill = np.linspace(MU - 25, MU + 10, N)
    blocks = play_blocks(900, 3, rock_paper_scissors(skill))
    belief, _ = infer(blocks)
    verdict = questions.get(question).judge(belief, Terms(0.05, 1.0, {"k": 2}))
    assert verdict is not None
    assert verdict.why is StopReason.NO_ORDER
    assert set(verdict.subjects[:3]) == {0, 1, 2}
    assert verdict.probability > 0.95
    statement = verdict.format_statement([f"a{agent}" for agent in verdict.subjects])
    assert statement.startswith("there is no ")


def test_three_who_always_beat_each_other_in_a_circle_soon_have_no_order() -> None:
    winners, losers = np.tile([[0, 1, 2], [1, 2, 0]], 10)
    blocks = SeedBlocks(
        winners, losers, np.ones((len(winners), 2), np.int64), np.arange(len(winners))
    )
    belief, checks = infer_belief(
        count_games(blocks), blocks, lambda counts, weight: settle_ratings(counts, 3, weight=weight)
    )
    # Their ratings are all alike, and yet each beats the next one.
    assert checks.pairs.variance > BETA**2
    verdict = questions.get("rank_all").judge(belief, Terms(0.05))
    assert verdict is not None
    assert (verdict.why, len(verdict.upsets)) == (StopReason.NO_ORDER, 1)


def test_a_circle_below_the_best_leaves_it_the_best() -> None:
    skill = np.linspace(MU - 25, MU + 10, N)
    circle = rock_paper_scissors(skill)

    def lead_of(first: Ints, second: Ints, block: Ints) -> Floats:
        above = 30.0 * ((first == N - 1).astype(float) - (second == N - 1))
        lead: Floats = circle(first, second, block) + above
        return lead

    belief, _ = infer(play_blocks(900, 4, lead_of))
    verdict = questions.get("best").judge(belief, Terms(0.05, 1.0))
    assert verdict is not None
    assert (verdict.why, verdict.subjects) == (StopReason.DECIDED, (N - 1,))


def test_strength_that_drifts_is_found_and_the_newest_results_count_most() -> None:
    skill = skills_of(5, 3.0)

    def lead_of(first: Ints, second: Ints, block: Ints) -> Floats:
        # Agent 0 gains sixteen points in the course of the campaign.
        gain = block / 800 * 16
        own = (first == 0).astype(float) - (second == 0)
        lead: Floats = skill[first] - skill[second] + gain * own
        return lead

    blocks = play_blocks(800, 5, lead_of)
    belief, checks = infer(blocks)
    assert checks.drift.excess > 4
    assert int((checks.drift.departures**2).sum(axis=0).argmax()) == 0
    still = settle(count_games(blocks), 1.0)
    others = skill[1:].mean()

    def above(mu: Floats) -> float:
        return float(mu[0] - mu[1:].mean())

    assert above(belief.mu) > above(still.mu) + 2
    assert above(belief.mu) == pytest.approx(skill[0] + 16 - others, abs=8)
    assert (belief.sd > still.sd).all()


def test_without_blocks_it_is_the_plain_fit() -> None:
    counts = count_games(play_blocks(100, 6, as_ranked(skills_of(6))))
    none = SeedBlocks(*(np.zeros((0, *shape), np.int64) for shape in ((), (), (2,), ())))
    belief, checks = infer_belief(counts, none, settle)
    assert (checks.dispersion, checks.drift.excess) == (1.0, 0.0)
    np.testing.assert_allclose(belief.mu, settle(counts, 1.0).mu)
    nothing, checks = infer_belief(count_results([]), none, settle)
    assert (nothing.mu == MU).all()
    assert checks.pairs.variance == 0


def test_the_order_of_agents_changes_nothing() -> None:
    blocks = play_blocks(300, 7, rock_paper_scissors(skills_of(7)))
    turned = blocks._replace(first=N - 1 - blocks.first, second=N - 1 - blocks.second)
    swapped = blocks._replace(
        first=blocks.second, second=blocks.first, scores=-blocks.scores[:, ::-1]
    )
    belief = infer(blocks)[0]
    np.testing.assert_allclose(infer(turned)[0].mu[::-1], belief.mu, atol=1e-6)
    np.testing.assert_allclose(infer(swapped)[0].mu, belief.mu, atol=1e-6)


def test_a_pair_that_never_met_goes_by_the_ratings_and_its_own_doubt() -> None:
    counts = count_results([(0, 1, 1), (1, 2, 1), (0, 1, -1), (1, 2, 1)] * 5)
    settled = settle_ratings(counts, 3)
    leads = infer_pair_leads(
        counts, settled.mu[:, None] - settled.mu, pair_variance=4.0, draw_probability=0.1
    )
    assert (leads.share[0, 2], leads.own[0, 2], leads.variance[0, 2]) == (1.0, 0.0, 4.0)
    assert leads.share[0, 1] < 1
    assert leads.variance[0, 1] < 4
    np.testing.assert_allclose(leads.own, -leads.own.T)


def test_a_single_pair_or_none_departs_from_nothing() -> None:
    for results in ([], [(0, 1, 1)] * 20):
        counts = count_results(results)
        settled = settle_ratings(counts, 2)
        assert settled.covariance is not None
        estimate = estimate_pair_variance(
            counts, settled.mu, settled.covariance, draw_probability=0.1, spread=8.0
        )
        assert estimate.variance == 0
    few = SeedBlocks(np.array([0]), np.array([1]), np.array([[1, -1]]), np.array([0]))
    assert not estimate_drift(few, settle_ratings(counts, 2), dispersion=1.0).is_likely


def test_pairs_count_as_checked_where_something_is_expected_of_them() -> None:
    blocks = play_blocks(60, 2, rock_paper_scissors(skills_of(2, 4.0)))
    for expected in (0.0, 0.1):
        belief, _ = infer_belief(count_games(blocks), blocks, settle, expected_departures=expected)
        assert belief.is_checked is (expected > 0)


def test_where_the_seat_decides_most_games_pairs_are_not_thought_to_depart_far() -> None:
    blocks = play_blocks(200, 2, as_ranked(skills_of(2, 8.0)), seat=20.0)
    terms = Terms(error=0.05, margin=1.0)
    # What two did against each other would tell of their lead after thousands of games only.
    belief, _ = infer_belief(count_games(blocks), blocks, settle, expected_departures=EXPECTED)
    verdict = questions.get("best").judge(belief, terms)
    assert verdict is not None
    assert verdict.subjects == (int(np.argmax(skills_of(2, 8.0))),)


def infer_from_far_apart(n_won: int) -> Belief:
    """Return what is believed where each beats all below, and the best the last so many times."""
    rows = [
        (one, other, 3, 0, 0)
        for one in range(N)
        for other in range(one + 1, N)
        if other - one < N - 1
    ]
    rows.append((0, N - 1, n_won, 0, 0))
    back = [(other, one, 0, 0, n) for one, other, n, _, _ in rows]
    none = np.empty(0, np.int64)
    blocks = SeedBlocks(none, none, np.empty((0, 2), np.int64), none)
    return infer_belief(PairCounts.from_rows([*rows, *back]), blocks, settle)[0]


def test_who_never_met_may_have_learnt_to_beat_just_that_one() -> None:
    """One pair of 28 in three fields of 20, and then it beats it or is beaten."""
    best, last = np.array([0]), np.array([N - 1])
    unmet, met = infer_from_far_apart(0), infer_from_far_apart(3)
    assert unmet.doubt_upsets(best, last)[0] == pytest.approx(0.15 / 28 / 2, rel=0.05)
    assert met.doubt_upsets(best, last)[0] < 0.15 / 28 / 8
    assert 1 - sum(unmet.chances_of_best()) > 1 - sum(met.chances_of_best()) > 0


def test_only_who_is_named_must_have_met_all_and_less_so_under_a_strict_error() -> None:
    belief = infer_from_far_apart(0)
    plain = replace(belief, departures=None)

    def doubt(question: str, error: float) -> float:
        question_kind, terms = questions.get(question), Terms(error)
        return (
            question_kind.guess(plain, terms).probability
            - question_kind.guess(belief, terms).probability
        )

    assert doubt("best", 0.05) > 0.15 / 28 / 2
    assert doubt("best", 0.01) == pytest.approx(doubt("best", 0.05) / 5)
    assert doubt("rank_all", 0.05) == 0


def test_two_agents_are_compared_as_before() -> None:
    """A verdict about two goes by one belief: by the normal one, departures or not."""
    belief = infer_from_far_apart(0)
    terms = Terms(0.05, 0.0, {"a": 0, "b": N - 1, "lead": 0.0})
    plain = questions.get("beats").judge(replace(belief, departures=None), terms)
    assert plain is not None
    assert questions.get("beats").judge(belief, terms) == plain


def test_a_departure_makes_no_lead_surer() -> None:
    belief = infer_from_far_apart(3)
    row, column = np.indices((N, N)).reshape(2, -1)
    assert np.all(belief.doubt_upsets(row, column) >= 0)
    assert not np.any(replace(belief, departures=None).doubt_upsets(row, column))


@pytest.mark.parametrize("n_agents", [2, 65])
def test_pairs_of_two_agents_or_very_many_are_not_looked_at(n_agents: int) -> None:
    rows = [(one, one + 1, 2, 0, 1) for one in range(n_agents - 1)]
    none = np.empty(0, np.int64)
    blocks = SeedBlocks(none, none, np.empty((0, 2), np.int64), none)
    counts = PairCounts.from_rows(rows)
    belief, _ = infer_belief(
        counts, blocks, lambda some, weight: settle_ratings(some, n_agents, weight=weight)
    )
    assert belief.departures is None
