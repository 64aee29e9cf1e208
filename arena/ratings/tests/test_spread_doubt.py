"""Intervals that hold whatever the spread of the field: wide of few results, unchanged of many."""

from collections.abc import Callable

import numpy as np
import pytest

from arena.ratings import information_matrix, spread_doubt
from arena.ratings.base import BETA, MU, unit_draw_margin
from arena.ratings.counts import Floats, PairCounts, count_results
from arena.ratings.field_shapes import list_splits
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.posterior import Objective, find_mode
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from arena.ratings.skewed_posterior import Rows
from arena.ratings.tests.simulated import simulated

DOUBTED = FittedTerms(has_spread_doubt=True)


def covered(settled: SettledRatings, skill: Floats) -> float:
    error = (settled.mu - settled.mu.mean()) - (skill - skill.mean())
    return float(np.mean(np.abs(error) < 1.96 * settled.sd))


@pytest.mark.parametrize(("n_agents", "n_results"), [(10, 30), (60, 240)])
def test_intervals_of_few_results_hold_what_they_say(n_agents: int, n_results: int) -> None:
    wide, narrow = list[float](), list[float]()
    for seed in range(24):
        field = simulated(n_agents, n_results, seed=seed)
        counts = count_results(field.results)
        wide.append(covered(settle_ratings(counts, n_agents, terms=DOUBTED), field.skill))
        narrow.append(covered(settle_ratings(counts, n_agents), field.skill))
    assert np.mean(wide) > 0.9
    assert np.mean(wide) > np.mean(narrow) + 0.03


def test_it_is_the_sd_alone_that_widens_and_never_narrows_much() -> None:
    counts = count_results(simulated(10, 60, seed=1).results)
    plain, doubted = settle_ratings(counts, 10), settle_ratings(counts, 10, terms=DOUBTED)
    assert np.array_equal(plain.mu, doubted.mu)
    assert np.array_equal(np.asarray(plain.covariance), np.asarray(doubted.covariance))
    assert (doubted.sd > 0.99 * plain.sd).all()
    assert doubted.sd.mean() > 1.02 * plain.sd.mean()


def test_much_evidence_leaves_it_as_it_is() -> None:
    counts = count_results(simulated(10, 20_000, seed=2).results)
    plain, doubted = settle_ratings(counts, 10), settle_ratings(counts, 10, terms=DOUBTED)
    np.testing.assert_allclose(doubted.sd, plain.sd, rtol=0.02)


def test_fields_of_many_results_go_by_the_mode_of_each_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = count_results(simulated(10, 60, seed=1).results)
    terms = DOUBTED._replace(seat=True)
    exact = settle_ratings(counts, 10, terms=terms)
    monkeypatch.setattr(spread_doubt, "_MOST_NUMBERS", 0)
    by_modes = settle_ratings(counts, 10, terms=terms)
    assert (by_modes.sd > settle_ratings(counts, 10, terms=FittedTerms(seat=True)).sd).mean() > 0.5
    # But for who has lost all: of it no mode says how far below it may be.
    assert np.median(by_modes.sd / exact.sd) == pytest.approx(0.85, abs=0.1)


def test_large_fields_and_agents_without_results_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = count_results(simulated(30, 400, seed=3).results)
    for n_agents in (30, 31):
        plain = settle_ratings(counts, n_agents)
        doubted = settle_ratings(counts, n_agents, terms=DOUBTED)
        assert (doubted.sd[30:] == plain.sd[30:]).all()
    monkeypatch.setattr(information_matrix, "DENSE_LIMIT", 10)
    assert np.array_equal(
        settle_ratings(counts, 30, terms=DOUBTED).sd, settle_ratings(counts, 30).sd
    )
    monkeypatch.undo()
    assert settle_ratings(count_results([]), 3, terms=DOUBTED).mu.tolist() == [MU] * 3
    chain = FittedTerms(has_spread_doubt=True)
    two = count_results([(0, 1, 1)] * 5)
    linked = settle_ratings(two, 2, terms=chain, parents=[-1, 0])
    assert np.array_equal(linked.sd, settle_ratings(two, 2, parents=[-1, 0]).sd)


def test_the_order_of_results_changes_no_bit() -> None:
    results = simulated(12, 90, seed=4).results
    wanted = settle_ratings(count_results(results), 12, terms=DOUBTED).sd
    mixed = np.random.default_rng(1).permutation(results)
    assert np.array_equal(settle_ratings(count_results(mixed), 12, terms=DOUBTED).sd, wanted)


def play_round_robin(skill: Floats, n_rounds: int, margin: float, seed: int) -> PairCounts:
    rng, pairs = np.random.default_rng(seed), np.triu_indices(len(skill), 1)
    first, second = (np.tile(column, n_rounds) for column in pairs)
    lead = skill[first] - skill[second] + np.sqrt(2) * BETA * rng.standard_normal(len(first))
    score = np.where(np.abs(lead) < margin, 0, np.sign(lead)).astype(np.int64)
    return count_results(np.stack([first, second, score], axis=1))


def cover_fields(draw_skill: Callable[[np.random.Generator], Floats], margin: float = 0.0) -> float:
    shares = []
    for seed in range(24):
        skill = draw_skill(np.random.default_rng(seed))
        counts = play_round_robin(skill, 4, margin, seed)
        terms = FittedTerms(draws=True, has_spread_doubt=True)
        shares.append(covered(settle_ratings(counts, len(skill), terms=terms), skill))
    return float(np.mean(shares))


def test_a_generation_that_always_loses_may_be_anywhere_below() -> None:
    def draw_generations(rng: np.random.Generator) -> Floats:
        skill: Floats = rng.normal(0, 2, 10) + np.repeat([0.0, 24.0], 5)
        return skill

    # One normal spread alone holds some 85 % of the agents.
    assert cover_fields(draw_generations) > 0.94


def test_one_agent_far_ahead_moves_nobody_out_of_its_interval() -> None:
    def draw_leader(rng: np.random.Generator) -> Floats:
        skill: Floats = rng.normal(0, 8, 10) + np.append(np.zeros(9), 26.0)
        return skill

    assert cover_fields(draw_leader) > 0.9


def test_a_draw_margin_that_is_not_known_widens_intervals() -> None:
    margin = unit_draw_margin(0.8) * np.sqrt(2) * BETA
    assert cover_fields(lambda rng: rng.normal(0, 8, 10), margin) > 0.9


def test_agents_are_cut_where_least_is_known_of_who_leads_by_how_much() -> None:
    skill = np.array([0.0, 30.0, 1.0, 29.0, 2.0, 31.0])
    counts = play_round_robin(skill, 20, 0.0, 1)
    objective = Objective(PairLikelihood(counts, 6, margin=0.1, weight=1.0))
    mode = find_mode(objective, 2.0, np.zeros(6))
    rows = Rows(objective)
    shapes = [*list_splits(rows, mode, rows.start(mode))]
    covariance = np.linalg.inv(shapes[0].precision)
    elder, younger = [0, 2, 4], [1, 3, 5]
    assert covariance[np.ix_(elder, younger)] == pytest.approx(0, abs=1e-9)
    # All of a group share its mean, which has this variance.
    assert covariance[0, 2] == pytest.approx(1.5**2, rel=1e-6)
