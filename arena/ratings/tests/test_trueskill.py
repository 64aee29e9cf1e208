"""The closed form: equal to the package, never failing, and refusing what cannot be rated."""

from collections.abc import Iterator
from random import Random

import mpmath
import pytest
import trueskill
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.base import (
    BETA,
    DEFAULT,
    MU,
    SIGMA,
    Constants,
    DrawWithoutDrawProbabilityError,
    RatingError,
    ScoreError,
    SelfPlayError,
    UnknownAgentError,
)
from arena.ratings.tests.simulated import simulated
from arena.ratings.tests.test_truncated_normal import exact_draw, exact_win
from arena.ratings.trueskill import fold_results, update_pair

mus = st.floats(-100, 150)
sigmas = st.floats(0.01, 25)
scores = st.sampled_from([-1, 0, 1])


def by_the_package(
    model: trueskill.TrueSkill, state: tuple[float, float, float, float], score: int
) -> tuple[float, float, float, float]:
    first, second = model.create_rating(*state[:2]), model.create_rating(*state[2:])
    if score < 0:
        second, first = trueskill.rate_1vs1(second, first, env=model)
    else:
        first, second = trueskill.rate_1vs1(first, second, drawn=score == 0, env=model)
    return first.mu, first.sigma, second.mu, second.sigma


@pytest.mark.no_cover
# The package takes milliseconds for each.
@pytest.mark.parametrize("n_updates", [700, pytest.param(3_334, marks=pytest.mark.long)])
@pytest.mark.parametrize("spread", [8, 15, 40])
def test_it_agrees_with_the_package_to_1e_9(spread: float, n_updates: int) -> None:
    model = trueskill.TrueSkill(tau=0.0, backend="mpmath")
    rng = Random(spread)
    field = [(rng.gauss(MU, spread), rng.uniform(0.5, SIGMA)) for _ in range(50)]
    for _ in range(n_updates):
        first, second = rng.sample(range(50), 2)
        score = rng.choice([1, 1, 1, 0, -1, -1, -1])
        state = (*field[first], *field[second])
        ours = update_pair(*state, score)
        theirs = by_the_package(model, state, score)
        assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) < 1e-9
        field[first], field[second] = (ours[0], max(ours[1], 0.5)), (ours[2], max(ours[3], 0.5))


@pytest.mark.parametrize("sigma", [SIGMA, 1.0, 0.05])
@pytest.mark.parametrize("gap", [1e3, 1e4, 1e5])
def test_no_gap_is_too_wide(gap: float, sigma: float) -> None:
    with mpmath.workdps(60):
        c = mpmath.sqrt(2 * sigma**2 + 2 * BETA**2)
        upset, draw = (
            exact_win((-gap - DEFAULT.draw_margin) / c),
            exact_draw(-gap / c, DEFAULT.draw_margin / c),
        )
        for score, (v, w) in ((1, upset), (0, draw)):
            mu, new_sigma, other, other_sigma = update_pair(0.0, sigma, gap, sigma, score)
            assert abs(mu - sigma**2 / c * v) < 1e-9 * gap
            assert abs(other - (gap - sigma**2 / c * v)) < 1e-9 * gap
            assert abs(new_sigma - sigma * mpmath.sqrt(1 - w * sigma**2 / c**2)) < 1e-9
            assert other_sigma == new_sigma
    assert update_pair(gap, sigma, 0.0, sigma, 1) == (gap, sigma, 0.0, sigma)


def test_a_draw_between_equals_leaves_exactly_their_mu() -> None:
    mu_1, sigma_1, mu_2, sigma_2 = update_pair(MU, SIGMA, MU, SIGMA, 0)
    assert (mu_1, mu_2) == (25.0, 25.0)
    assert sigma_1 == sigma_2 < SIGMA


@given(mus, sigmas, mus, sigmas, scores)
def test_the_winner_rises_the_loser_falls_and_doubt_never_grows(
    mu_1: float, sigma_1: float, mu_2: float, sigma_2: float, score: int
) -> None:
    after = update_pair(mu_1, sigma_1, mu_2, sigma_2, score)
    assert score * (after[0] - mu_1) >= 0
    assert score * (mu_2 - after[2]) >= 0
    assert 0 < after[1] <= sigma_1
    assert 0 < after[3] <= sigma_2


@given(mus, sigmas, mus, sigmas)
def test_a_better_score_never_gives_a_lower_rating(
    mu_1: float, sigma_1: float, mu_2: float, sigma_2: float
) -> None:
    lost, drew, won = (update_pair(mu_1, sigma_1, mu_2, sigma_2, score)[0] for score in (-1, 0, 1))
    assert lost <= drew + 1e-9
    assert drew <= won + 1e-9


