"""The settled rating: a function of the set of results, finite, honest and exact."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr

from arena.ratings import information_matrix
from arena.ratings.base import (
    BETA,
    MU,
    SIGMA,
    DrawWithoutDrawProbabilityError,
    RatingError,
    UnknownAgentError,
    unit_draw_margin,
)
from arena.ratings.counts import Ints
from arena.ratings.settled import PairCounts, SettledRatings, count_results, settle_ratings
from arena.ratings.tests.simulated import simulated

UNIT = np.sqrt(2) * BETA
Floats = NDArray[np.float64]


def minus_log_posterior(x: Floats, results: Ints, spread: float) -> float:
    """Return it by the formula of the model alone, to compare with."""
    first, second, score = results.T
    d, e = (x[first] - x[second]) / UNIT, unit_draw_margin(0.1)
    chance = np.where(score, ndtr(score * d - e), ndtr(e - d) - ndtr(-e - d))
    return float(((x - MU) ** 2).sum() / (2 * spread**2) - np.log(chance).sum())


def bits(settled: SettledRatings) -> tuple[bytes, bytes, bytes, float, str]:
    arrays = (settled.mu.tobytes(), settled.sd.tobytes(), joint(settled).tobytes())
    return (*arrays, settled.spread, settled.results_hash)


def joint(settled: SettledRatings) -> Floats:
    assert settled.covariance is not None
    return settled.covariance


def test_it_is_the_mode_of_the_posterior_and_its_curvature() -> None:
    field = simulated(6, 60, seed=3)
    settled = settle_ratings(count_results(field.results), 6)
    optimum = minimize(
        minus_log_posterior,
        np.full(6, MU),
        args=(field.results, settled.spread),
        method="BFGS",
        options={"gtol": 1e-8},
    )
    assert settled.mu == pytest.approx(optimum.x, abs=1e-4)
    assert settled.covariance == pytest.approx(
        np.linalg.inv(curvature(settled, field.results)), rel=1e-3
    )


def test_ends_of_a_gap_are_those_of_its_normal_distribution() -> None:
    settled = settle_ratings(count_results(simulated(6, 60, seed=3).results), 6)
    (low,), (high,) = settled.gap_ends(np.array([0]), np.array([1]))
    covariance = joint(settled)
    sd = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    gap = settled.mu[0] - settled.mu[1]
    assert (low, high) == pytest.approx((gap - 1.96 * sd, gap + 1.96 * sd), abs=1e-3)


def curvature(settled: SettledRatings, results: Ints) -> Floats:
    n, h = len(settled.mu), 1e-3
    steps = np.eye(n) * h

    def at(shift: Floats) -> float:
        return minus_log_posterior(settled.mu + shift, results, settled.spread)

    return np.array(
        [
            [(at(a + b) - at(a - b) - at(b - a) + at(-a - b)) / (4 * h * h) for b in steps]
            for a in steps
        ]
    )


def test_twenty_shuffles_of_five_thousand_results_give_the_same_bits() -> None:
    field = simulated(40, 5000)
    expected_bits = bits(settle_ratings(count_results(field.results), 40))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shuffled = rng.permutation(field.results)
        # Results that arrive twice are dropped before counting; here the groups differ each time.
        parts = [count_results(part) for part in np.array_split(shuffled, rng.integers(1, 30))]
        names = ("first", "second", "n_first_wins", "n_draws", "n_second_wins")
        whole = PairCounts(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))
        assert bits(settle_ratings(whole, 40)) == expected_bits


def test_the_seats_are_alike() -> None:
    field = simulated(12, 500)
    turned = field.results[:, [1, 0, 2]] * [1, 1, -1]
    here, there = (
        settle_ratings(count_results(field.results), 12),
        settle_ratings(count_results(turned), 12),
    )
    assert bits(here)[:4] == bits(there)[:4]
    assert here.results_hash != there.results_hash


PROGRAM = """
from hashlib import sha256
import numpy as np
from arena.ratings.settled import count_results, settle_ratings
from arena.ratings.tests.simulated import simulated
results = simulated(60, 5000).results
for seed in range(3):
    settled = settle_ratings(count_results(np.random.default_rng(seed).permutation(results)), 60)
    print(sha256(settled.mu.tobytes() + settled.covariance.tobytes()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", ["1", None])
def test_a_process_gives_the_same_bits_each_time(n_threads: str | None) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    if n_threads:
        environment["OPENBLAS_NUM_THREADS"] = n_threads
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert len(ran.stdout.split()) == 3
    assert len(set(ran.stdout.split())) == 1


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    field = simulated(30, 3000)
    before = settle_ratings(count_results(field.results[:2000]), 30)
    counts = count_results(field.results)
    cold = settle_ratings(counts, 30)
    for start in (before.mu, before.mu[:10].tolist(), np.linspace(-500, 500, 30)):
        warm = settle_ratings(counts, 30, start=start)
        assert warm.mu == pytest.approx(cold.mu, abs=1e-9)
        assert warm.covariance == pytest.approx(cold.covariance, abs=1e-9)
        assert warm.spread == pytest.approx(cold.spread, abs=1e-9)


@pytest.mark.parametrize("n_agents", [0, 1, 2, 5])
def test_nobody_has_played(n_agents: int) -> None:
    settled = settle_ratings(count_results([]), n_agents)
    assert settled.mu.tolist() == [MU] * n_agents
    assert settled.sd.tolist() == [SIGMA] * n_agents
    assert (joint(settled) == np.diag([SIGMA**2] * n_agents)).all()
    assert (settled.spread, settled.n_results) == (SIGMA, 0)


def test_an_agent_without_a_match_has_the_spread_as_doubt() -> None:
    settled = settle_ratings(count_results([(1, 3, 1), (3, 1, 1), (1, 3, 1)]), 5)
    assert settled.mu[[0, 2, 4]].tolist() == [MU] * 3
    assert settled.sd[[0, 2, 4]].tolist() == [settled.spread] * 3
    assert settled.mu[1] > MU > settled.mu[3]
    assert settled.sd[1] < settled.spread
    assert settled.superiority(0, 2) == 0.5


def test_it_does_not_change_with_agents_that_do_not_play() -> None:
    field = simulated(8, 200)
    small, large = (
        settle_ratings(count_results(field.results), 8),
        settle_ratings(count_results(field.results), 20),
    )
    assert (large.mu[:8] == small.mu).all()
    assert (large.sd[:8] == small.sd).all()
    assert large.spread == small.spread


def test_two_groups_that_never_met_are_rated_apart() -> None:
    settled = settle_ratings(count_results([(0, 1, 1)] * 30 + [(2, 3, 1)] * 30), 4)
    assert settled.mu[[0, 1]] == pytest.approx(settled.mu[[2, 3]])
    assert settled.superiority(0, 2) == pytest.approx(0.5)
    assert settled.superiority(0, 1) > 0.99
    assert joint(settled)[0, 2] == 0


@pytest.mark.parametrize("n_wins", [1, 100, 10**6, 10**9])
def test_an_undefeated_agent_has_a_finite_rating(n_wins: int) -> None:
    counts = PairCounts.from_rows([(0, 1, n_wins, 0, 0), (1, 2, 3, 1, 2)])
    settled = settle_ratings(counts, 3)
    assert np.isfinite(settled.mu).all()
    assert settled.mu[0] > settled.mu[1]
    assert (settled.sd > 0).all()
    assert 0.5 <= settled.spread <= 40


def test_a_billion_results_settle_too() -> None:
    few = count_results(simulated(20, 1000).results)
    names = ("n_first_wins", "n_draws", "n_second_wins")
    many = PairCounts(few.first, few.second, *(getattr(few, name) * 10**6 for name in names))
    settled = settle_ratings(many, 20)
    assert settled.n_results == 10**9
    assert (settled.sd < 0.02).all()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([-1, 0, 1])), max_size=25
    ),
    st.permutations(range(5)),
)
def test_the_names_of_the_agents_do_not_matter(
    drawn: list[tuple[int, int, int]], names: list[int]
) -> None:
    results = [result for result in drawn if result[0] != result[1]]
    here = settle_ratings(count_results(results), 5)
    there = settle_ratings(
        count_results([(names[i], names[j], score) for i, j, score in results]), 5
    )
    assert there.mu[names] == pytest.approx(here.mu, abs=1e-8)
    assert there.sd[names] == pytest.approx(here.sd, abs=1e-8)


