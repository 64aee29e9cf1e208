"""Ratings that hold whatever the spread of the field: less sure of few results, as sure of many."""

from math import log

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from arena.ratings import information_matrix, model_evidence, spread_doubt
from arena.ratings.base import BETA, MAX_SPREAD, MU, SIGMA, Z95, unit_draw_margin
from arena.ratings.counts import Floats, Ints, PairCounts, count_results
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.margin_doubt import list_margins
from arena.ratings.model_evidence import Evidence
from arena.ratings.posterior import Objective, Posterior, find_mode
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from arena.ratings.tests.simulated import simulated

Bools = NDArray[np.bool_]
DOUBTED = FittedTerms(is_shown=True)


def doubt(counts: PairCounts, n_agents: int) -> SettledRatings:
    return settle_ratings(counts, n_agents, terms=DOUBTED)


def covered(settled: SettledRatings, skill: Floats) -> float:
    truth = skill - skill.mean() + settled.mu.mean()
    return float(np.mean((settled.low < truth) & (truth < settled.high)))


def width(settled: SettledRatings) -> Floats:
    wide: Floats = settled.high - settled.low
    return wide


@pytest.mark.no_cover
@pytest.mark.parametrize(("n_agents", "n_results"), [(10, 30), (60, 240)])
def test_intervals_of_few_results_hold_what_they_say(n_agents: int, n_results: int) -> None:
    wide, narrow = list[float](), list[float]()
    for seed in range(24):
        field = simulated(n_agents, n_results, seed=seed)
        counts = count_results(field.results)
        wide.append(covered(doubt(counts, n_agents), field.skill))
        narrow.append(covered(settle_ratings(counts, n_agents), field.skill))
    assert np.mean(wide) > 0.9
    assert np.mean(wide) > np.mean(narrow) + 0.03


@pytest.mark.no_cover
def test_who_is_better_is_so_as_often_as_is_claimed() -> None:
    claimed, right, claimed_by_mode = list[Floats](), list[Floats](), list[Floats]()
    for seed in range(40):
        field = simulated(10, 30, seed=seed)
        settled = doubt(count_results(field.results), 10)
        i, j = np.triu_indices(10, 1)
        above = settled.superiorities()
        assert settled.superiority(2, 7) == above[2, 7] == pytest.approx(1 - above[7, 2])
        claimed.append(np.maximum(above[i, j], above[j, i]))
        right.append((field.skill[i] > field.skill[j]) == (above[i, j] > above[j, i]))
        plain = settle_ratings(count_results(field.results), 10).superiorities()
        claimed_by_mode.append(np.maximum(plain[i, j], plain[j, i]))
    assert np.mean(claimed) == pytest.approx(np.mean(right), abs=0.015)
    assert np.mean(claimed_by_mode) < np.mean(right) - 0.015


def test_groups_that_never_lose_to_each_other_lie_within_their_intervals() -> None:
    """How far apart two groups are shows in no result between them: the mode is far too near."""
    shares, sides = list[float](), list[float]()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        skill = np.where(np.arange(10) < 5, 0.0, 21.0) + rng.normal(0, 2, 10)
        settled = doubt(count_results(play_rounds(skill, 40, rng)), 10)
        shares.append(covered(settled, skill))
        above = settled.mu > settled.mu.mean()
        upper, lower = settled.high - settled.mu, settled.mu - settled.low
        sides.append(float(np.mean(upper[above] / lower[above])))
    assert 0.9 < np.mean(shares) <= 0.99
    assert min(sides) > 1.2


def play_rounds(
    skill: Floats, n_rounds: int, rng: np.random.Generator, *, margin: float = 0.0
) -> Ints:
    """Return the results of rounds in each of which every agent meets one other."""
    pairs = [rng.permutation(len(skill)).reshape(-1, 2) for _ in range(n_rounds)]
    first, second = np.concatenate(pairs).T
    lead = skill[first] - skill[second] + BETA * np.sqrt(2) * rng.normal(size=len(first))
    return np.stack([first, second, np.sign(lead).astype(int) * (abs(lead) > margin)], axis=1)