@given(mus, sigmas, mus, sigmas, scores)
def test_the_seats_are_alike(
    mu_1: float, sigma_1: float, mu_2: float, sigma_2: float, score: int
) -> None:
    first = update_pair(mu_1, sigma_1, mu_2, sigma_2, score)
    second = update_pair(mu_2, sigma_2, mu_1, sigma_1, -score)
    assert first == pytest.approx((*second[2:], *second[:2]), rel=1e-12, abs=1e-12)


@given(mus, sigmas, mus, sigmas, scores, st.floats(-100, 100))
def test_only_differences_matter(
    mu_1: float, sigma_1: float, mu_2: float, sigma_2: float, score: int, shift: float
) -> None:
    here = update_pair(mu_1, sigma_1, mu_2, sigma_2, score)
    there = update_pair(mu_1 + shift, sigma_1, mu_2 + shift, sigma_2, score)
    assert there[0] - shift == pytest.approx(here[0], abs=1e-8)
    assert there[2] - shift == pytest.approx(here[2], abs=1e-8)
    assert there[1::2] == pytest.approx(here[1::2], abs=1e-8)


def folded(results: list[tuple[int, int, int]], n_agents: int = 20) -> tuple[list[float], ...]:
    mus, sigmas = [MU] * n_agents, [SIGMA] * n_agents
    fold_results(mus, sigmas, results)
    return mus, sigmas


def test_folding_in_parts_gives_the_same_bits() -> None:
    results = simulated(20, 2000).triples()
    mus, sigmas = [MU] * 20, [SIGMA] * 20
    for begin in range(0, 2000, 37):
        fold_results(mus, sigmas, results[begin : begin + 37])
    assert (mus, sigmas) == folded(results)


def arrivals(results: list[tuple[int, int, int]], rng: Random) -> Iterator[tuple[int, int]]:
    """Yield (sequence, copy) in a shuffled order; about a fifth arrive twice."""
    reports = [(sequence, 0) for sequence in range(len(results))]
    reports += [(sequence, 1) for sequence in rng.sample(range(len(results)), len(results) // 5)]
    rng.shuffle(reports)
    yield from reports


def test_the_order_of_arrival_does_not_change_a_bit() -> None:
    results = simulated(20, 5000).triples()
    void = set(Random(9).sample(range(5000), 250))
    expected = folded([result for i, result in enumerate(results) if i not in void])
    for seed in range(20):
        mus, sigmas = [MU] * 20, [SIGMA] * 20
        closed: dict[int, bool] = {}
        prefix = 0
        for sequence, _ in arrivals(results, Random(seed)):
            closed.setdefault(sequence, sequence not in void)
            while prefix in closed:
                if closed[prefix]:
                    fold_results(mus, sigmas, [results[prefix]])
                prefix += 1
        assert (mus, sigmas) == expected


@pytest.mark.parametrize(
    ("results", "error", "words"),
    [
        ([(2, 2, 1)], SelfPlayError, "agent 2 is named twice"),
        ([(0, 1, 2)], ScoreError, "got 2"),
        ([(0, 1, 0.5)], ScoreError, "got 0.5"),
        ([(0, 3, 1)], UnknownAgentError, r"agent 3 .* 0\.\.2"),
        ([(-1, 0, 1)], UnknownAgentError, "agent -1"),
        ([(0, 1, float("nan"))], ScoreError, "got nan"),
    ],
)
def test_it_refuses(
    results: list[tuple[int, int, int]], error: type[RatingError], words: str
) -> None:
    mus, sigmas = [MU] * 3, [SIGMA] * 3
    with pytest.raises(error, match=words):
        fold_results(mus, sigmas, [(0, 1, 1), *results, (0, 2, 1)])
    mu_1, sigma_1, mu_2, sigma_2 = update_pair(MU, SIGMA, MU, SIGMA, 1)
    assert (mus, sigmas) == ([mu_1, mu_2, MU], [sigma_1, sigma_2, SIGMA])


def test_a_draw_is_refused_where_there_are_none() -> None:
    with pytest.raises(DrawWithoutDrawProbabilityError, match="draw_probability 0"):
        update_pair(MU, SIGMA, MU, SIGMA, 0, Constants(draw_probability=0))
    assert update_pair(MU, SIGMA, MU, SIGMA, 1, Constants(draw_probability=0))[0] > MU