def test_superiority_is_the_same_by_pair_and_by_matrix() -> None:
    settled = settle_ratings(count_results(simulated(10, 300).results), 12)
    above = settled.superiorities()
    assert above + above.T == pytest.approx(np.ones((12, 12)))
    for i in range(12):
        for j in range(12):
            assert above[i, j] == pytest.approx(settled.superiority(i, j), abs=1e-12)


def test_pairs_of_three_seats_count_one_half_each() -> None:
    results = simulated(10, 300).results
    half = settle_ratings(count_results(np.concatenate([results, results])), 10, weight=0.5)
    whole = settle_ratings(count_results(results), 10)
    assert half.mu == pytest.approx(whole.mu)
    assert half.sd == pytest.approx(whole.sd)


def test_the_spread_of_a_close_field_is_found() -> None:
    spreads = [
        settle_ratings(
            count_results(simulated(50, 1600, spread=25 / 12, seed=seed).results), 50
        ).spread
        for seed in range(40)
    ]
    assert 2.0 < np.mean(spreads) < 2.2


def test_a_large_field_is_settled_without_its_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_results(simulated(300, 6000).results)
    exact = settle_ratings(counts, 310)
    monkeypatch.setattr(information_matrix, "DENSE_LIMIT", 299)
    large = settle_ratings(counts, 310)
    assert large.covariance is None
    assert large.spread == pytest.approx(exact.spread, rel=0.01)
    assert large.mu == pytest.approx(exact.mu, abs=0.02)
    assert large.sd == pytest.approx(exact.sd, rel=0.1)
    assert large.superiorities() == pytest.approx(exact.superiorities(), abs=0.05)
    assert large.superiority(3, 7) == pytest.approx(large.superiorities()[3, 7])
    again = settle_ratings(counts, 310)
    assert (again.mu.tobytes(), again.sd.tobytes()) == (large.mu.tobytes(), large.sd.tobytes())