def test_intervals_alone_are_others_and_hold_the_rating() -> None:
    counts = count_results(simulated(10, 60, seed=1).results)
    plain, doubted = settle_ratings(counts, 10), doubt(counts, 10)
    assert np.array_equal(plain.mu, doubted.mu)
    assert np.array_equal(np.asarray(plain.covariance), np.asarray(doubted.covariance))
    assert np.array_equal(plain.sd, doubted.sd)
    assert (width(doubted) > 0.97 * width(plain)).all()
    assert width(doubted).mean() > 1.02 * width(plain).mean()
    assert (doubted.low < doubted.mu).all()
    assert (doubted.mu < doubted.high).all()


def test_who_always_wins_lies_within_the_interval_however_often() -> None:
    for n in (1, 20, 500):
        settled = doubt(count_results([(0, 1, 1), (0, 2, 1), (1, 2, 1)] * n), 3)
        assert (settled.low < settled.mu).all()
        assert (settled.mu < settled.high).all()
        assert settled.high[0] - settled.mu[0] > settled.mu[0] - settled.low[0]


def test_more_wins_never_make_it_less_sure_who_is_better() -> None:
    chances = [doubt(count_results([(0, 1, 1)] * n), 2).superiority(0, 1) for n in (1, 10, 1_000)]
    assert chances == sorted(chances)
    assert chances[-1] > 0.999


@pytest.mark.no_cover
def test_who_is_rated_higher_is_the_likelier_one_to_be_better() -> None:
    terms = FittedTerms(seat=True, draws=True, is_shown=True)
    for seed in range(15):
        field = simulated(6, 14, seed=seed)
        settled = settle_ratings(count_results(field.results), 6, terms=terms)
        higher = settled.mu[:, None] > settled.mu + 1e-9
        above = settled.superiorities()
        assert (above[higher] >= 0.5).all()
        assert above + above.T == pytest.approx(np.ones((6, 6)))


@pytest.mark.no_cover
def test_how_far_two_are_apart_lies_within_its_interval_as_often_as_it_says() -> None:
    held = list[Bools]()
    for seed in range(30):
        field = simulated(8, 40, seed=seed)
        settled = doubt(count_results(field.results), 8)
        i, j = np.triu_indices(8, 1)
        low, high = settled.gap_ends(i, j)
        np.testing.assert_allclose(settled.gap_ends(j, i), (-high, -low))
        lead = settled.mu[i] - settled.mu[j]
        assert ((low <= lead) & (lead <= high)).all()
        assert settled.gap_ends(i, i) == pytest.approx(np.zeros((2, len(i))))
        truth = field.skill[i] - field.skill[j]
        held.append((low <= truth) & (truth <= high))
    assert 0.93 < np.mean(held) < 0.98


@pytest.mark.parametrize("rows", [[(0, 1, 0, 1, 0)], [(0, 1, 5, 0, 5), (1, 2, 3, 0, 3)]])
def test_equals_are_as_likely_above_as_below(rows: list[tuple[int, int, int, int, int]]) -> None:
    settled = settle_ratings(
        PairCounts.from_rows(rows), 3, terms=FittedTerms(draws=True, is_shown=True)
    )
    (low,), (high,) = settled.gap_ends(np.array([0]), np.array([1]))
    assert settled.mu[0] == settled.mu[1]
    assert -low == pytest.approx(high)
    back = settled.gap_ends(np.array([1]), np.array([0]))
    assert np.ravel(back) == pytest.approx((low, high))


@given(
    outcomes=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 400)), min_size=3, max_size=10),
    draw_probability=st.sampled_from([0.05, 0.1, 0.5, 0.9]),
    has_seat=st.booleans(),
)
@example(outcomes=[(1, 400), (1, 400), (0, 200)], draw_probability=0.1, has_seat=True)
@example(outcomes=[(1, 16), (0, 212), (1, 18)], draw_probability=0.5, has_seat=False)
@settings(deadline=None, max_examples=40)
def test_agents_that_always_play_alike_are_rated_too(
    outcomes: list[tuple[int, int]], draw_probability: float, has_seat: bool
) -> None:
    """Each pair always ends alike: no margin and no spread explains that."""
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    rows = list[tuple[int, int, int, int, int]]()
    for (i, j), (kind, times) in zip(pairs, outcomes, strict=False):
        won, drew, lost = (times * (kind == one) for one in range(3))
        rows += [(i, j, won, drew, lost), (j, i, lost, drew, won)]
    terms = FittedTerms(seat=has_seat, draws=True, is_shown=True)
    settled = settle_ratings(
        PairCounts.from_rows(rows), 5, draw_probability=draw_probability, terms=terms
    )
    assert np.isfinite(np.concatenate([settled.low, settled.high])).all()
    # Not of a margin that is e^110 times less likely: no wider than the widest scales allow.
    assert width(settled).max() < 2 * Z95 * 9 * MAX_SPREAD
    assert (settled.low <= settled.mu).all()
    assert (settled.mu <= settled.high).all()


@pytest.mark.no_cover
@pytest.mark.parametrize(("n_agents", "n_results"), [(4, 6), (6, 30), (8, 400)])
def test_a_gap_may_be_none_where_it_is_not_sure_who_is_better(
    n_agents: int, n_results: int
) -> None:
    n_sure = 0
    for seed in range(10):
        field = simulated(n_agents, n_results, seed=seed)
        # The last one has not played.
        settled = doubt(count_results(field.results), n_agents + 1)
        i, j = np.triu_indices(n_agents + 1, 1)
        low, high = settled.gap_ends(i, j)
        is_open = abs(settled.superiorities()[i, j] - 0.5) < 0.475
        assert (((low < 0) & (high > 0)) == is_open).all()
        n_sure += int((~is_open).sum())
    assert n_sure


def test_who_always_won_is_apart_from_who_always_lost() -> None:
    ends = doubt(count_results([(0, 1, 1)] * 200), 2).gap_ends(np.array([0]), np.array([1]))
    (low,), (high,) = ends
    assert low > 0
    # As nobody knows how far.
    assert high - low > 10


def test_no_chance_is_above_one() -> None:
    # A sum of shares comes to a little more there.
    sure = doubt(count_results(simulated(8, 400, seed=2).results), 8).superiorities()
    assert sure.max() <= 1
    assert sure.min() >= 0


def test_whoever_has_not_played_is_less_sure_than_whoever_has() -> None:
    # In the second field its agents are less sure than the spreads themselves.
    for field in (simulated(2, 1, seed=0), simulated(6, 30, seed=14)):
        n = len(field.skill)
        settled = doubt(count_results(field.results), n + 1)
        assert width(settled)[n] >= width(settled)[:n].max()
        assert settled.low[n] + settled.high[n] == pytest.approx(2 * MU)


def test_no_spread_is_thought_of_that_no_fit_may_come_to() -> None:
    # In a strict order the largest spread explains everything best, whatever it is.
    always = count_results([(i, j, 1) for i in range(6) for j in range(i + 1, 6)] * 1_000)
    assert width(doubt(always, 6)).max() < 4 * MAX_SPREAD


def test_the_evidence_of_a_spread_counts_the_seat() -> None:
    counts = count_results(simulated(5, 40, seed=3).results)
    likelihood = PairLikelihood(counts, 5, margin=0.2, weight=1.0, is_seated=True)
    objective = Objective(likelihood)

    def integrate(spread: float) -> float:
        """Return Laplace's approximation by the whole matrix, that of the seat included."""
        there = find_mode(objective, spread, np.zeros(6))
        point = objective.at(model_evidence.join_seat(there), spread)
        inverse = np.stack([point.information.solve(column) for column in np.eye(6)])
        before = ((log(spread) - model_evidence._USUAL) / model_evidence._PRIOR_SD) ** 2
        volume = float(np.linalg.slogdet(inverse)[1])
        return point.value - 5 * log(spread) + (volume - before) / 2

    log_evidence = [
        model_evidence.weigh_mode(objective, find_mode(objective, spread, np.zeros(6)))
        for spread in (0.5, 2.0)
    ]
    assert log_evidence[1] - log_evidence[0] == pytest.approx(integrate(2.0) - integrate(0.5))


def test_much_evidence_leaves_it_as_it_is() -> None:
    counts = count_results(simulated(10, 20_000, seed=2).results)
    plain, doubted = settle_ratings(counts, 10), doubt(counts, 10)
    np.testing.assert_allclose(width(doubted), width(plain), rtol=0.02)
    np.testing.assert_allclose(doubted.low, plain.low, atol=0.1)