@pytest.mark.parametrize("spread", [25 / 12, 25 / 3])
def test_what_it_claims_is_true(spread: float) -> None:
    claimed, right, squares = [], [], []
    above = np.triu_indices(20, 1)
    for seed in range(60):
        field = simulated(20, 1000, spread=spread, seed=seed)
        settled = settle_ratings(count_results(field.results), 20)
        sure = settled.superiorities()[above]
        is_right = (sure > 0.5) == (field.skill[above[0]] > field.skill[above[1]])
        claimed.append(np.maximum(sure, 1 - sure).mean())
        right.append(is_right.mean())
        off = (settled.mu - settled.mu.mean()) - (field.skill - field.skill.mean())
        squares.append(np.mean(off**2 / settled.sd**2))
    assert np.mean(claimed) == pytest.approx(np.mean(right), abs=0.01)
    assert np.sqrt(np.mean(squares)) == pytest.approx(1, abs=0.1)


def test_a_draw_is_refused_where_there_are_none() -> None:
    settle_ratings(count_results([(0, 1, 1)]), 2, draw_probability=0)
    with pytest.raises(DrawWithoutDrawProbabilityError):
        settle_ratings(count_results([(0, 1, 1), (0, 1, 0)]), 2, draw_probability=0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_agents": -1}, "n_agents must be 0 or more, got -1"),
        ({"weight": 0}, "weight must be .* got 0"),
        ({"weight": float("nan")}, "weight must be .* got nan"),
        ({"weight": np.ones((2, 2))}, "weight must be one number, or of 3 x 3 agents"),
        ({"draw_probability": 1.0}, "draw_probability must be .* got 1.0"),
        ({"start": [25.0] * 4}, "start must be at most 3"),
        ({"start": [float("nan")]}, "start must be at most 3 finite floats"),
        ({"start": [[25.0]]}, "start must be at most 3"),
    ],
)
def test_it_refuses(change: dict[str, object], words: str) -> None:
    arguments: dict[str, object] = {"n_agents": 3, **change}
    with pytest.raises(RatingError, match=words):
        settle_ratings(count_results([(0, 1, 1)]), **arguments)  # type: ignore[arg-type]


def test_an_agent_outside_of_the_field_is_refused() -> None:
    with pytest.raises(UnknownAgentError, match=r"agent 2 .* 0\.\.1"):
        settle_ratings(count_results([(0, 2, 1)]), 2)