def test_of_more_results_each_mode_is_taken_for_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = count_results(simulated(10, 60, seed=1).results)
    whole = doubt(counts, 10)
    monkeypatch.setattr(spread_doubt, "_MOST_ROWS", 0)
    by_modes = doubt(counts, 10)
    assert (width(by_modes) >= 0.99 * width(settle_ratings(counts, 10))).all()
    assert width(by_modes) == pytest.approx(width(whole), rel=0.5)
    # A field that is known so well that its spread is not in doubt.
    monkeypatch.setattr(spread_doubt, "_ENOUGH", 0)
    assert np.array_equal(doubt(counts, 10).low, settle_ratings(counts, 10).low)
    monkeypatch.setattr(spread_doubt, "_MOST_ROWS", 1_000)
    assert doubt(counts, 10).superiorities().shape == (10, 10)


def test_large_fields_and_agents_without_results_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = count_results(simulated(30, 400, seed=3).results)
    for n_agents in (30, 31):
        plain, doubted = settle_ratings(counts, n_agents), doubt(counts, n_agents)
        assert (width(doubted)[30:] > width(plain).max()).all()
        assert (doubted.mu[30:] == MU).all()
        assert doubted.superiorities().shape == (n_agents, n_agents)
    monkeypatch.setattr(information_matrix, "DENSE_LIMIT", 10)
    assert np.array_equal(doubt(counts, 30).high, settle_ratings(counts, 30).high)
    monkeypatch.undo()
    assert doubt(count_results([]), 3).mu.tolist() == [MU] * 3
    two = count_results([(0, 1, 1)] * 5)
    linked = settle_ratings(two, 2, terms=DOUBTED, parents=[-1, 0])
    assert np.array_equal(linked.low, settle_ratings(two, 2, parents=[-1, 0]).low)


def test_the_order_of_results_changes_no_bit() -> None:
    results = simulated(12, 90, seed=4).results
    expected = doubt(count_results(results), 12)
    shuffled = doubt(count_results(np.random.default_rng(1).permutation(results)), 12)
    assert np.array_equal(shuffled.low, expected.low)
    assert np.array_equal(shuffled.high, expected.high)
    assert np.array_equal(shuffled.superiorities(), expected.superiorities())


@pytest.mark.no_cover
def test_where_most_games_are_drawn_the_margin_is_in_doubt_too() -> None:
    """It is a scale there: intervals without its doubt held 92 %."""
    terms = FittedTerms(draws=True, is_shown=True)
    held, held_by_margin, ratios = list[float](), list[float](), list[float]()
    for seed in range(24):
        rng = np.random.default_rng(seed)
        skill = rng.normal(MU, SIGMA, 10)
        results = play_rounds(skill, 40, rng, margin=2.0 * np.sqrt(2) * BETA)
        counts = count_results(results)
        settled = settle_ratings(counts, 10, draw_probability=0.5, terms=terms)
        held.append(covered(settled, skill))
        with_margin = settle_ratings(
            counts, 10, draw_probability=settled.draw_probability, terms=DOUBTED
        )
        held_by_margin.append(covered(with_margin, skill))
        ratios.append(float((width(settled) / width(with_margin)).mean()))
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(held) > np.mean(held_by_margin) + 0.01
    assert np.mean(ratios) > 1.04


def test_a_margin_on_which_no_rating_depends_is_left_as_it_is() -> None:
    field = simulated(10, 400, seed=5)
    posterior, objective = _fit(field.results, draw_probability=0.1)
    evidence = Evidence(objective, posterior, given_margin=0.2)
    fitted = evidence.find(objective, posterior.spread)
    assert list_margins(evidence, fitted) == [objective.likelihood.margin]
    drawn = play_rounds(field.skill, 40, np.random.default_rng(1), margin=7.5)
    posterior, objective = _fit(drawn, draw_probability=0.8)
    evidence = Evidence(objective, posterior, given_margin=1.28)
    low, middle, high = list_margins(evidence, evidence.find(objective, posterior.spread))
    assert low < middle < high
    assert middle == pytest.approx(objective.likelihood.margin, rel=0.3)
    # Those beside it are less likely, and not by much.
    weighed = [
        evidence.find(objective.with_margin(margin), posterior.spread).evidence
        for margin in (low, middle, high)
    ]
    assert 0.5 < weighed[1] - weighed[0] < 2.5
    assert 0.5 < weighed[1] - weighed[2] < 2.5


def _fit(results: Ints, *, draw_probability: float) -> tuple[Posterior, Objective]:
    margin = unit_draw_margin(draw_probability)
    likelihood = PairLikelihood(count_results(results), 10, margin=margin, weight=1.0)
    objective = Objective(likelihood)
    return find_mode(objective, 1.4, np.zeros(10)), objective
